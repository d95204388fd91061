"""Judges the steps of a recording by the program's own log (`truth.py`): right, doubtful, wrong or none.

A mark is right if its step is what a counter of the program was at that time. A counter may be read before it is
logged and the other way round, so the neighbours count too, and what is within `slack` seconds; what a bar shows lags behind by
its refresh, and both what it holds and what is done are true. Where nothing in the process tells which epoch it is,
a constant number of whole epochs may be missing. Doubtful is what nobody could tell from outside: a bar that is made
anew may be another epoch or another training, and its total that of either. One counter has to explain all marks: another one may take over
only where a loop began or ended.

    python judge.py LOG MARKS.jsonl      prints what was found
"""

import bisect
import json
import math
import sys
import time
from dataclasses import dataclass, field
from datetime import datetime

# How far the time of a mark may be from the time of the line in the log: both processes wait for a core.
SLACK = 0.1
# A loop that is over may still be told as it ended, so long: until the reader has found that out.
GRACE = 2.5
NOTHING = {"right": 0, "doubtful": 0, "wrong": 0, "none": 0}


@dataclass
class Counter:
    name: str
    began: float
    total: list
    epoch: list
    ahead: int
    restarts: bool
    standing: str
    start: int
    looks_like: list = None
    anew: bool = False
    # Steps of earlier trainings by the same loop, on top of which these may be counted.
    carried: int = 0
    ended: float = math.inf
    steps: list = field(default_factory=list)
    shown: list = field(default_factory=list)

    def between(self, at, slack):
        """The smallest and largest number that may be told at that time, or None."""
        if at + slack < self.began or at - slack > self.ended + GRACE:
            return None
        # A program that waits for a core between a step and its line is read in between: one line off is the same time.
        index = bisect.bisect_right(self.steps, (at, math.inf))
        last = max(_value(self.steps, at + slack, self.start), _at(self.steps, index, self.start))
        if at - slack > self.ended:
            return (last, last)
        low = min(_value(self.steps, at - slack, self.start), _at(self.steps, index - 2, self.start))
        if self.shown:
            low = min(low, _value(self.shown, at - slack, self.start))
        return low, last + self.ahead

    def explains(self, at, step, slack):
        """{(epochs that are missing in `step`, what was carried on from before)} for which it is what was true."""
        between = self.between(at, slack)
        if between is None:
            return set()
        low, high = between
        fitting = set()
        for carried in {0, self.carried}:
            if low <= step - carried <= high:
                fitting.add((0, carried))
            for length in self.epoch or [] if self.restarts else []:
                first = max(0, math.ceil((low - step + carried) / length))
                fitting |= {(n, carried) for n in range(first, math.floor((high - step + carried) / length) + 1)}
        return fitting


def _value(pairs, at, start):
    """What was true at that time."""
    return _at(pairs, bisect.bisect_right(pairs, (at, math.inf)) - 1, start)


def _at(pairs, index, start):
    if index < 0 or not pairs:
        return start
    return pairs[min(index, len(pairs) - 1)][1]


class Log:
    """What the program wrote. Times are seconds of the wall clock, as the recording has them."""

    def __init__(self, lines):
        self.counters, self.phases, self.pids = {}, [], []
        # The wall clock may have been set since; both offsets are known, and a mark may be off by what is between.
        self.now = time.time() - time.monotonic()
        offset, older = self.now, {}
        for line in lines:
            if not line.endswith("\n"):
                break  # killed while it wrote
            ns, word, rest = line.rstrip("\n").split(" ", 2)
            at = int(ns) / 1e9 + offset
            if word == "about":
                about = json.loads(rest)
                offset = (about["wall"] - int(ns)) / 1e9
                self.pids.append(about["pid"])
            elif word == "counter":
                name, told = rest.split(" ", 1)
                if name in self.counters:
                    # The same loop once more: a counter of its own.
                    older[name] = older.get(name, 0) + 1
                    before = self.counters.pop(name)
                    before.ended = min(before.ended, at)
                    self.counters["%s#%d" % (name, older[name])] = before
                self.counters[name] = counter = Counter(name, at, **json.loads(told))
                if name in older and not counter.anew:
                    counter.carried = before.carried + _value(before.steps, math.inf, before.start) - before.start
            elif word in ("step", "shown"):
                name, value = rest.split()
                counter = self.counters[name]
                (counter.steps if word == "step" else counter.shown).append((at, int(value)))
            elif word == "end":
                self.counters[rest].ended = at
            elif word == "phase":
                self.phases.append((at, rest))
        self.drift = abs(offset - self.now)

    @classmethod
    def read(cls, path):
        with open(path) as file:
            return cls(file.readlines())

    def changed(self, after, until):
        """Whether a loop began or ended between these times."""
        moments = [moment for counter in self.counters.values() for moment in (counter.began, counter.ended)]
        return any(after <= moment <= until for moment in moments)


@dataclass
class Found:
    """What a recording is worth. `why` has a line for all that is wrong, `by` counts which counter was told."""

    marks: int = 0
    right: int = 0
    doubtful: int = 0
    wrong: int = 0
    totals: dict = field(default_factory=lambda: dict(NOTHING))
    epochs: dict = field(default_factory=lambda: dict(NOTHING))
    progress: dict = field(default_factory=lambda: dict(NOTHING))
    why: list = field(default_factory=list)
    by: dict = field(default_factory=dict)

    @property
    def word(self):
        if self.wrong or self.totals["wrong"] or self.epochs["wrong"] or self.progress["wrong"]:
            return "wrong"
        if not self.marks:
            return "none"
        unsure = self.doubtful or any(counted["doubtful"] for counted in (self.totals, self.epochs, self.progress))
        return "doubtful" if unsure else "right"

    def __str__(self):
        counts = "%d right, %d doubtful, %d wrong of %d" % (self.right, self.doubtful, self.wrong, self.marks)
        rest = ", ".join(
            "%s %s" % (name, "/".join("%d %s" % (n, word) for word, n in counted.items() if n) or "-")
            for name, counted in (("totals", self.totals), ("epoch lengths", self.epochs), ("epochs", self.progress))
        )
        why = "".join("\n    " + line for line in self.why[:8])
        return "%s (%s; %s; by %s)%s" % (self.word, counts, rest, self.by, why)


