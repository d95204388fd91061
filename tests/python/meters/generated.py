"""Small Python programs, chosen by a seed from a grammar: containers that change as those of trainings do.

`program(seed)` is the source of a module with `setup()`, `step(n)` and `slots()`; `uses(seed)` names what is in it. The
same seed gives the same text on every version of Python. Whoever sets `mark` in the module hears of every change:
`mark(label, container or None)`; the container may stand for a mere length that was to be seen for a moment.
"""

import ast
import functools

import events
import functions
import pairs
import places
from changes import Dice, Kind

TRACKED = 4
ITEMS = {
    "bytes": "return b'%08d' % code(n, j) + bytes({size})",
    "text": "return '%08d' % code(n, j) + 'x' * {size}",
    "floats": "return [code(n, j) + x / 2 for x in range({size} // 32)]",
    "float_tuple": "return tuple(code(n, j) + x / 2 for x in range({size} // 32))",
    "instance": "return Row(code(n, j), bytes({size}))",
    "slotted": "return Cell(code(n, j), bytes({size}))",
}
# Keys are texts made anew each time, words are items that can be in a set; both sort by age.
HEAD = '''
import functools
import gc
import threading
import types
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from functools import lru_cache
from types import SimpleNamespace

HELD = []
BOX = []


def mark(label, container):
    pass


class Row:
    def __init__(self, number, value):
        self.number, self.value = number, value


class Cell:
    __slots__ = ("number", "value")

    def __init__(self, number, value):
        self.number, self.value = number, value


def code(n, j):
    return (n + 2000) * 100 + j


def item(n, j=0):
    {item}


def items(n, count):
    return [item(n, j) for j in range(count)]


def key(n, j=0):
    return {key}


def table(n, count):
    return {{key(n, j): item(n, j) for j in range(count)}}


def word(n, j=0):
    return "%012d" % code(n, j) + "w" * {size}


def words(n, count):
    return {{word(n, j) for j in range(count)}}
'''
ASKED = '''
def asked(waiting):
    waiting.send(None)
    return BOX.pop()
'''
TURN_OF_COROUTINE = '''
@types.coroutine
def turn():
    return (yield)
'''
# A thread stands still but while `send` waits for it.
TURN_OF_THREAD = '''
class Turn:
    def __init__(self):
        self.go, self.done, self.number = threading.Semaphore(0), threading.Semaphore(0), None

    def wait(self):
        self.done.release()
        self.go.acquire()
        return self.number

    def send(self, number):
        self.number = number
        self.go.release()
        self.done.acquire()

    def ready(self):
        self.done.acquire()


def start(work):
    threading.Thread(target=work, daemon=True).start()
'''
CACHE_OF = '''
def cache_of(function):
    return next(one for one in gc.get_referents(function) if type(one) is dict and "__wrapped__" not in one)
'''
AT_INDEX = '''
def at_index(rows, index):
    return rows[index] if index < len(rows) else None
'''
HELPERS = [
    ("asked(", ASKED),
    ("await turn()", TURN_OF_COROUTINE),
    ("Turn()", TURN_OF_THREAD),
    ("cache_of(", CACHE_OF),
    ("at_index(", AT_INDEX),
]
PLACES = [places.chain] * 12 + [
    functions.closure,
    functools.partial(functions.waiting, what="generator"),
    functools.partial(functions.waiting, what="coroutine"),
    functools.partial(functions.waiting, what="thread"),
    functions.default_argument,
    functions.keyword_default,
    functions.cached,
    *pairs.PAIRS,
]


def program(seed):
    """The source of the module."""
    return _made(seed)[0]


def uses(seed):
    """The names of all that the program makes use of."""
    return _made(seed)[1]


@functools.lru_cache(maxsize=64)
def _made(seed):
    dice = Dice(seed)
    item, size = dice.pick(ITEMS), dice.pick([210, 300, 500, 900, 2000, 3500])
    parts = [_decoys(dice)]
    for number in range(1, dice.number(1, 3) + 1):
        part = dice.pick(PLACES)(dice, number)
        # One that would be too many is left out; the first one always fits.
        if sum(len(one.slots) for one in parts) + len(part.slots) <= TRACKED:
            parts.append(part)
    key = dice.pick(["'k%d.%d' % (n, j)", "code(n, j)", "('k', n, j)"])
    head = HEAD.format(item=ITEMS[item].format(size=size), size=size, key=key)
    return _text(head, parts), sorted({"items_" + item, *(name for part in parts for name in part.uses)})


def _decoys(dice):
    """Containers beside those that are tracked, which come and go."""
    part = places.Part()
    for event in dice.some([events.crowd, events.churn], dice.number(0, 2)):
        kind = Kind(dice)
        lines, definition = event(dice, kind, 0)
        part.definitions += [kind.definition, definition]
        part.function("def %s(n):" % event.__name__, lines)
        part.step.append("%s(n)" % event.__name__)
        part.uses.append("decoys_" + event.__name__)
    return part


def _text(head, parts):
    # A class may be wanted twice, and is there once: two would differ in their type.
    definitions = list(dict.fromkeys(text for part in parts for text in part.definitions if text))
    setup = [line for part in parts for line in part.setup]
    slots = {label: look for part in parts for label, look in part.slots.items()}
    after = places.Part()
    after.function("def setup():", _globals(setup) + ["n = -1"] + setup)
    after.function("def step(n):", [line for part in parts for line in part.step])
    after.function("def slots():", ["return {"] + ["    %r: %s," % pair for pair in slots.items()] + ["}"])
    text = "\n\n\n".join(definitions + after.definitions) + "\n"
    helpers = [helper for token, helper in HELPERS if token in text]
    return "\n\n".join([head.strip() + "\n", *[helper.strip() + "\n" for helper in helpers], text])


def _globals(lines):
    """The statement that makes what `setup` assigns global."""
    names = set()
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            found = [one for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)]
            # In `STATE.rows = []`, STATE itself is not assigned.
            names.update(one.id for one in found if isinstance(one.ctx, ast.Store))
    return ["global " + ", ".join(sorted(names))] if names else []
