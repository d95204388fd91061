"""Does a look slow the process that it looks into? A busy target of 1 GB does the same piece of work
again and again, every second time under a look; the ratio of the two times, with its interval.

    cargo build --release -p bench-cost --bin look
    python3 bench/explain/slowed.py [--look target/release/look] [--pairs 60]

Two kinds of work: `compute` touches memory that is there; `faults` maps, fills and returns memory all
the time, which needs the lock that a reader of /proc/PID/smaps holds too: the worst case. Pairs are
interleaved, in random order, so that other load hits both alike. A look also takes a core for its own
time: give it one that the target does not need, or the ratio shows that as well.
"""

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESAMPLES = 4000

TARGET = """
import mmap, sys, time
held = [bytes([i % 251 + 1]) * 9000 for i in range(int(sys.argv[1]) // 9000)]

def compute():
    total = 0
    for block in held[:40000]:
        total += block[17] + len(block)
    return total
def faults():
    for _ in range(40):
        piece = mmap.mmap(-1, 4 << 20)
        for at in range(0, 4 << 20, 4096):
            piece[at] = 1
        piece.close()
kinds = {"compute": compute, "faults": faults}
print("ready", flush=True)
for line in sys.stdin:
    kind, until = line.split()
    work, began, done = kinds[kind], time.perf_counter(), 0
    while done < int(until):
        work()
        done += 1
    print(time.perf_counter() - began, flush=True)
"""


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--look", default=str(ROOT / "target" / "release" / "look"))
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--bytes", type=int, default=1_000_000_000)
    return parser.parse_args()


class Target:
    def __init__(self, size):
        self.job = subprocess.Popen(
            [sys.executable, "-c", TARGET, str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.job.stdout.readline()

    def ask(self, kind, turns):
        self.job.stdin.write("%s %d\n" % (kind, turns))
        self.job.stdin.flush()

    def took(self):
        return float(self.job.stdout.readline())


def middle(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def interval(ratios):
    drawn = sorted(middle(random.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES)]


def main():
    chosen = options()
    random.seed(1)
    target = Target(chosen.bytes)
    look = [chosen.look, str(target.job.pid)]
    first = json.loads(subprocess.run(look, check=True, capture_output=True, text=True).stdout)
    print("one look at %.2f GB: %.2f s of CPU" % (first["held"] / 1e9, first["cost"]["cpu"]))
    for kind in ("compute", "faults"):
        # A piece of work takes about three times as long as a look: all of it lies within.
        target.ask(kind, 1)
        one = target.took()
        turns = max(1, round(3 * first["cost"]["cpu"] / one))
        ratios, looks = [], []
        for _ in range(chosen.pairs):
            times = {}
            for looked in random.sample([True, False], 2):
                target.ask(kind, turns)
                watcher = subprocess.Popen(look, stdout=subprocess.PIPE, text=True) if looked else None
                times[looked] = target.took()
                if watcher:
                    looks.append(json.loads(watcher.communicate()[0])["cost"]["wall"])
            ratios.append(times[True] / times[False])
        low, high = interval(ratios)
        # The work outside the look dilutes it: scale to what a look's own time costs.
        share = middle(looks) / (turns * one)
        print(
            "%-8s %d pairs: with a look %.3f times as long (95 %%: %.3f to %.3f); the look takes %.0f %% of that time"
            % (kind, len(ratios), middle(ratios), low, high, 100 * min(1, share))
        )
    target.job.stdin.close()
    target.job.wait()


if __name__ == "__main__":
    main()