def time_of(mark):
    return datetime.fromisoformat(mark["time"].replace("Z", "+00:00")).timestamp()


def judge(log, marks, source="memory", slack=SLACK):
    """Judges marks as `lowtide export --what marks --format jsonl` writes them."""
    slack += log.drift
    found = Found()
    alive, group, before = None, [], -math.inf
    for mark in marks:
        if mark["source"] != source or mark["step"] is None:
            continue
        found.marks += 1
        at, step = time_of(mark), mark["step"]
        fitting = {
            (name, *how)
            for name, counter in log.counters.items() if counter.standing != "wrong"
            for how in counter.explains(at, step, slack)
        }
        if not fitting:
            found.wrong += 1
            found.why.append(_no_counter(log, at, step, slack))
            continue
        if alive is None or not alive & fitting:
            if alive is not None and not log.changed(before - GRACE, at + slack):
                found.wrong += 1
                found.why.append("step %d at %.3f fits %s, but marks before it were %s, and no loop began or ended"
                                 % (step, at, sorted(fitting)[:4], sorted(alive)[:4]))
                # Judged on by what it is now: one jump is one wrong mark.
                _close(log, found, alive, group, slack)
                alive, group, before = fitting, [], at
                continue
            _close(log, found, alive, group, slack)
            alive, group = fitting, []
        alive, before = alive & fitting, at
        group.append(mark)
    _close(log, found, alive, group, slack)
    return found


def _close(log, found, alive, group, slack):
    """Counts marks that one counter explains, and judges what else they tell by that counter."""
    if not group:
        return
    counters = [(log.counters[name], missing, carried) for name, missing, carried in alive]
    sure = any(counter.standing == "right" and not carried for counter, _, carried in counters)
    word = "right" if sure else "doubtful"
    setattr(found, word, getattr(found, word) + len(group))
    for name in sorted({counter.name for counter, _, _ in counters}):
        found.by[name] = found.by.get(name, 0) + len(group)
    totals = {
        total - gone + carried for counter, missing, carried in counters for total in counter.total or []
        for gone in {0} | {missing * length for length in counter.epoch or []}
    }
    lengths = {length for counter, _, _ in counters for length in counter.epoch or []}
    # Seen from outside, a bar that was made anew may have the total of an epoch.
    looks = {length for counter, _, _ in counters for length in counter.looks_like or []}
    looks_epoch = looks | {total for counter, _, carried in counters if carried for total in counter.total or []}
    for mark in group:
        _count(found, found.totals, "total", mark["total_steps"], totals, looks)
        _count(found, found.epochs, "epoch length", mark["epoch_steps"], lengths, looks_epoch)
        _count_epoch(found, mark, counters, slack)


def _count(found, counted, what, told, true, looks):
    if not told:  # nothing, or a nought that takes back what was told
        counted["none"] += 1
    elif any(abs(told - value) < 0.01 for value in true):
        counted["right"] += 1
    elif any(abs(told - value) < 0.01 for value in looks):
        counted["doubtful"] += 1
    else:
        counted["wrong"] += 1
        found.why.append("%s %s, true is %s" % (what, told, sorted(true) or "that there is none"))


def _count_epoch(found, mark, counters, slack):
    told = mark["epoch"]
    if told is None:
        found.progress["none"] += 1
        return
    at, true, looks = time_of(mark), [], []
    for counter, missing, carried in counters:
        low, high = counter.between(at, slack)
        for length in counter.epoch or []:
            # One step of play: an epoch is told before, in or after its step.
            true.append(((low - 1 + carried) / length - missing, (high + 1 + carried) / length - missing))
        for length in (counter.looks_like or []) + (counter.total or []):
            looks.append(((low - 1 + carried) / length - missing, (high + 1 + carried) / length - missing))
    if any(_is_epoch(told, *pair) for pair in true):
        found.progress["right"] += 1
    elif any(_is_epoch(told, *pair) for pair in looks):
        found.progress["doubtful"] += 1
    else:
        found.progress["wrong"] += 1
        found.why.append("epoch %s at step %s, true is %s" % (told, mark["step"], ["%.3f to %.3f" % pair for pair in true]))


def _is_epoch(told, low, high):
    """The fraction that is done, or the number of whole ones."""
    return low - 1e-6 <= told <= high + 1e-6 or (told == int(told) and math.floor(low) <= told <= math.floor(high))


def _no_counter(log, at, step, slack):
    values = {name: counter.between(at, slack) for name, counter in log.counters.items()}
    taken = [name for name, counter in log.counters.items() if counter.standing == "wrong" and counter.explains(at, step, slack)]
    was = ", ".join("%s %d to %d" % (name, *pair) for name, pair in values.items() if pair) or "no loop at that time"
    return "step %d at %.3f%s: %s" % (step, at, " is taken from %s" % taken if taken else "", was)


def main():
    with open(sys.argv[2]) as file:
        marks = [json.loads(line) for line in file]
    source = sys.argv[3] if len(sys.argv) > 3 else "memory"
    print(judge(Log.read(sys.argv[1]), marks, source))


if __name__ == "__main__":
    main()
