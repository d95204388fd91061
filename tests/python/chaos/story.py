"""A scenario as data: the same seed tells the same story on every machine."""

import dataclasses
import random
from typing import List, Optional, Tuple

# What a job's memory does. Of these `leak` alone may be called a leak.
KINDS = ("flat", "warm", "teeth", "workers", "shm", "leak")
# Steps of an epoch: verdicts that accuse need the end of one, so every job has several.
EPOCH = 24

# Each has a function of its name in `faults`.
KILLS = ("kill-watcher", "kill-keeper")
STOPS = ("stop-watcher", "stop-keeper")
DISKS = ("disk-full", "disk-read-only", "disk-broken", "disk-slow", "disk-hangs")
LIMITS = ("memory-hog", "limit-lower", "limit-higher")
LOST = ("lost-socket", "lost-page", "lost-folder")
OTHERS = ("fork-storm", "clock-forward", "clock-back", "judged-meanwhile")
DURING = KILLS + STOPS + DISKS + LIMITS + LOST + OTHERS
# Done to copies of the recording when the run is over.
AFTER = ("truncated", "flipped")


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    at: int  # the step at which it begins
    until: Optional[int]  # the step at which it ends; none: it stays

    def __str__(self):
        if self.until is None:
            return "step %d: %s" % (self.at, self.name)
        return "steps %d to %d: %s" % (self.at, self.until, self.name)


@dataclasses.dataclass(frozen=True)
class Story:
    seed: int
    kind: str
    steps: int
    code: int  # what the job ends with
    marks: bool  # it talks to lowtide, or only prints its steps
    guard: bool
    output: str  # where its output goes: `file` (inherited) or `pipe` (the keeper copies)
    home: bool  # the recording goes to LOWTIDE_HOME, or where `-o` says
    runtime: bool  # there is an XDG_RUNTIME_DIR, or /tmp has to do
    faults: Tuple[Fault, ...]
    after: Tuple[str, ...]

    @property
    def limited(self):
        """It leaks in a group with a limit that does not let it finish without a guard."""
        return self.guard and self.kind == "leak"

    @property
    def harmless(self):
        return self.kind != "leak"

    def has(self, *names):
        return any(fault.name in names for fault in self.faults)

    @property
    def grouped(self):
        return self.limited or self.has(*LIMITS)

    def told(self):
        """The story in words."""
        lines = [
            "seed %d: a job of the kind `%s`, %d steps of %d an epoch, ends with %d, %s"
            % (self.seed, self.kind, self.steps, EPOCH, self.code, "marks" if self.marks else "prints its steps"),
            "  under `run%s`, output to a %s, recording in %s, %s"
            % (
                " --guard" if self.guard else "",
                self.output,
                "LOWTIDE_HOME" if self.home else "-o DIR",
                "XDG_RUNTIME_DIR" if self.runtime else "/tmp",
            ),
        ]
        lines += ["  %s" % fault for fault in self.faults]
        lines += ["  afterwards: the recording %s" % name for name in self.after]
        return "\n".join(lines)


def of(seed):
    """The story of a seed. Its first fault goes round, so that any thirty seeds in a row have met every one."""
    dice = random.Random(seed)
    first = (DURING + AFTER)[seed % len(DURING + AFTER)]
    kind = dice.choice(KINDS)
    guard = dice.random() < 0.5
    steps = EPOCH * dice.randint(3, 5)
    names = [first] + [dice.choice(DURING) for _ in range(dice.choice((0, 0, 1, 2)))]
    during = []
    for name in names:
        # One disk and one limit at a time: two of them would only hide each other.
        family = next((family for family in (DISKS, LIMITS, LOST) if name in family), (name,))
        if name in DURING and not any(known.name in family for known in during):
            during.append(_fault(dice, name, steps))
    after = tuple(name for name in AFTER if name == first or dice.random() < 0.3)
    return Story(
        seed=seed,
        kind=kind,
        steps=steps,
        code=dice.choice((0, 0, 0, 3)),
        # A guard asks by marks; a job that only prints would be stopped by signals and lose steps by design.
        marks=guard or dice.random() < 0.6,
        guard=guard,
        output=dice.choice(("file", "pipe")),
        home=dice.random() < 0.5,
        runtime=dice.random() < 0.7,
        faults=tuple(sorted(during, key=lambda fault: fault.at)),
        after=after,
    )


def _fault(dice, name, steps):
    at = dice.randint(1, steps - 10)
    if name in DISKS and dice.random() < 0.2:
        at = 0  # before lowtide starts
    lasts = dice.randint(2, 25)
    stays = name in KILLS + LOST or name.startswith("clock") or name in ("fork-storm", "judged-meanwhile")
    # A disk that hangs is answered in the end: a kernel would not let go of the process before.
    heals = name in STOPS or name in ("disk-hangs", "memory-hog") or dice.random() < 0.5
    return Fault(name, at, None if stays or not heals else min(at + lasts, steps - 2))


def cover(seeds) -> List[str]:
    """The faults that none of these seeds meets."""
    met = set()
    for seed in seeds:
        story = of(seed)
        met.update(fault.name for fault in story.faults)
        met.update(story.after)
    return [name for name in DURING + AFTER if name not in met]
