"""Two slots whose containers have to do with each other: they swap, move, are one and the same, or take turns."""

import events
from changes import Kind
from places import Part, marked


def _slots_of(dice, part, number, fresh):
    """Two slots with a fresh container each, at one owner or at two."""
    where = dice.pick(["globals", "one_owner", "two_owners", "slots_owner", "keys", "indices"])
    name = "PAIR_%d" % number
    if where == "globals":
        refs = [name + "_OLD", name + "_NEW"]
    elif where == "two_owners":
        refs = ["LEFT_%d.rows" % number, "RIGHT_%d.rows" % number]
        part.definitions.append("class Pair_%d:\n    pass" % number)
        part.setup += ["%s_%d = Pair_%d()" % (side, number, number) for side in ["LEFT", "RIGHT"]]
    elif where in ("one_owner", "slots_owner"):
        refs = [name + ".old", name + ".new"]
        inside = '__slots__ = ("old", "new")' if where == "slots_owner" else "pass"
        part.definitions.append("class Pair_%d:\n    %s" % (number, inside))
        part.setup.append("%s = Pair_%d()" % (name, number))
    elif where == "keys":
        refs = [name + '["old"]', name + '["new"]']
        part.setup.append(name + ' = {"step": 0}')
    else:
        refs = [name + "[0]", name + "[1]"]
        part.setup.append(name + " = [None, None]")
    part.setup += ["%s = %s" % (ref, fresh) for ref in refs]
    part.uses.append("pair_of_" + where)
    # Assigned in a function: without this, globals would be its locals.
    return refs, ["global " + ", ".join(refs)] if where == "globals" else []


def _for_one(lines, mine, other):
    """What an interpreter shows for a moment is true for one of the two, unless they hold the same container."""
    result = []
    for line in lines:
        if line[0] == "~":
            mark = "mark(%r, " + line[1:] + ")"
            result += ["=" + mark % mine, "=if %s is %s: %s" % (mine, other, mark % other)]
        else:
            result.append(line)
    return result


def _pair(dice, number, name, act):
    part, kind = Part(), Kind(dice)
    part.uses += [name, kind.name]
    refs, scope = _slots_of(dice, part, number, kind.fresh())
    names, lines = kind.changes(dice, refs[1])
    part.uses += names
    more, grown = kind.grow(dice, refs[0])
    part.uses.append(more)
    # The first one grows as well, at a pace of its own, and starts again when it is long.
    lines = _for_one(lines, refs[1], refs[0])
    lines += _for_one(["if n % 3 == 0: " + line if line[0] != "~" else line for line in grown], *refs)
    lines.append("if len(%s) > 200: %s = %s" % (refs[0], refs[0], kind.fresh()))
    lines += act(dice, kind, refs)
    part.function("def change_%d(n):" % number, scope + marked(lines, *[(repr(ref), ref) for ref in refs]))
    part.definitions.append(kind.definition)
    part.step.append("change_%d(n)" % number)
    part.slots = {ref: ref for ref in refs}
    return part


def swap(dice, number):
    def act(dice, kind, refs):
        return [events.at(dice, 2, 9) + "%s, %s = %s, %s" % (*refs, *reversed(refs))]

    return _pair(dice, number, "swap", act)


def rotate(dice, number):
    """What is new becomes old, and an empty one or a small one begins."""

    def act(dice, kind, refs):
        new = kind.empty() if dice.chance(0.6) else kind.fresh()
        return [events.at(dice, 3, 12) + "%s, %s = %s, %s" % (*refs, refs[1], new)]

    return _pair(dice, number, "rotate", act)


def move(dice, number):
    """A container goes from one place to the other, and the place that it left gets another one."""

    def act(dice, kind, refs):
        return [events.at(dice, 3, 12) + "%s = %s; %s = %s" % (refs[1], refs[0], refs[0], kind.fresh())]

    return _pair(dice, number, "move", act)


def alias(dice, number):
    """Two names for one, which part at times and meet again."""

    def act(dice, kind, refs):
        meet = events.at(dice, 2, 7) + "%s = %s" % (refs[0], refs[1])
        return [meet, events.at(dice, 5, 12) + "%s = %s" % (refs[0], kind.copy(refs[0]))]

    part = _pair(dice, number, "alias", act)
    first, second = part.slots
    part.setup.append("%s = %s" % (first, second))
    return part


def buckets(dice, number):
    """A list of buckets: the newest one is filled, the oldest one is dropped, each is at another index then."""
    part, kind = Part(), Kind(dice)
    part.uses += ["buckets", kind.name]
    count, name = dice.number(2, 5), "BUCKETS_%d" % number
    part.setup.append("%s = [%s for _ in range(%d)]" % (name, kind.fresh(), count))
    refs = ["%s[%d]" % (name, index) for index in sorted({0, count - 1})]
    # The last one goes for a moment: its index is out of range then, and the others have moved.
    turn = ["%s.append(%s)" % (name, kind.fresh()), "del %s[0]" % name]
    if dice.chance(0.5):
        turn.reverse()
    names, lines = kind.changes(dice, refs[-1])
    part.uses += names
    lines = _for_one(lines, refs[-1], refs[0])
    lines += ["if n %% %d == 1:" % dice.number(3, 9)] + ["    " + line for line in turn]
    look = ["at_index(%s, %d)" % (name, index) for index in sorted({0, count - 1})]
    part.function("def change_%d(n):" % number, marked(lines, *zip(map(repr, refs), look)))
    part.definitions += [kind.definition]
    part.step.append("change_%d(n)" % number)
    part.slots = dict(zip(refs, look))
    return part


PAIRS = [swap, rotate, move, alias, buckets]
