"""Places that objects are found at: a way from a module, a frame or a thread, one step after the other.

A place holds names and numbers, never the object: what is looked at again later is found again by its owner's
slot, so that nothing is kept alive and an address that others use by now deceives nobody. Made by `_survey`,
found again by `_opened`.
"""

import array
import os
import sys
from typing import Any, List, Optional, Tuple

_program: Optional[str] = None


class Place:
    """Where something is: a step from another place, or a root."""

    __slots__ = ("parent", "how", "key", "depth", "owner_type")

    def __init__(self, parent: "Optional[Place]", how: str, key: Any, owner_type: str = "") -> None:
        self.parent = parent
        self.how = how
        self.key = key
        self.depth = 0 if parent is None else parent.depth + 1
        self.owner_type = owner_type

    def steps(self) -> "List[Place]":
        found: List[Place] = []
        place: Optional[Place] = self
        while place is not None:
            found.append(place)
            place = place.parent
        return found[::-1]

    def key_of_all(self) -> str:
        """By which it is known again. A text, which the garbage collector need not look at."""
        return "\n".join(["%s %r" % (step.how, step.key) for step in self.steps()])

    def path(self) -> List[str]:
        """From the root on, one step each."""
        return [_WORDS[step.how](step) for step in self.steps()]

    def name(self) -> str:
        """As a person would write it: `train.CACHE`, `Metrics.rows of train.metrics`."""
        root, steps = self.steps()[0], self.steps()[1:]
        where = ""
        if root.how == "frame":
            where = " in " + _frame_words(root)
            text = ""
        else:
            text = _module_word(root.key)
        for number, step in enumerate(steps):
            last = number == len(steps) - 1
            if step.how in ("attribute", "slot") and last and number > 0:
                return "%s.%s of %s%s" % (step.owner_type, step.key, text, where)
            text = _written(step, text)
        return text + where


def _written(step: Place, text: str) -> str:
    how, key = step.how, step.key
    if how in ("global", "local", "attribute", "slot", "class"):
        return "%s.%s" % (text, key) if text else str(key)
    if how == "item":
        return "%s[%s]" % (text, _quoted(key))
    if how == "index":
        return "%s[%d]" % (text, key)
    if how == "nth":
        return "%s[item %d]" % (text, key)
    if how == "cell":
        return "%s in the closure of %s" % (key, text)
    if how == "default":
        return "%s, a default of %s" % (key, text)
    if how == "thread-local":
        return "%s.%s of a thread" % (text, key[1])
    if how == "generator":
        return "%s in the generator %s" % (key, text)
    return text  # "self"


def _quoted(key: Any) -> str:
    return '"%s"' % key if type(key) is str else str(key)


def _module_word(name: str) -> str:
    """The program itself is named by its file: `train`, not `__main__`."""
    global _program
    if name != "__main__":
        return name
    if _program is None:
        try:
            file = vars(sys.modules["__main__"]).get("__file__")
        except Exception:
            return name
        if not isinstance(file, str) or not file:
            return name
        # Kept: the name of the file is taken away again when the program is over.
        _program = os.path.splitext(os.path.basename(file))[0]
    return _program


def _frame_words(root: Place) -> str:
    _, _, file, function, line = root.key
    return "%s() %s:%d" % (function, os.path.basename(file), line)


_WORDS = {
    "module": lambda step: "module " + _module_word(step.key),
    "frame": lambda step: "frame " + _frame_words(step),
    "global": lambda step: "." + step.key,
    "local": lambda step: "." + step.key,
    "attribute": lambda step: "." + step.key,
    "slot": lambda step: "." + step.key,
    "class": lambda step: "." + step.key,
    "item": lambda step: "[%s]" % _quoted(step.key),
    "index": lambda step: "[%d]" % step.key,
    "nth": lambda step: "[item %d]" % step.key,
    "cell": lambda step: "cell " + step.key,
    "default": lambda step: "default " + step.key,
    "thread-local": lambda step: "thread %d's .%s" % step.key,
    "generator": lambda step: "local " + step.key,
    "self": lambda step: "__self__",
}


class Table:
    """The places of one walk, by number. Fifty thousand objects of ours would make the garbage collector look at all
    of the job's, 0.2 s in a process with torch: so there are none, only numbers and names."""

    def __init__(self) -> None:
        # -1 for a root.
        self.parents = array.array("l")
        self.depths = array.array("b")
        self.hows: List[str] = []
        self.keys: List[Any] = []
        self.owner_types: List[str] = []

    def add(self, parent: int, how: str, key: Any, owner_type: str = "") -> int:
        self.parents.append(parent)
        self.depths.append(0 if parent < 0 else self.depths[parent] + 1)
        self.hows.append(how)
        self.keys.append(key)
        self.owner_types.append(owner_type)
        return len(self.hows) - 1

    def place(self, number: int) -> Place:
        parent = self.parents[number]
        above = None if parent < 0 else self.place(parent)
        return Place(above, self.hows[number], self.keys[number], self.owner_types[number])
