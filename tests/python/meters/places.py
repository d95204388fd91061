"""Where a container may be: each place of the grammar gives a `Part`, the text of all that a program needs for it."""

from string import Template

import events
from changes import Kind

NAMES = ["rows", "losses", "history", "buffer", "samples", "seen", "log", "batch"]
KEYS = ['"train"', '"loss"', '"a rather long key, with spaces"', "7", "100003"]
# Owners whose attributes are not in a dict of theirs.
WITHOUT_DICT = ["slots", "slots_inherited"]
STYLES = [
    "plain",
    "inherited",
    "many",
    "slots",
    "slots_inherited",
    "slots_inherited",
    "slots_and_dict",
    "dataclass",
    "property",
    "namespace",
    "owner_is_dict",
    "function_attribute",
]


class Part:
    """The text of one part of a program, and the names of what it makes use of."""

    def __init__(self):
        self.definitions = []  # of the module
        self.setup = []
        self.step = []
        self.slots = {}  # label: expression for what is there now
        self.uses = []

    def function(self, head, lines):
        self.definitions.append("\n".join([head] + indented(lines)))


class Owner:
    def __init__(self, make, shape, own, change=None, has_dict=False):
        self.make, self.shape, self.own, self.dict = make, shape, own, has_dict
        self.change = change or own  # the way the program itself goes, as through a property
        # The way to look, which makes nothing: `[]` would make a missing key of a defaultdict.
        self.look = ".get(%s)" % own[1:-1] if shape == "key" else own
        self.ref = self.rest = ""


def indented(lines):
    return ["    " + line for text in lines for line in text.split("\n")]


def marked(lines, *marks):
    """Lines with a word to whoever listens after each; see changes.py for `~`. With `=` one is taken as it is."""
    text = []
    for line in lines:
        if line[0] == "=":
            text.append(line[1:])
        elif line[0] == "~":
            text += ["mark(%s, %s)" % (label, line[1:]) for label, _ in marks]
        else:
            text.append(Template(line).safe_substitute(L=marks[0][0], S=marks[0][1]))
            # Not between a condition and what belongs to it.
            if not line.endswith(":"):
                depth = line[: len(line) - len(line.lstrip())]
                text += [depth + "mark(%s, %s)" % mark for mark in marks]
    return text


def body(dice, part, kind, ref, see, label, number, befall=(), may_vanish=()):
    """A step of one container that may be put in its place anew: what befalls its owners, its slot and itself."""
    names, lines = kind.changes(dice, ref)
    for event in [events.left_and_lives, events.address_taken]:
        if dice.chance(0.2):
            more, definition = event(dice, kind, ref, number)
            lines += more
            part.definitions.append(definition)
            names.append(event.__name__)
    part.uses += names + [kind.name]
    text = marked(list(befall) + lines, (label, see))
    if may_vanish and dice.chance(0.2):
        how = dice.pick(may_vanish)
        part.uses.append(how + "_for_a_while")
        before, condition = events.away(dice, kind, ref, see, label, how)
        text = before + [condition] + indented(text)
    return text


# -- owners: attributes, keys and indices, several deep --------------------------------------------


def attribute_owner(dice, part, name, inner, beside):
    """A class of its own with the next one in an attribute, and perhaps others like it around."""
    style, attribute = dice.pick(STYLES), dice.pick(NAMES)
    part.uses.append(style)
    way = "." + attribute
    has_dict = style not in WITHOUT_DICT
    first = ["self.first = " + beside] if dice.chance(0.4) else ["self.first = 0.5"]
    last = ["self.last = " + beside] if dice.chance(0.4) else ["self.last = None"]
    if style == "namespace":
        return Owner("SimpleNamespace(step=n, %s=%s)" % (attribute, inner), "attribute", way, has_dict="fixed")
    if style == "function_attribute":
        lines = ["def record(value):", "    return value", "record%s = %s" % (way, inner), "return record"]
        part.function("def new_%s(n):" % name, lines)
        return Owner("new_%s(n)" % name, "attribute", way, has_dict=True)
    if style == "dataclass":
        fields = ["%s: object" % attribute, "first: list = field(default_factory=list)"]
        part.function("@dataclass\nclass %s:" % name, fields)
        return Owner("%s(%s)" % (name, inner), "attribute", way, has_dict=True)
    base, inside, stored = "", [], way
    if style == "many":
        first += ["self.setting%d = %d" % (j, j) for j in range(dice.number(20, 45))]
    if style == "slots":
        inside = ['__slots__ = ("first", "%s", "last")' % attribute]
    if style in ("slots_inherited", "slots_and_dict"):
        part.definitions.append('class Base%s:\n    __slots__ = ("first", "%s")' % (name, attribute))
        base, inside = "(Base%s)" % name, ['__slots__ = ("last",)'] if style == "slots_inherited" else []
    if style == "owner_is_dict":
        base = "(dict)"
    if style == "property":
        stored = "._" + attribute
        inside = ["@property\ndef %s(self):\n    return self%s" % (attribute, stored)]
        inside += ["@%s.setter\ndef %s(self, value):\n    self%s = value" % (attribute, attribute, stored)]
    init = ["def __init__(self, n):"] + indented(first + ["self%s = %s" % (stored, inner)] + last)
    if style == "inherited":
        part.definitions.append("class Base%s:\n    def __init__(self, n):\n        self.base = n" % name)
        base = "(Base%s)" % name
        init.insert(1, "    super().__init__(n)")
    part.function("class %s%s:" % (name, base), inside + init)
    return Owner("%s(n)" % name, "attribute", stored, change=way, has_dict=has_dict)


