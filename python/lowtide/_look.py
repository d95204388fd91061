"""One look from inside at who holds what: find or read the containers, look into the largest, tell the watcher.

Driven by `_inside`, a little work at a time. What it tells is a look with a breakdown by holder, as the outside
census has it (`look/heap.rs` in the program).
"""

import json
import sys
import time
from typing import Any, Dict, Iterator, List, Optional, Set

from . import _ends, _host, _kinds, _libraries, _marks, _sizes
from ._holders import Held, Holders, by_growth
from ._opened import MISSING, Opened
from ._places import Place
from ._survey import Survey

# Containers that are looked into at a look, some 0.3 ms each.
LOOKED_INTO = 64
# Named in a look: growing ones first. A look is one datagram of 32 kB at most.
NAMED = 32
LONGEST_LOOK = 28_000
LONGEST_NAME = 160
# Notes for people: of the first containers that are sure to grow, once each.
MOST_NOTES = 8
# Rises at looks before it is said, and bytes: less is what any run gathers.
RISES_TO_TELL = 3
WORTH_A_NOTE = 1_000_000


class Look:
    """The work of one look, as a list of jobs that are done in order."""

    def __init__(self, holders: Holders, survey: bool, own_thread: int, why: str) -> None:
        self._holders = holders
        self._why = why
        self.materialised = [0]
        self.cpu = 0.0
        self._began = time.perf_counter()
        self._survey = Survey(self._meet, own_thread) if survey else None
        self._met: Set[str] = set()
        self.objects = 0
        self.growing: List[Held] = []
        self._largest: List[Held] = []
        self._steps = self._work()
        self._opened = _CLOSED

    def step(self, opened: Opened) -> bool:
        """A little work. False when it is done."""
        self._opened = opened
        try:
            return next(self._steps, False)
        finally:
            self._opened = _CLOSED

    def _work(self) -> Iterator[bool]:
        if self._survey is not None:
            while self._survey.step(self._opened):
                yield True
            self.objects = self._survey.objects
            # It knows us: without this its table would wait for the garbage collector.
            self._survey = None
        for key in list(self._holders.known):
            if key not in self._met:
                self._holders.read(key, self._opened, _step())
                yield True
        largest: List[Held] = []
        for _ in self._holders.largest(LOOKED_INTO, largest):
            yield True
        for held in largest:
            self._look_into(held)
            yield True
        self.growing = by_growth([held for held in largest if held.grows and held.kept is not None])
        self._largest = [held for held in largest if held.kept is not None and not held.grows]
        yield True
        self._send()
        self._tell()

    def _meet(self, place: Place, item: Any, own: bool) -> None:
        self._met.add(place.key_of_all())
        self._holders.meet(place, item, own, _step())

    def _look_into(self, held: Held) -> None:
        item = self._opened.at(held.place)
        if item is MISSING:
            return
        try:
            held.kept = _sizes.kept(item)
            # It may have grown since it was read, seconds ago: its length and its bytes belong together.
            held.length = max(held.length, _kinds.length(item) or 0)
            held.ends = _ends.ends(held.place, item, self._opened, self._holders.grows_at)
        except Exception:
            pass  # it changed while we looked

    def _named(self) -> List[Held]:
        growing = self.growing[:NAMED]
        others = sorted(self._largest, key=lambda held: held.kept.bytes if held.kept else 0, reverse=True)
        return growing + others[: NAMED - len(growing)]

    def _send(self) -> None:
        named = self._named()
        # What is smaller goes until it fits: one datagram.
        while True:
            message = self._message(named)
            if not named or len(json.dumps(message)) <= LONGEST_LOOK:
                break
            del named[-max(1, len(named) // 8) :]
        _marks.look(message)

    def _message(self, named: List[Held]) -> Dict[str, Any]:
        parts: Dict[str, Dict[str, Any]] = {}
        holders = []
        for held in sorted(named, key=lambda held: held.kept.bytes if held.kept else 0, reverse=True):
            told = describe(held)
            if told["name"] in parts:
                continue  # the same function twice on a stack
            part: Dict[str, Any] = {"name": told["name"], "count": held.length, "bytes": told["keeps"]}
            if told["of"]:
                part["members"] = told["of"]
            parts[told["name"]] = part
            holders.append(told)
        breakdowns: List[Dict[str, Any]] = [{"by": "holder", "parts": list(parts.values())}]
        rest = len(self._holders.known) - len(parts)
        if rest > 0:
            breakdowns[0]["rest"] = {"parts": rest}
        libraries = _libraries.parts()
        if libraries:
            breakdowns.append({"by": "library", "parts": libraries})
        return {
            "why": self._why,
            "held": _host.held(_host.memory()),
            "cost": {"wall": round(time.perf_counter() - self._began, 6), "cpu": round(self.cpu, 6)},
            "breakdowns": breakdowns,
            "heap": {
                "python": {"minor": sys.version_info[1], "micro": sys.version_info[2]},
                "step": _step(),
                "objects": self.objects,
                "bytes": sum(told["keeps"] for told in holders),
                "holders": holders,
            },
        }

    def _tell(self) -> None:
        """What grows for sure is said once, as a line in the recording."""
        said = sum(held.told for held in self.growing)
        for held in self.growing:
            sure = held.rises >= RISES_TO_TELL and held.grew_bytes >= WORTH_A_NOTE
            if sure and not held.told and said < MOST_NOTES:
                held.told = True
                said += 1
                _marks.note(words(held))


_CLOSED = Opened()


def _step() -> Optional[int]:
    step = _marks.current().get("step")
    return step if type(step) is int and step >= 0 else None


def describe(held: Held) -> Dict[str, Any]:
    """As `Holder` in the program's `look/heap.rs`."""
    kept = held.kept or _sizes.Kept(0, [])
    told: Dict[str, Any] = {
        "name": held.place.name()[:LONGEST_NAME],
        "path": [step[:LONGEST_NAME] for step in held.place.path()],
        "kind": held.kind,
        "length": held.length,
        "keeps": kept.bytes,
        "of": [{"name": group.name[:LONGEST_NAME], "count": group.count, "bytes": group.bytes} for group in kept.groups],
        "address": held.address,
    }
    if held.ends:
        told["ends"] = held.ends
    if held.lines:
        told["adds"] = held.lines
    if held.grew > 0:
        told["grew"] = {"length": held.grew, "since_step": held.first_step, "rises": held.rises, "falls": held.falls}
    return told


def words(held: Held) -> str:
    """For people: `train.CACHE (list) grew from 12 to 512 since step 40 (+1 a step), some 65.5 MB`."""
    since = "" if held.first_step is None else " since step %d" % held.first_step
    pace = held.per_step()
    rate = "" if pace is None else " (+%.3g a step)" % pace
    text = "from inside: %s (%s) grew from %d to %d%s%s, some %s" % (
        held.place.name()[:LONGEST_NAME],
        held.kind,
        held.first_length,
        held.length,
        since,
        rate,
        _host.size(held.grew_bytes),
    )
    for end in held.ends:
        text += "; may end at %d (%s)" % (end["at"], end.get("attribute") or end.get("of") or end["kind"])
    for line in held.lines[:1]:
        text += "; its items are made at %s:%d" % (line["file"], line["line"])
    return text
