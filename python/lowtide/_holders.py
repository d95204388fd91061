"""Containers that are known again from look to look, and how they grew.

Fed with places and their containers by `_survey`, and read again by `_look`. A container is the same one as before
if it is at the same place, of the same type, and has the same address or the same first items: `x = x + [y]` is a
new list in every step, and a list that is made anew for every epoch is another one each time.
"""

import heapq
import itertools
import time
from collections import deque
from typing import Any, Dict, Iterator, List, Optional, Tuple

from . import _kinds
from ._opened import MISSING, Opened
from ._places import Place
from ._sizes import Kept

# Containers that are followed: some 600 bytes each, 4 MB in all.
MOST_KNOWN = 6_000
# Libraries have thousands of small tables; one that grows is soon longer.
LEAST_OF_LIBRARIES = 16
# First items by which a list is known that was made anew.
MARKS = 3
# Looks at which there was nothing at its place: then it is forgotten.
FORGET_AFTER = 3
# Containers that are compared before others have a turn: half a millisecond.
PIECE = 500
# A container that only fills and empties falls as often as it rises.
RISES_PER_FALL = 4


class Held:
    """One container, as it was at the looks."""

    __slots__ = ("place", "kind", "own", "address", "marks", "length", "first_length", "first_step", "first_at",
                 "step", "at", "looks", "rises", "falls", "missing", "kept", "ends", "lines", "told")  # fmt: skip

    def __init__(self, place: Place, kind: str, own: bool) -> None:
        self.place = place
        self.kind = kind
        self.own = own
        self.address = 0
        self.marks: Tuple[int, ...] = ()
        self.missing = 0
        self.kept: Optional[Kept] = None
        self.ends: List[Dict[str, Any]] = []
        self.lines: List[Dict[str, Any]] = []
        self.told = False
        self.begin(0, None, 0.0)

    def begin(self, length: int, step: Optional[int], at: float) -> None:
        """Growth counts from here."""
        self.length = self.first_length = length
        self.step = self.first_step = step
        self.at = self.first_at = at
        self.looks = self.rises = self.falls = 0

    @property
    def grew(self) -> int:
        return self.length - self.first_length

    @property
    def grows(self) -> bool:
        return self.grew > 0 and self.rises > RISES_PER_FALL * self.falls

    @property
    def grew_bytes(self) -> float:
        """What it grew by, as far as its items are alike."""
        return 0.0 if self.kept is None else self.kept.bytes * self.grew / max(self.length, 1)

    def per_step(self) -> Optional[float]:
        if self.step is None or self.first_step is None or self.step <= self.first_step:
            return None
        return self.grew / (self.step - self.first_step)


class Holders:
    def __init__(self) -> None:
        self.known: Dict[str, Held] = {}
        # There were more than are followed.
        self.overflowed = False

    def meet(self, place: Place, item: Any, own: bool, step: Optional[int]) -> None:
        """A container, found on a walk."""
        length = _kinds.length(item)
        if length is None or not own and length < LEAST_OF_LIBRARIES:
            return
        key = place.key_of_all()
        held = self.known.get(key)
        if held is None:
            if len(self.known) >= MOST_KNOWN:
                self.overflowed = True
                return
            held = self.known[key] = Held(place, _kinds.type_name(item), own)
        self._enter(held, item, length, step)

    def read(self, key: str, opened: Opened, step: Optional[int]) -> None:
        """One that is known, as it is now."""
        held = self.known.get(key)
        if held is None:
            return
        item = opened.at(held.place)
        length = None if item is MISSING else _kinds.length(item)
        if length is not None:
            self._enter(held, item, length, step)
            return
        held.missing += 1
        if held.missing >= FORGET_AFTER:
            del self.known[key]

    def _enter(self, held: Held, item: Any, length: int, step: Optional[int]) -> None:
        held.missing = 0
        marks, kind, now = _marks_of(item), _kinds.type_name(item), time.monotonic()
        in_place = any(old == new for old, new in zip(held.marks, marks))
        same = kind == held.kind and (in_place or held.address in (0, id(item)))
        if not same or held.address == 0:
            held.kind = kind
            held.begin(length, step, now)
            held.kept, held.ends, held.lines, held.told = None, [], [], False
        held.looks += 1
        held.rises += length > held.length
        held.falls += length < held.length
        if length < held.first_length:
            # It was emptied: what it grew by counts from its new floor.
            held.first_length, held.first_step, held.first_at = length, step, now
        held.length, held.step, held.at = length, step, now
        held.address, held.marks = id(item), marks

    def largest(self, most: int, into: List[Held]) -> Iterator[None]:
        """Those to look into: what grows, most in length first, then what is long. Gives way now and then."""
        keyed: List[Tuple[bool, bool, int, int, int]] = []
        known = list(self.known.values())
        for number, held in enumerate(known):
            if number % PIECE == PIECE - 1:
                yield
            keyed.append((held.grows, held.own, held.grew, held.length, number))
        into += [known[key[-1]] for key in heapq.nlargest(most, keyed)]

    def growing(self) -> List[Held]:
        """Largest growth first, in bytes."""
        found = [held for held in self.known.values() if held.grows]
        return by_growth(found)

    def grows_at(self, place: Place) -> bool:
        """Is it known to grow, or not yet known not to?"""
        held = self.known.get(place.key_of_all())
        return held is None or held.looks < 2 or held.grew > 0


def by_growth(found: List[Held]) -> List[Held]:
    return sorted(found, key=lambda held: (held.grew_bytes, held.grew), reverse=True)


def _marks_of(item: Any) -> Tuple[int, ...]:
    """Addresses of its first items: of a dict its keys, of a set none, which has no order."""
    for base in (list, dict, deque):
        if issubclass(type(item), base):
            try:
                return tuple(map(id, itertools.islice(base.__iter__(item), MARKS)))
            except RuntimeError:
                return ()
    return ()