def key_owner(dice, part, name, inner, beside, lists):
    key = dice.pick(KEYS)
    others = ['"other%d": %s' % (j, beside if dice.chance(0.3) else j) for j in range(dice.number(0, 5))]
    others.insert(dice.number(0, len(others)), "%s: %s" % (key, inner))
    style = dice.pick(["%s", "%s", "OrderedDict(%s)"] + ["defaultdict(list, %s)"] * 2 * lists)
    part.uses.append({"d": "inner_of_defaultdict", "O": "key_of_ordereddict"}.get(style[0], "key"))
    part.function("def new_%s(n):" % name, ["return " + style % ("{%s}" % ", ".join(others))])
    return Owner("new_%s(n)" % name, "key", "[%s]" % key)


def index_owner(dice, part, name, inner):
    """All of a list are alike, as it may turn."""
    count = dice.number(1, 4)
    part.uses.append("index")
    part.function("def new_%s(n):" % name, ["return [%s]" % ", ".join([inner] * count)])
    return Owner("new_%s(n)" % name, "index", "[%d]" % dice.number(0, count - 1))


def class_owner(dice, part, name, inner):
    """A class holds it, and a subclass another one under the same name. The class itself is never made anew."""
    way = "." + dice.pick(NAMES)
    part.uses.append("class_attribute")
    part.definitions.append("class %s:\n    epoch = 0\n\n\nclass Sub%s(%s):\n    pass" % (name, name, name))
    part.setup += ["%s%s = %s" % (cls, way, inner) for cls in [name, "Sub" + name]]
    return Owner("", "attribute", way)


def chain(dice, number):
    """A global, or what is reached from one through up to three owners."""
    part = Part()
    depth = dice.pick([0, 1, 1, 2, 2, 3])
    shapes = [dice.pick(["attribute"] * 3 + ["key"] * 2 + ["index"]) for _ in range(depth)]
    if depth and dice.chance(0.15):
        shapes[0] = "class"
    # What a defaultdict(list) holds are lists, or its missing keys would be of another kind.
    lists = bool(shapes) and shapes[-1] == "key" and dice.chance(0.5)
    kind = Kind(dice, "list" if lists else None)
    inner, owners = kind.fresh(), []
    for level, shape in reversed(list(enumerate(shapes))):
        name = "%s_%d_%d" % (shape.title(), number, level)
        if shape == "attribute":
            owner = attribute_owner(dice, part, name, inner, kind.fresh())
        elif shape == "key":
            owner = key_owner(dice, part, name, inner, kind.fresh(), lists and level == depth - 1)
        elif shape == "index":
            owner = index_owner(dice, part, name, inner)
        else:
            owner = class_owner(dice, part, name, inner)
        owners.insert(0, owner)
        inner = owner.make
    part.uses.append("nested_%d" % depth if depth else "global")
    root = "Class_%d_0" % number if "class" in shapes else ("ROOT_%d" if depth else "ROWS_%d") % number
    label = change = look = root
    for owner in owners:
        owner.ref = label
        label, change, look = label + owner.own, change + owner.change, look + owner.look
    for owner in owners:
        owner.rest = label[len(owner.ref) :]
    part.setup += ["%s = %s" % (root, inner)] * (inner != "")
    part.function(
        "def slot_%d():" % number,
        [
            "try:",
            "    return " + look,
            "except (AttributeError, LookupError, NameError, TypeError):",
            "    return None",
        ],
    )
    look = "slot_%d()" % number
    befall = []
    for owner in dice.some(owners, 2):
        event = events.for_owner(dice, owner)
        if event and dice.chance(0.85):
            part.uses.append(event.__name__)
            befall += event(dice, owner, label)
    vanish = ["none", "deleted"] if not (shapes and shapes[-1] == "index") else ["none"]
    vanish = ["none"] if change != label else vanish
    lines = body(dice, part, kind, change, look, repr(label), number, befall, vanish)
    part.function("def change_%d(n):" % number, ["global " + root] * (inner != "") + lines)
    part.definitions.append(kind.definition)
    part.step.append("change_%d(n)" % number)
    part.slots[label] = look
    return part
