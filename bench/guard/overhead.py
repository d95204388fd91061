"""What guarding costs the job: the same work bare, under `lowtide run` and under `lowtide run --guard`.

    cargo build --release -p lowtide
    python bench/guard/overhead.py [--rounds 10]

The job is a loop of fixed work in plain Python that marks every step (ten milliseconds or so) and asks
`lowtide.guard()`. The three take turns. Printed are the medians of the loop's wall time and of its own
processor time, and the ratios of the medians with 95 % intervals (bootstrap over rounds). On a busy machine the
processor time is the one to look at. Nothing here passes or fails.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("LOWTIDE_BIN") or ROOT / "target" / "release" / "lowtide"
STEPS = 200
# 2 MB of hashing is about ten milliseconds of work.
WORK = """
import hashlib, json, sys, time
import lowtide
piece = bytes(2_000_000)
wall, cpu = time.perf_counter(), time.process_time()
for step in range(1, %d + 1):
    hashlib.md5(piece).digest()
    hashlib.sha256(piece).digest()
    lowtide.mark(step=step, total_steps=%d)
    if lowtide.guard():
        sys.exit(1)
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]))
""" % (STEPS, STEPS)
ARMS = {"bare": None, "run": [], "run --guard": ["--guard", "--resume-arg", "--resume {checkpoint}"]}


def once(flags, folder):
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOWTIDE_")}
    env.update(PYTHONPATH=str(ROOT / "python"), LOWTIDE_HOME=folder + "/home", XDG_RUNTIME_DIR=folder)
    words = [sys.executable, "-c", WORK]
    if flags is not None:
        words = [str(PROGRAM), "run", "--quiet", *flags, "--", *words]
    done = subprocess.run(words, env=env, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def ratio(arm, base):
    """Of the medians, with its interval; rounds are drawn together, since they share the machine's mood."""
    pairs, random_ = list(zip(arm, base)), random.Random(1)
    drawn = []
    for _ in range(2000):
        chosen = random_.choices(pairs, k=len(pairs))
        drawn.append(statistics.median(a for a, _ in chosen) / statistics.median(b for _, b in chosen))
    drawn.sort()
    return statistics.median(arm) / statistics.median(base), drawn[50], drawn[-51]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    times = {name: [] for name in ARMS}
    with tempfile.TemporaryDirectory(prefix="lt-") as folder:
        for _ in range(rounds):
            for name, flags in ARMS.items():
                times[name].append(once(flags, folder))
    for index, what in enumerate(["wall time", "processor time"]):
        of = {name: [each[index] for each in times[name]] for name in ARMS}
        print("%s of %d steps, median of %d: %s" % (
            what, STEPS, rounds, ", ".join("%s %.3f s" % (name, statistics.median(of[name])) for name in ARMS)))
        for arm, base in [("run", "bare"), ("run --guard", "bare"), ("run --guard", "run")]:
            print("  %-11s / %-4s %.3f (%.3f to %.3f)" % (arm, base, *ratio(of[arm], of[base])))


if __name__ == "__main__":
    main()
