"""Containers beside what may end them, and beside what only looks like it. Waits for a line when all are half full."""

import collections
import functools
import queue
import sys


def text(number):
    return "a text that is no constant, number %d" % number


class Cache:
    """Ends where all names were met."""

    def __init__(self):
        self.names = list(map(text, range(300)))
        self.pixels = {}

    def load(self, nth):
        self.pixels[self.names[nth]] = bytes(1000 + nth)


class Follows:
    """Its keys come from a list that grows as fast."""

    def __init__(self):
        self.ids = []
        self.features = {}

    def add(self, number):
        self.ids.append(text(number))
        self.features[self.ids[-1]] = bytes(1000 + number)


class Slots:
    """Filled, each once."""

    def __init__(self):
        self.rows = [None] * 300

    def put(self, nth):
        self.rows[nth] = bytes(1000 + nth)


class Appends:
    """Has empty places, and becomes longer all the same."""

    def __init__(self):
        self.rows = [None] * 20

    def put(self, nth):
        self.rows.append(bytes(1000 + nth))


class Buffer:
    """Says how much it should have, which nobody holds to."""

    def __init__(self):
        self.capacity = 200
        self.items = []

    def put(self, nth):
        self.items.append(bytes(1000 + nth))


class Passed:
    """The same, and has more already."""

    def __init__(self):
        self.capacity = 100
        self.items = []

    def put(self, nth):
        self.items.append(bytes(1000 + nth))


WINDOW = collections.deque(maxlen=500)
WAITING = queue.Queue(maxsize=400)


@functools.lru_cache(maxsize=350)
def remembered(nth):
    return bytes(1000 + nth)


cache, follows, slots, appends, buffer, passed = Cache(), Follows(), Slots(), Appends(), Buffer(), Passed()
for nth in range(150):
    for step in (cache.load, follows.add, slots.put, appends.put, buffer.put, passed.put, WINDOW.append, WAITING.put, remembered):
        step(bytes(1000 + nth) if step in (WINDOW.append, WAITING.put) else nth)
print("ready", flush=True)
sys.stdin.readline()
