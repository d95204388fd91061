"""Places of the grammar that belong to functions: cells, locals, default arguments, caches."""

import events
from changes import Kind
from places import NAMES, Part, body, indented, marked


def _named(dice, name, rows):
    """The names of one or two, with their labels."""
    return {one: "%s:%s" % (one, rows) for one in [name, name + "B"][: dice.number(1, 2)]}


def _twins(dice, part, make, names, ask):
    """One or two of the same function, told apart by the label that each is given.

    The second one steps less often, by a count of its own: were a number left out, what went away might not come back.
    """
    part.uses += ["twins"] if len(names) > 1 else []
    for position, (name, label) in enumerate(names.items()):
        part.setup += make(name, label)
        pace = dice.number(2, 4)
        slower = "if n %% %d == 0: " % pace + ask % (name, "n // %d" % pace)
        part.step.append(slower if position else ask % (name, "n"))


def closure(dice, number):
    part, kind, rows = Part(), Kind(dice), dice.pick(NAMES)
    part.uses.append("closure")
    lines = body(dice, part, kind, rows, rows, "name", number, may_vanish=["none"])
    inner = ["def change(n):"] + indented(["nonlocal " + rows] + lines) + ["def peek():", "    return " + rows]
    inner = ["%s = %s" % (rows, kind.fresh())] + inner + ["return change, peek"]
    part.function("def closure_%d(name, n):" % number, inner)
    part.definitions.append(kind.definition)
    names = _named(dice, "CHANGE_%d" % number, rows)

    def make(name, label):
        return ["%s, PEEK_%s = closure_%d(%r, n)" % (name, name, number, label)]

    _twins(dice, part, make, names, "%s(%s)")
    part.slots = {label: "PEEK_%s()" % name for name, label in names.items()}
    return part


def waiting(dice, number, what):
    """A local of a function that waits for its next step: a generator, a coroutine, or one on a thread."""
    part, kind, rows = Part(), Kind(dice), dice.pick(NAMES)
    part.uses.append(what)
    lines = body(dice, part, kind, rows, rows, "name", number, may_vanish=["none"])
    wait = {"generator": "yield", "coroutine": "await turn()", "thread": "turn.wait()"}[what]
    loop = ["while True:", "    n = " + wait, "    if n is None:", "        BOX.append(%s)" % rows, "    else:"]
    loop = ["%s = %s" % (rows, kind.fresh())] + loop + indented(indented(lines))
    head = "async def" if what == "coroutine" else "def"
    given = "name, n, turn" if what == "thread" else "name, n"
    part.function("%s work_%d(%s):" % (head, number, given), loop)
    made = "work"
    if dice.chance(0.5):
        # The caller, which waits as well, has a container of the same name, kind and length.
        made = "train"
        part.uses.append("caller_waits")
        through = {"generator": "yield from ", "coroutine": "await ", "thread": ""}[what]
        given = given.replace("name", "title")
        calls = ["%s = %s" % (rows, kind.fresh()), "%swork_%d(%s)" % (through, number, given), "return " + rows]
        part.function("%s train_%d(%s):" % (head, number, given), calls)
    names = _named(dice, "WAIT_%d" % number, rows)

    def make(name, label):
        if what == "thread":
            call = "start(lambda: %s_%d(%r, -1, %s))" % (made, number, label, name)
            return ["%s = Turn()" % name, call, "%s.ready()" % name]
        return ["%s = %s_%d(%r, n)" % (name, made, number, label), "%s.send(None)" % name]

    part.definitions.append(kind.definition)
    _twins(dice, part, make, names, "%s.send(%s)")
    part.slots = {label: "asked(%s)" % name for name, label in names.items()}
    return part


def default_argument(dice, number):
    """Of a function that changes it as it is called; at times all of its defaults are put in anew."""
    part, kind, rows = Part(), Kind(dice), dice.pick(NAMES)
    while kind.family == "tuple":
        kind = Kind(dice)
    label = "record_%d.__defaults__[0]" % number
    names, lines = kind.changes(dice, rows, rebinds=False)
    part.uses += ["default_argument", kind.name] + names
    head = "def record_%d(n, %s=%s):" % (number, rows, kind.fresh())
    part.setup.append("\n".join([head] + indented(marked(lines, (repr(label), rows)))))
    part.step.append("record_%d(n)" % number)
    if dice.chance(0.5):
        part.uses.append("defaults_replaced")
        anew = "record_%d.__defaults__ = (%s,); mark(%r, %s)" % (number, kind.fresh(), label, label)
        part.step.append(events.at(dice) + anew)
    part.definitions.append(kind.definition)
    part.slots[label] = label
    return part


def keyword_default(dice, number):
    part, kind, rows = Part(), Kind(dice), dice.pick(NAMES)
    part.uses.append("keyword_default")
    label = 'record_%d.__kwdefaults__["%s"]' % (number, rows)
    part.setup.append("def record_%d(*, %s=%s):\n    return %s" % (number, rows, kind.fresh(), rows))
    lines = body(dice, part, kind, label, label, repr(label), number, may_vanish=["none"])
    part.function("def change_%d(n):" % number, lines)
    part.definitions.append(kind.definition)
    part.step.append("change_%d(n)" % number)
    part.slots[label] = label
    return part


def cached(dice, number):
    """The dict within an `lru_cache`: a full one drops the oldest before it takes the new one."""
    part, name = Part(), "fetch_%d" % number
    bounded = dice.chance(0.5)
    part.uses.append("lru_cache_bounded" if bounded else "lru_cache")
    label, look = name + ":cache", "cache_of(%s)" % name
    size = str(dice.number(20, 60)) if bounded else "None"
    part.definitions.append("@lru_cache(maxsize=%s)\ndef %s(n):\n    return item(n)" % (size, name))
    part.setup.append("for j in range(%d): %s(-1 - j)" % (dice.number(16, 40), name))
    fetches = ["%s(n)" % name, "%s(n // 2)" % name] + ["%s(n * 1000 + 1)" % name] * dice.chance(0.5)
    full = "~range(len(%s) - (len(%s) == %s))" % (look, look, size)
    clear = "if n %% %d == 4: %s.cache_clear()" % (dice.number(5, 40), name)
    lines = [line for fetch in fetches for line in [fetch, full]] + [clear]
    part.function("def change_%d(n):" % number, marked(lines, (repr(label), look)))
    part.step.append("change_%d(n)" % number)
    part.slots[label] = look
    return part
