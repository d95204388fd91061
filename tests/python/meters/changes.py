"""Kinds of containers and what a step does to one: the lines of Python that change the container at `$R`.

`$R` is where the container is (a name, an attribute, a key), `$C` opens the call that makes one of its kind. Every line
is one visible change, as whoever reads from outside may look between any two. A line with `~` is no change but the
length that the interpreter itself shows for a moment within the line next to it (`list.sort` empties the list).
"""

import random
from string import Template

# More than any program should reach: what a rare mix of periods would let grow for ever is cut here.
LIMIT = 1200
MOVED = "~range(len($R) - 1)"  # taken out and put back in one line
FULL = "~range(len($R) + (len($R) == $R.maxlen))"  # a full deque takes the new one before it drops the old one


class Dice:
    """Choices by the seed, made of `random()` alone: the other methods have changed between versions of Python."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def chance(self, share):
        return self._random.random() < share

    def number(self, low, high):
        return low + int(self._random.random() * (high - low + 1))

    def pick(self, choices):
        choices = list(choices)
        return choices[self.number(0, len(choices) - 1)]

    def some(self, choices, count):
        choices, taken = list(choices), []
        while choices and len(taken) < count:
            taken.append(choices.pop(self.number(0, len(choices) - 1)))
        return taken


# kind: family, the opening of its constructor, the class it needs
KINDS = {
    "list": ("list", "(", ""),
    "list_subclass": ("list", "Log(", "class Log(list):\n    pass"),
    "list_slotted": ("list", "Tape(", "class Tape(list):\n    __slots__ = ()"),
    "tuple": ("tuple", "tuple(", ""),
    "deque": ("deque", "deque(", ""),
    "deque_maxlen": ("deque", "bounded(", "def bounded(given):\n    return deque(given, maxlen=90)"),
    "deque_subclass": ("deque", "Window(", "class Window(deque):\n    pass"),
    "dict": ("dict", "(", ""),
    "dict_subclass": ("dict", "Store(", "class Store(dict):\n    pass"),
    "ordereddict": ("dict", "OrderedDict(", ""),
    "defaultdict": ("dict", "defaultdict(list, ", ""),
    "counter": ("counter", "Counter(", ""),
    "set": ("set", "(", ""),
    "set_subclass": ("set", "Bag(", "class Bag(set):\n    pass"),
}
# Lists and dicts are what programs keep their rows in; the others should not crowd them out.
COMMON = ["list"] * 6 + ["dict"] * 4 + ["deque", "deque_maxlen", "set", "defaultdict", "counter"] + list(KINDS)

# The words for a counter are sorted: the order of a set of texts differs from run to run, and a counter keeps it.
FRESH = {
    "list": "${C}items(n, $N))",
    "tuple": "${C}items(n, $N))",
    "deque": "${C}items(n, $N))",
    "dict": "${C}table(n, $N))",
    "counter": "${C}dict.fromkeys(sorted(words(n, $N)), 1))",
    "set": "${C}words(n, $N))",
}
EMPTY = {"list": "$C[])", "tuple": "$C())", "deque": "$C[])", "dict": "$C{})", "counter": "$C)", "set": "${C}set())"}
COPY = {family: "$C$R.copy())" for family in FRESH}
COPY["tuple"] = "$C[*$R])"

GROW = {
    "list": {
        "append": ["$R.append(item(n))"],
        "extend": ["$R.extend(items(n, 3))"],
        "iadd": ["$R += items(n, 2)"],
        "add_to_new": ["$R = $C$R + [item(n)])"],
        "insert_front": ["$R.insert(0, item(n))"],
        "slice_assign": ["$R[len($R):] = items(n, 2)"],
    },
    "tuple": {
        "add_to_new": ["$R = $C$R + (item(n),))"],
        "unpack_to_new": ["$R = $C(*$R, item(n)))"],
    },
    "deque": {
        "append": ["$R.append(item(n))", FULL],
        "insert_front": ["$R.appendleft(item(n))", FULL],
        "extend": ["$R.extend(items(n, 3))", FULL],
        "iadd": ["$R += items(n, 2)", FULL],
    },
    "dict": {
        "set_item": ["$R[key(n)] = item(n)"],
        "update": ["$R.update(table(n, 3))"],
        "setdefault": ["$R.setdefault(key(n), item(n))"],
        "copy_on_write": ["$R = $C{**$R, key(n): item(n)})"],
        "ior": ["$R |= table(n, 2)"],
    },
    "counter": {
        "set_item": ["$R[word(n)] += 1"],
        "update": ["$R.update(sorted(words(n, 2)))"],
        "add_to_new": ["$R = $C$R + Counter([word(n)]))"],
    },
    "set": {
        "set_add": ["$R.add(word(n))"],
        "update": ["$R.update(words(n, 3))"],
        "ior": ["$R |= words(n, 2)"],
        "copy_on_write": ["$R = $C$R | {word(n)})"],
    },
}

CLEAR = {"clear_each_epoch": ["if n % $E == $E - 1: $R.clear()"]}
REPLACE = {"replace_by_new": ["if n % $E == $E - 1: $R = $EMPTY"]}
EXPIRE = {"expire_oldest": ["while len($R) > $K: $R.pop(next(iter($R)))"]}
BOUND = {
    "list": {
        **CLEAR,
        **REPLACE,
        "trim_in_place": ["del $R[:-$K]"],
        "trim_to_new": ["$R = $C$R[-$K:])"],
        "trim_by_slice": ["if n % 5 == 0: $R[:] = $R[-$K:]"],
        "expire_oldest": ["while len($R) > $K: $R.pop(0)"],
    },
    "tuple": {**REPLACE, "trim_to_new": ["$R = $C$R[-$K:])"]},
    "deque": {
        **CLEAR,
        **REPLACE,
        "trim_to_new": ["if n % 7 == 3: $R = ${C}list($R)[-$K:])"],
        "expire_oldest": ["while len($R) > $K: $R.popleft()"],
    },
    "dict": {
        **CLEAR,
        **REPLACE,
        **EXPIRE,
        "expire_by_age": ["$R.pop(key(n - $K), None)", "if len($R) > 3 * $K: $R.clear()"],
        "trim_to_new": ["if len($R) > $K: $R = $C{k: $R[k] for k in list($R)[-$K:]})"],
        "popitem": ["if n % 4 == 1 and $R: $R.popitem()", "if n % $E == $E - 1: $R.clear()"],
    },
    "counter": {
        **CLEAR,
        **REPLACE,
        **EXPIRE,
        "trim_to_new": ["if len($R) > $K: $R = ${C}dict($R.most_common($K)))"],
    },
    "set": {
        **CLEAR,
        **REPLACE,
        "discard_oldest": ["while len($R) > $K: $R.discard(min($R))"],
        "trim_in_place": ["if n % 6 == 2: $R -= set(sorted($R)[:-$K])"],
    },
}

COPIED = {family: {"copied": ["if n % $P == 2: $R = $COPY"]} for family in FRESH}
SHUFFLE = {
    "list": {
        **COPIED["list"],
        "sort": ["~()", "$R.sort(key=id)"],
        "reverse": ["$R.reverse()"],
        "swap_items": ["if len($R) > 1: $R[0], $R[-1] = $R[-1], $R[0]"],
    },
    "tuple": {**COPIED["tuple"], "reverse": ["$R = $C$R[::-1])"]},
    "deque": {**COPIED["deque"], "deque_rotate": ["$R.rotate(3)"], "reverse": ["$R.reverse()"]},
    "dict": {**COPIED["dict"], "item_to_end": ["for k in list($R)[:1]: $R[k] = $R.pop(k)", MOVED]},
    "counter": {**COPIED["counter"], "subtract": ["$R.subtract(list($R)[:1])"]},
    "set": {**COPIED["set"], "discard_and_add": ["for w in list($R)[:1]: $R.discard(w); $R.add(w)", MOVED]},
}
CUT = {family: "if len($R) > %d: $R.clear()" % LIMIT for family in FRESH}
CUT["tuple"] = "$R = $R[-%d:]" % LIMIT


class Kind:
    """A kind of container, with numbers of its own: periods, how many it keeps, how many it starts with."""

    def __init__(self, dice, name=None):
        self.name = name or dice.pick(COMMON)
        self.family, self.opening, self.definition = KINDS[self.name]
        self._numbers = {
            "N": dice.number(16, 60),
            "E": dice.number(5, 40),
            "K": dice.number(18, 70),
            "P": dice.number(3, 9),
        }

    def text(self, template, ref=""):
        """The template filled in, with the container at `ref`."""
        values = {"C": self.opening, "R": ref, **self._numbers}
        for name, forms in [("EMPTY", EMPTY), ("COPY", COPY)]:
            values[name] = Template(forms[self.family]).substitute(values)
        return Template(template).substitute(values)

    def fresh(self):
        """An expression for a new one that is large enough to be noticed; it needs a number `n` for its items."""
        return self.text(FRESH[self.family])

    def copy(self, ref):
        return self.text("$COPY", ref)

    def empty(self):
        return self.text("$EMPTY")

    def grow(self, dice, ref, rebinds=True):
        """The lines of one way to grow, and its name."""
        return self._one(dice, GROW, ref, rebinds)

    def changes(self, dice, ref, rebinds=True):
        """A step of one container: it grows, is kept in bounds, and at times is put in another order."""
        names, lines = [], []
        menus = [GROW, BOUND] + [GROW] * dice.chance(0.4) + [SHUFFLE] * dice.chance(0.5)
        for menu in menus:
            found, more = self._one(dice, menu, ref, rebinds)
            names.append(found)
            lines += more
        return names, lines + [self.text(CUT[self.family], ref)]

    def _one(self, dice, menu, ref, rebinds):
        choices = {
            name: lines
            for name, lines in menu[self.family].items()
            if rebinds or not any(_rebinds(line) for line in lines)
        }
        name = dice.pick(choices)
        return name, [self.text(line, ref) for line in choices[name]]


def _rebinds(line):
    """Whether a line puts something into the place again, be it the same one as `+=` does."""
    return any("$R %s " % sign in line for sign in ["=", "+=", "|=", "-="])
