"""A job that keeps something in every place that a container can be at, and looks at itself from inside.

Standard library only: every CPython runs it. Prints what was found as JSON; the looks are taken at known steps, so
that lengths are exact.
"""

import collections
import functools
import gc
import json
import queue
import sys
import threading
import weakref

from lowtide import _inside, _marks

LOOKS, STEPS = 5, 40

CACHE = []
TABLE = {}
STATE = {"items": []}
NAMES = ["name %d" % number for number in range(1000)]
BY_INDEX = {}
UNIQUE = set()
RECENT = collections.deque(maxlen=1000)
STEADY = list(range(5000))
SAW = []
MOVED = []
WAITING = queue.Queue(maxsize=500)
LOCAL = threading.local()


class Metrics:
    shared = []

    def __init__(self):
        self.rows = []


class Ring:
    def __init__(self):
        self.capacity = 10_000
        self.store = []


class Slotted:
    __slots__ = ("rows",)

    def __init__(self):
        self.rows = []


class Dying:
    pass


class Trap:
    """Code of the job's that must not run because somebody looks."""

    ran = []

    def __init__(self):
        self.inner = []

    def __getattribute__(self, name):
        if name not in ("inner",):
            Trap.ran.append(name)
        return object.__getattribute__(self, name)

    def __len__(self):
        Trap.ran.append("len")
        return 3

    def __sizeof__(self):
        Trap.ran.append("sizeof")
        return 1

    def __hash__(self):
        Trap.ran.append("hash")
        return 1

    def __eq__(self, other):
        Trap.ran.append("eq")
        return True

    @property
    def __class__(self):
        Trap.ran.append("class")
        return list


metrics, ring, slotted, trap = Metrics(), Ring(), Slotted(), Trap()
TRAPS = [Trap() for _ in range(20)]


@functools.lru_cache(maxsize=4096)
def load(number):
    return [number] * 10


@functools.lru_cache(maxsize=None)
def load_all(number):
    return bytearray(1000)


def make():
    seen = []

    def remember(number):
        seen.append({"number": number, "text": str(number)})

    return remember


remember = make()


def with_default(number, kept={}):  # noqa: B006 - the very thing
    kept[number] = str(number)


def batches():
    pulled = []
    while True:
        pulled.append(bytearray(50))
        yield len(pulled)


def in_a_thread(begin, done):
    LOCAL.rows = []
    mine = []
    while begin.get():
        mine.extend(bytearray(10) for _ in range(STEPS))
        LOCAL.rows.extend([number] for number in range(STEPS))
        done.put(True)


def one_step(number):
    global MOVED
    CACHE.append(bytearray(5000))
    TABLE[(number, "x")] = [number]
    STATE["items"].append((number, str(number)))
    BY_INDEX[number] = "decoded %d" % number
    UNIQUE.add("unique %d" % number)
    RECENT.append([number])
    SAW.append(number)
    if len(SAW) >= STEPS // 2 + 7:
        SAW.clear()
    MOVED = MOVED + [[number]]
    if number <= 300:
        WAITING.put(number)
    metrics.rows.append({"loss": float(number)})
    Metrics.shared.append(float(number))
    ring.store.append([number])
    slotted.rows.append("text %d" % number)
    trap.inner.append(number)
    load(number)
    load_all(number)
    remember(number)
    with_default(number)


def look(inside):
    """In a thread of its own, as in a real run: the frames of this one are the job's."""
    thread = threading.Thread(target=inside.look_now, name="lowtide inside")
    thread.start()
    thread.join()


def main(sent):
    inside = _inside.Inside(share=1.0)
    rows, generator, number = [], batches(), 0
    begin, done = queue.Queue(), queue.Queue()
    worker = threading.Thread(target=in_a_thread, args=(begin, done), daemon=True)
    worker.start()
    died = []
    before = None
    for _ in range(LOOKS):
        for _ in range(STEPS):
            number += 1
            one_step(number)
            rows.append(bytearray(100))
            next(generator)
            _marks.mark(step=number)
        begin.put(True)
        done.get()
        # A list that is made anew each time, and another that holds what must die after the look.
        fresh = [number] * (number // STEPS)
        dying = [Dying()]
        held = {"dying": dying}
        watch = weakref.ref(dying[0])
        Trap.ran.clear()
        before = sys.getrefcount(CACHE), sys.getrefcount(metrics.rows), sys.getrefcount(rows)
        look(inside)
        ran = list(Trap.ran)
        after = sys.getrefcount(CACHE), sys.getrefcount(metrics.rows), sys.getrefcount(rows)
        del dying, held
        died.append(watch() is None)
        assert ran == [], ran
        # The collector is off: what a walk has known is gone by itself.
        assert not any(type(one).__name__ in ("Survey", "Table", "Look") for one in gc.get_objects())
        assert before == after, (before, after)
        assert fresh is not None
    begin.put(None)
    return {
        "grown": {told["name"]: told for told in inside.grown()},
        "known": {held.place.name(): [held.length, held.grows] for held in inside.holders.known.values()},
        "died": died,
        "steps": number,
        "slowest": inside.budget.slowest,
        "sent": sent,
    }


if __name__ == "__main__":
    told = []
    real = _marks._send_extra
    _marks._send_extra = lambda kind, value: told.append([kind, value])
    gc.disable()  # what dies has to die by itself
    print(json.dumps(main(told)))
