"""What reading a training loop's own objects costs, and what the loop notices of it.

    cargo build --release -p bench-cost
    .venv/bin/python bench/cost/inside.py [--rounds 5] [--steps 2000] [--objects 100000 500000]

Microseconds of one tick's read (median and 99th percentile), of a search over all objects, and the loop's own time
per step with and without being read twice a second, in turns: of a Trainer, whose state is an object, and of a plain loop
over a DataLoader, whose state is in frames (needs torch; named where it is left out). Nothing here passes or fails: the
machine's noise is part of the numbers.
"""
import argparse, importlib.util, json, statistics, subprocess, sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OURS = HERE.parents[1] / "target/release/inside"


class Job:
    def __init__(self, script, objects):
        command = [sys.executable, HERE / script, str(objects)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = str(self.process.pid)
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def begin(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()

    def took(self):
        return [float(word) for word in self.process.stdout.readline().split()]


def ours(job):
    return json.loads(subprocess.run([OURS, job.pid], check=True, capture_output=True, text=True).stdout)


def cost(name, script, objects, options):
    with Job(script, objects) as job:
        rows = [ours(job) for _ in range(options.rounds)]
        # While it is at work, as it always is.
        busy = []
        for _ in range(options.rounds):
            job.begin(options.steps)
            busy.append(ours(job))
            job.took()
    middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    working = {key: statistics.median(row[key] for row in busy) for key in busy[0]}
    per = middle["search_us"] / middle["objects"] * 1e5 / 1e3
    print(
        f"{name:<8}{middle['objects']:>9.0f} {middle['read_us']:>9.1f} {middle['read_p99_us']:>9.1f} {working['read_us']:>9.1f} "
        f"{working['read_p99_us']:>9.1f} {middle['search_us'] / 1e3:>9.1f} {per:>12.1f}"
    )


def noticed(name, script, options):
    alone, read = [], []
    with Job(script, options.objects[0]) as job:
        for _ in range(options.rounds):
            for times, watch in ((alone, False), (read, True)):
                watcher = subprocess.Popen([OURS, job.pid, "follow", "3600"]) if watch else None
                job.begin(options.steps)
                times.append(job.took())
                if watcher:
                    watcher.kill()
                    watcher.wait()
    for nth, what in enumerate(("median", "mean", "processor time")):
        without, with_us = (statistics.median(row[nth] for row in rows) for rows in (alone, read))
        print(f"a step of the {name}, {what}: {without:.1f} us alone, {with_us:.1f} us read 2x/s, {with_us / without:.4f} x")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--objects", type=int, nargs="+", default=[100_000, 500_000])
    options = parser.parse_args()
    print("                    read, idle (us)     read, busy (us)       search (ms)")
    print("          objects    median       p99    median       p99       all  per 100,000")
    jobs = [("Trainer", "inside_job.py", objects) for objects in options.objects]
    if importlib.util.find_spec("torch"):
        jobs.append(("loop", "inside_loop.py", options.objects[0]))
    else:
        print("left out: the plain loop (no torch here)")
    for job in jobs:
        cost(*job, options)
    for name, script in dict(job[:2] for job in jobs).items():
        noticed(name, script, options)


main()
