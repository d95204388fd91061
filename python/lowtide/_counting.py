"""When the objects of the process are counted, and what grew between the first count and the last.

Fed by `_track` with moments at which a count would be of use. A count walks all objects that the garbage
collector knows, so it is the dearest thing the callback does: it is left out where the budget has no room
for it, and always leaves room for the last one, without which the first tells nothing. Where the watcher takes a census
of the same objects from outside, which costs the loop nothing, it gives way.
"""

import sys
from typing import Any, List, Optional

from . import _marks, _tensors
from ._budget import Budget
from ._host import signed

# Before the first count its cost is guessed by what the interpreter has allocated, which is known at once:
# seconds for each block (a process with torch and transformers has 1.8 million of them, a quarter of which the
# collector knows; counting took 0.06 us a block, with types 0.14 us). A count that takes longer is given up.
GUESS_S = 0.07e-6
GUESS_TYPES_S = 0.16e-6
# Growth that is worth a line at the end; less is what any run gathers in caches.
WORTH_A_LINE = 1_000_000


class Counting:
    """Counts as often as the budget allows."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        # Seconds for each block, of a plain count and of one with types.
        self._rate = {False: GUESS_S, True: GUESS_TYPES_S}
        self.first: Optional[_tensors.Count] = None
        self.last: Optional[_tensors.Count] = None
        self._first_types: Optional[_tensors.Count] = None

    def now(self) -> Optional[_tensors.Count]:
        """A count on the way, when there is room for it and for the last one, and nobody counts from outside."""
        if _marks.counted_outside():
            return None
        plain, types = self._expected(False), self._expected(True)
        if self.first is None:
            if self._budget.allows(2 * types):
                return self._take(True)
            return self._take(False) if self._budget.allows(2 * plain) else None
        if self._first_types is None:
            # Types are saved up for: more plain counts would use up what they need.
            return self._take(True) if self._budget.allows(2 * types) else None
        return self._take(False) if self._budget.allows(plain + types) else None

    def at_end(self) -> Optional[_tensors.Count]:
        """The last count. Without a first one there is nothing to compare."""
        if self.first is None or _marks.counted_outside():
            return None
        for types in (True, False):
            wanted = self._first_types is not None or not types
            if wanted and self._budget.allows(self._expected(types)):
                return self._take(types)
        return None

    def grew(self, worth: int = 0) -> List[str]:
        """What grew from the first count to the last, in words."""
        last, lines = self.last, []
        if last is None:
            return []
        if self._first_types is not None and last is not self._first_types:
            for name, before, after in _tensors.grown(self._first_types.types, last.types):
                lines.append((name, before, after))
        if self.first is not None and last is not self.first:
            for shape, before, after in _tensors.grown(self.first.shapes, last.shapes, top=3):
                if after.bytes > before.bytes:
                    lines.append(("tensors %s" % _tensors.shape_text(shape), before, after))
        return [
            "%s %d -> %d (%s)" % (name, before.number, after.number, signed(after.bytes - before.bytes))
            for name, before, after in lines
            if after.bytes - before.bytes >= worth
        ]

    def _expected(self, types: bool) -> float:
        return self._rate[types] * _blocks()

    def _take(self, types: bool) -> Optional[_tensors.Count]:
        budget, blocks = self._budget, _blocks()
        started = budget.start()
        # What it may take at most: the guess can be wrong on a slow machine.
        most = budget.share * budget.ran() - budget.spent
        taken = _tensors.count(types, lambda: budget.since(started) > most)
        took = budget.since(started)
        # One that was given up would have taken longer, nobody knows how much.
        self._rate[types] = (took if taken is not None else 2 * took) / max(blocks, 1)
        if taken is None:
            return None
        self.first = self.first or taken
        if types:
            self._first_types = self._first_types or taken
        self.last = taken
        return taken


def _blocks() -> int:
    count: Any = getattr(sys, "getallocatedblocks", None)  # CPython only
    return count() if count is not None else 1_000_000
