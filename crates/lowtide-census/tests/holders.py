"""Keeps a few megabytes in every way that programs do, and waits."""

import collections
import functools
import sys
import threading

COUNT = 1500


def things(count=COUNT):
    """Objects that nobody else holds."""
    return [bytearray(2000) for _ in range(count)]


class Metrics:
    def __init__(self):
        self.name = "loss"
        self.rows = things()


class Asked:
    """Somebody asked for its `__dict__`."""

    def __init__(self):
        self.history = {n: thing for n, thing in enumerate(things())}
        self.__dict__


class Slotted:
    __slots__ = ("first", "buffer")

    def __init__(self):
        self.first = 1
        self.buffer = things()


class Cache:
    store = dict(enumerate(things()))


class Own(list):
    pass


class Link:
    def __init__(self, next):
        self.next, self.value = next, bytearray(200)


def make():
    seen = things()

    def add(thing):
        seen.append(thing)

    return add


def note(thing, kept=things()):
    kept.append(thing)


@functools.lru_cache(maxsize=None)
def unbounded(number):
    return bytearray(2000)


@functools.lru_cache(maxsize=COUNT)
def bounded(number):
    return bytearray(2000)


def generated():
    pending = things()
    while True:
        yield len(pending)


def worker(ready, end):
    collected = things()
    ready.set()
    end.wait()
    return collected


LIST = things()
TABLE = {"version": 1, "rows": {str(n): thing for n, thing in enumerate(things())}}
QUEUE = collections.deque(things())
SEEN = {bytes(thing) + str(n).encode() for n, thing in enumerate(things())}
ORDERED = collections.OrderedDict(enumerate(things()))
OWN = Own(things())
BOTH = {"left": things(2 * COUNT), "right": things(2 * COUNT)}
BLOB = bytearray(3_000_000)
FEW = {"only": [bytearray(3_000_000)]}
FIRST = things()
SECOND = FIRST[: COUNT - 100]
LOCAL = threading.local()
LOCAL.mine = things()
HEAD = None
for _ in range(10_000):
    HEAD = Link(HEAD)

metrics = Metrics()
asked = Asked()
slotted = Slotted()
add = make()
for n in range(COUNT):
    unbounded(n)
    bounded(n)
running = generated()
next(running)


def main():
    local = things()
    captured = things()
    ready, end = threading.Event(), threading.Event()
    threading.Thread(target=worker, args=(ready, end), daemon=True).start()
    ready.wait()
    print("ready", flush=True)
    sys.stdin.read()
    return local, lambda: captured


main()
