"""The locked third of the zoo: jobs that keep memory in known ways, with the truth about each.

    python job.py list
    python job.py KIND --seed N --truth FILE [--seconds S] [--pace real|fast]

look.py draws how a job looks from outside, harmless.py and leaks.py what it keeps. Nothing here knows lowtide."""
import time

BEGAN = time.monotonic()

import argparse
import json
import os
import random
import sys

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import harmless
import leaks
from look import Look
from tools import shuffled

KINDS = {kind.__name__: kind for kind in harmless.KINDS + leaks.KINDS}


class Job:
    """What a kind may know of the job that it is part of."""

    def __init__(self, kind, seed, pace, seconds):
        self.look = Look(kind.__name__, seed, pace, kind.torch, kind.epochs is not None, seconds)
        self.seed, self.pace = seed, pace
        self.steps, self.base, self.say = self.look.steps, self.look.base, self.look.say
        self.kind = kind(self, random.Random(f"{kind.__name__}/{seed}/kept"))
        self.epoch_steps = self.kind.plan()
        self.times, self.orders = {}, {}

    def epoch(self, i):
        """The pass that step i is in, from 0 on, and the step's place in it."""
        return divmod(i - 1, self.epoch_steps)

    def batch(self, i, size):
        """The examples of step i, by index."""
        epoch, place = self.epoch(i)
        if epoch not in self.orders:
            self.orders = {epoch: shuffled(self.seed, epoch, self.epoch_steps * size)}
        return self.orders[epoch][place * size:(place + 1) * size]

    def truth(self, i):
        kind = self.kind
        settles, onset = kind.settles(), kind.onset
        rate = None
        if kind.leak and i > onset:
            rate = round((kind.kept - self.kept_at.get(onset, 0)) / (i - onset))
        return {"kind": type(kind).__name__, "family": kind.family, "seed": self.seed, "what": kind.what,
                "leak": kind.leak, "trap": kind.trap, "steps": self.steps, "epoch_steps": self.epoch_steps,
                "prints": self.look.words, "onset": onset, "settles": settles, "onset_seconds": self.at(onset),
                "settles_seconds": self.at(settles), "ends_growing": kind.grows_at_end(), "fills_in": kind.fills_in,
                "rate": rate, "pace": self.pace, "kept": kind.kept, "base": self.base, "at_step": i,
                "seconds": round(time.monotonic() - BEGAN, 2)}

    def at(self, step):
        return None if step is None or step not in self.times else round(self.times[step], 2)

    def run(self, path):
        self.look.start()
        self.kind.begin()
        self.times[0], self.kept_at = time.monotonic() - BEGAN, {0: 0}
        tenth = max(1, self.steps // 10)
        for i in range(1, self.steps + 1):
            self.look.before(i)
            self.times[i] = time.monotonic() - BEGAN
            self.kind.step(i)
            self.kept_at[i] = self.kind.kept
            self.look.after(i, self.epoch_steps)
            if i % tenth == 0 or i == self.steps:
                self.write(path, i)
        self.kind.finish()
        self.look.stop()

    def write(self, path, i):
        with open(path + ".new", "w") as file:
            json.dump(self.truth(i), file)
            file.write("\n")
        os.replace(path + ".new", path)


def main():
    if sys.argv[1:] == ["list"]:
        print(json.dumps([{"kind": name, "family": kind.family, "leak": kind.leak, "trap": kind.trap,
                           "torch": kind.torch, "epochs": kind.epochs is not None, "what": " ".join(kind.__doc__.split())}
                          for name, kind in KINDS.items()], indent=1))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--truth", required=True)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--pace", choices=["real", "fast"], default="fast")
    asked = parser.parse_args()
    Job(KINDS[asked.kind], asked.seed, asked.pace, asked.seconds).run(asked.truth)


if __name__ == "__main__":
    main()
