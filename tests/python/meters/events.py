"""What happens around a container: to its owner, to its slot, and beside it. Each is one function of the grammar."""


def at(dice, low=5, high=14):
    """A condition that holds once in a while."""
    period = dice.number(low, high)
    return "if n %% %d == %d: " % (period, dice.number(1, period - 1))


# -- to the slot -----------------------------------------------------------------------------------


def away(dice, kind, ref, see, label, how):
    """The slot is without a container from one step to another: lines for that, and the condition that it has one."""
    period = dice.number(9, 16)
    start = dice.number(2, 5)
    end = start + dice.number(1, 3)
    lines = [
        "if n %% %d == %d:" % (period, start),
        "    del %s" % ref if how == "deleted" else "    %s = None" % ref,
        "    mark(%s, None)" % label,
        "if n %% %d == %d:" % (period, end),
        "    %s = %s" % (ref, kind.fresh()),
        "    mark(%s, %s)" % (label, see),
    ]
    return lines, "if not %d <= n %% %d < %d:" % (start, period, end)


def left_and_lives(dice, kind, ref, number):
    """The container leaves its slot and goes on growing elsewhere."""
    archive = "ARCHIVE_%d" % number
    fresh = kind.fresh() if dice.chance(0.5) else kind.empty()
    lines = [at(dice) + "%s.append(%s); del %s[:-3]; %s = %s" % (archive, ref, archive, ref, fresh)]
    if kind.family != "tuple":
        _, grown = kind.grow(dice, archive + "[-1]")
        lines += ["if %s and len(%s[-1]) < 300: %s" % (archive, archive, line) for line in grown if line[0] != "~"]
    return lines, "%s = []" % archive


def address_taken(dice, kind, ref, number):
    """A copy takes the slot, the one before is freed, and a stranger of the same kind gets its address."""
    taken = "TAKEN_%d" % number
    copy = kind.copy(ref)
    lines = [at(dice, 3, 8) + "%s = %s; %s.append(%s); del %s[:-4]" % (ref, copy, taken, copy, taken)]
    return lines, "%s = []" % taken


# -- to an owner -----------------------------------------------------------------------------------
# `owner` has `ref` (where it is), `make` (what makes a new one), `rest` (the way from it to the container) and `own`
# (the part of the way that is its own), `shape` (attribute, key or index), `dict` (its attributes are in one).


def owner_rebuilt(dice, owner, ref):
    return [at(dice) + "%s = %s" % (owner.ref, owner.make)]


def owner_same_address(dice, owner, ref):
    """Freed first, so that the new one is likely to be where the old one was."""
    return [at(dice) + "%s = None; mark($L, None); %s = %s" % (owner.ref, owner.ref, owner.make)]


def owner_carries(dice, owner, ref):
    """A new owner takes over the container."""
    return [at(dice) + "new = %s; new%s = %s; %s = new; del new" % (owner.make, owner.rest, ref, owner.ref)]


def dict_materialised(dice, owner, ref):
    look = dice.pick(["vars(%s)", "%s.__dict__", "%s.__dict__.get('nothing')"]) % owner.ref
    return ["if n == %d: %s" % (dice.number(1, 30), look)]


def dict_kept(dice, owner, ref):
    """Somebody holds the attributes for good, also when the owner is long gone."""
    return ["if n == %d: HELD.append(vars(%s))" % (dice.number(1, 30), owner.ref)]


def dict_replaced(dice, owner, ref):
    return [at(dice) + "%s.__dict__ = dict(vars(%s))" % (owner.ref, owner.ref)]


def computed_attribute(dice, owner, ref):
    return ["setattr(%s, 'extra%%d' %% (n %% %d), n)" % (owner.ref, dice.number(3, 60))]


def many_attributes(dice, owner, ref):
    line = "for j in range(%d): setattr(%s, 'more%%d_%%d' %% (n %% 3, j), [])" % (dice.number(20, 50), owner.ref)
    return ["if n %% %d == 1:" % dice.number(8, 40), "    " + line]


def attribute_moves_back(dice, owner, ref):
    """Deleted and set at once: it goes to the end of the attributes, and from 3.11 on that may move them all."""
    place = owner.ref + owner.own
    return [at(dice) + "kept = %s; del %s; mark($L, None); %s = kept; del kept" % (place, place, place)]


def key_anew(dice, owner, ref):
    """The key is deleted and inserted anew, as an equal one that is another object."""
    key = owner.own[1:-1]
    equal = "int('%s')" % key if key.isdigit() else "''.join(list(%s))" % key
    value = "%s.pop(%s)" % (owner.ref, key)
    return [at(dice, 3, 9) + "kept = %s; mark($L, None); %s[%s] = kept; del kept" % (value, owner.ref, equal)]


def key_crowd(dice, owner, ref):
    """Other keys come and go: the table is moved, and entries before ours become holes."""
    span = dice.number(3, 40)
    new = "%s['new%%d' %% n] = [n] * %d" % (owner.ref, dice.number(1, 60))
    old = "%s.pop('new%%d' %% (n - %d), None)" % (owner.ref, span)
    # Those whose turn to go came while the slot was away.
    rest = "for k in [k for k in %s if str(k)[:3] == 'new']: del %s[k]" % (owner.ref, owner.ref)
    return [new, old, "if len(%s) > 90:" % owner.ref, "    " + rest]


def owner_copied(dice, owner, ref):
    return [at(dice) + "%s = %s.copy()" % (owner.ref, owner.ref)]


def index_turned(dice, owner, ref):
    """All move on by one: another container is at the index."""
    return [at(dice, 3, 9) + "last = %s.pop(); mark($L, $S); %s.insert(0, last); del last" % (owner.ref, owner.ref)]


def index_crowd(dice, owner, ref):
    """The list around it grows and shrinks behind it, so that its items are moved."""
    return ["%s.append([n])" % owner.ref, "if len(%s) > %d: del %s[8:]" % (owner.ref, dice.number(12, 60), owner.ref)]


ANY = [owner_rebuilt, owner_same_address, owner_carries]
WITH_DICT = [
    dict_materialised,
    dict_kept,
    dict_replaced,
    computed_attribute,
    many_attributes,
    attribute_moves_back,
]
SHAPES = {
    "attribute": [attribute_moves_back],
    "key": [key_anew, key_crowd, owner_copied],
    "index": [index_turned, index_crowd, owner_copied],
}


def for_owner(dice, owner):
    """The events that may befall this owner, one of them chosen."""
    choices = (ANY if owner.make else []) + (WITH_DICT if owner.dict else SHAPES[owner.shape])
    if owner.dict == "fixed":
        choices = [one for one in choices if one is not dict_replaced]
    if not owner.make:
        choices = [one for one in choices if one not in (owner_copied, dict_replaced, dict_kept)]
    return dice.pick(choices) if choices else None


# -- beside it -------------------------------------------------------------------------------------


def crowd(dice, kind, number):
    """Many of the same kind and length, made anew now and then."""
    name = "CROWD_%d" % number
    made = "%s = [%s for _ in range(%d)]" % (name, kind.fresh(), dice.number(5, 20))
    return ["global %s" % name, at(dice) + made], "%s = []" % name


def churn(dice, kind, number):
    """One is freed and the next one gets its address, over and over; the last one stays."""
    name = "CHURN_%d" % number
    return [
        "global %s" % name,
        "for _ in range(%d):" % dice.number(2, 6),
        "    %s = None" % name,
        "    %s = %s" % (name, kind.fresh()),
    ], "%s = None" % name
