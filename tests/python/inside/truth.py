"""A program's own log of what is true: which counters may be called "the step", and what each was at which time.

The file is text, one line at a time, flushed at every line, so that a program that is killed leaves what was true:

    MONOTONIC_NS about JSON            the first line: pid, and the wall clock at that time
    MONOTONIC_NS counter NAME JSON     a counter begins to exist (see `Truth.counter`)
    MONOTONIC_NS step NAME N           N steps of it are done
    MONOTONIC_NS shown NAME N          what the bar itself holds: it lags behind by its refresh
    MONOTONIC_NS end NAME              its loop is over
    MONOTONIC_NS phase WORD            train, eval or save
    MONOTONIC_NS epoch X               epochs that are done, with a fraction

Only the standard library, and nothing here looks like a bar or a trainer: the programs are read by lowtide.
"""

import json
import os
import sys
import time


class Truth:
    def __init__(self, path=None):
        self._file = open(path or os.environ["INSIDE_LOG"], "a", buffering=1)
        self._write("about", json.dumps({"pid": os.getpid(), "wall": time.time_ns(), "argv": sys.argv}))

    def _write(self, word, *rest):
        self._file.write(" ".join([str(time.monotonic_ns()), word, *map(str, rest)]) + "\n")

    def counter(
        self, name, total=None, epoch=None, ahead=0, restarts=False, standing="right", start=0, looks_like=None, anew=False
    ):
        """What may be said of this counter.

        total, epoch: all of its steps and those of an epoch; a list if several are true, None if there is none.
        ahead: how many steps that are not done yet may be counted (a loader counts the batch that is in work).
        restarts: nothing in the process tells which epoch it is, so counting may begin at any epoch.
        standing: "right"; "doubtful", if no one could tell it from steps; "wrong", if it must not be taken for steps.
        looks_like: what a bar without words shows as its total, be it that of an epoch or of all: no one could tell.
        anew: when a counter of that name was there before, something tells that this one begins anew.
        """
        self._write("counter", name, json.dumps({
            "total": _several(total), "epoch": _several(epoch), "ahead": ahead, "restarts": restarts,
            "standing": standing, "start": start, "looks_like": _several(looks_like), "anew": anew,
        }))

    def step(self, name, done, shown=None):
        if shown is not None:
            self.shown(name, shown)
        self._write("step", name, done)

    def shown(self, name, shown):
        self._write("shown", name, shown)

    def end(self, name):
        self._write("end", name)

    def phase(self, word):
        self._write("phase", word)

    def epoch(self, done):
        self._write("epoch", done)


def _several(value):
    return value if isinstance(value, list) or value is None else [value]
