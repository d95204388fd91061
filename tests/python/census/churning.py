"""Makes and frees objects at full speed, while the number of those that it keeps stays the same.

    python churning.py WITH

WITH is `alone`, `threads` (a second thread does the same) or `torch` (torch and transformers are imported before). Prints a
line of JSON: how many objects of each kept class there are, and the names of all classes that this process knows. Goes on
until a line comes, then prints the same again and ends; what it kept is counted anew for that.
"""

import gc
import json
import select
import sys
import threading
import weakref

# In a type: where its name is.
C_NAME = 24
# Between two looks at the input: some milliseconds.
ROUNDS = 50


class KeptInstance:
    def __init__(self, number):
        self.number, self.parts = number, [number, str(number)]


class KeptSlotted:
    __slots__ = ("inner", "number")

    def __init__(self, number):
        self.inner, self.number = (number, number), number


class KeptRing:
    """Two of them hold each other."""

    def __init__(self, other=None):
        self.other = other or KeptRing(self)


class KeptDict(dict):
    pass


class KeptList(list):
    pass


class KeptTuple(tuple):
    __slots__ = ()


class KeptText(str):
    """The collector knows nothing of these."""

    __slots__ = ()


class KeptCall:
    def __init__(self, number):
        self.call = lambda: (self, number)


class Kept:
    """All that stays. The numbers differ, so that one cannot be taken for the other."""

    def __init__(self):
        self.all = {
            KeptInstance: [KeptInstance(number) for number in range(3000)],
            KeptSlotted: [KeptSlotted(number) for number in range(2300)],
            KeptRing: [KeptRing() for _ in range(850)],
            KeptDict: [KeptDict(number=number, text=str(number)) for number in range(1100)],
            KeptList: [KeptList([number] * 5) for number in range(1300)],
            KeptTuple: [KeptTuple((number, str(number))) for number in range(1500)],
            KeptText: [KeptText("text %d" % number) for number in range(1900)],
            KeptCall: [KeptCall(number) for number in range(900)],
        }

    def counts(self):
        counts = {name(kind): len(kept) for kind, kept in self.all.items()}
        counts[name(KeptRing)] *= 2
        return counts


class Passing:
    def __init__(self, number):
        self.number, self.me = number, self


class PassingSlotted:
    __slots__ = ("a", "b", "__weakref__")


def numbers(limit):
    for number in range(limit):
        yield [number]


def closures(number):
    held = {"number": number}

    def inner():
        return held, inner

    return inner


def churn(rounds):
    """One piece of work: all of it is garbage at the end, most of it in circles, which only the collector frees."""
    for turn in range(rounds):
        passing = [Passing(number) for number in range(40)]
        tables = [{"n": number, "of": passing, number: str(number)} for number in range(40)]
        rows = [[table, tables] for table in tables]
        rows.append(rows)
        slotted = [PassingSlotted() for _ in range(40)]
        for one, other in zip(slotted, passing):
            one.a, one.b, other.slotted = other, slotted, one
        called = [closures(number) for number in range(40)]
        weak = [weakref.ref(one, lambda _: None) for one in slotted]
        sets = [{number, str(number), (number, turn)} for number in range(20)]
        running = numbers(5)
        next(running)
        grown = {}
        for number in range(300):
            grown["key %d" % number] = number * 1000003
        tables[0]["all"] = (rows, called, weak, sets, running, grown)
        # A class is a circle, too, and so are its name, its table and what is made from it.
        kind = type("Passing%d" % (turn % 3), (Passing,), {"turn": turn})
        passing[0].of = kind(turn)


def name(cls):
    """As a census names it."""
    module = cls.__dict__.get("__module__", None)
    own = type.__dict__["__qualname__"].__get__(cls)
    if not isinstance(module, str):
        module = type.__dict__["__module__"].__get__(cls)
    return own if module == "builtins" else "%s.%s" % (module, own)


def all_names():
    """Of every class that there is: those that are made from others, and those of objects."""
    kinds, waiting = set(), [object]
    while waiting:
        kind = waiting.pop()
        if kind not in kinds:
            kinds.add(kind)
            waiting += type.__subclasses__(kind)
    kinds.update(type(one) for one in gc.get_objects())
    names = {name(kind) for kind in kinds}
    if "torch" in sys.modules:
        # Types of C are told by the name that C gave them, whatever module Python says they belong to.
        import ctypes

        names.update(ctypes.c_char_p.from_address(id(kind) + C_NAME).value.decode() for kind in kinds)
    # Those that come and go.
    names.update("%s.Passing%d" % (__name__, nth) for nth in range(3))
    return sorted(names)


def main(how):
    if how == "torch":
        import torch  # noqa: F401
        import transformers  # noqa: F401
    kept = Kept()
    churn(1)
    print(json.dumps({"kept": kept.counts(), "names": all_names()}), flush=True)
    over = threading.Event()

    def work():
        while not over.is_set():
            churn(ROUNDS)

    if how == "threads":
        second = threading.Thread(target=work)
        second.start()
    while not select.select([sys.stdin], [], [], 0)[0]:
        churn(ROUNDS)
    over.set()
    if how == "threads":
        second.join()
    print(json.dumps({"kept": kept.counts(), "names": all_names(), "collected": gc.get_stats()[2]["collections"]}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
