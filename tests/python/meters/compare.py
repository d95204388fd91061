"""Holder meters against the truth: programs that were written by somebody who did
not know the reader.

    python tests/python/meters/compare.py [PROGRAMS] [--python PATH] [--from SEED]

Five programs run in one process, which stands still at each look. A census finds their containers; after every few steps
each is read again from outside, and what was read is held to what the program says is in that slot. Then they run at full
speed, and what is read has to be a length that was there meanwhile. Prints how many readings were right, how many slots
were not read (silent), and every one that was wrong. It takes
`cargo build -p lowtide-census --example meters`.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
METERS = HERE.parents[2] / "target" / "debug" / "examples" / "meters"
HOST = HERE / "host.py"
TOGETHER = 5
# A census in the middle: from then on those that it finds are followed, and the ones before as far as they are there.
AGAIN = 12
LOOKS = 24
# Readings while they run, and times that they are let run.
BESIDE = 8
RUNS = 3


class Lines:
    """A process that answers every line with one of JSON."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)

    def answer(self):
        line = self.process.stdout.readline()
        assert line, "it ended"
        return json.loads(line)

    def ask(self, line):
        self.tell(line)
        return self.answer()

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def slots(answer):
    """By seed and label: the address, type and length of what is there now."""
    return {(seed, label): one for seed, all in answer["slots"].items() for label, one in all.items()}


class Followed:
    """Which slots a meter may be of. Two names may lead to one container: it is read by one of them, always the same."""

    def __init__(self):
        self.of = {}

    def census(self, holders, truth):
        known = {holder["address"]: holder["name"] for holder in holders["holders"]}
        for key, one in truth.items():
            if one and one["id"] in known:
                self.of.setdefault((known[one["id"]], one["id"]), set()).add(key)

    def check(self, readings, truth):
        for one in readings["readings"]:
            slots = self.of.get((one["name"], one["address"]))
            if not slots:
                continue
            reading = one["reading"]
            if reading is None:
                there = all(truth[slot] for slot in slots)
                yield ("silent" if there else "rightly silent"), one, None
                continue
            fits = {slot for slot in slots if truth[slot] and truth[slot]["len"] == reading["length"]}
            if fits:
                self.of[one["name"], one["address"]] = fits
                yield "right", one, None
            else:
                yield "wrong", one, {slot: truth[slot] for slot in slots}

    def check_beside(self, readings, ranges):
        for one in readings["readings"]:
            slots = self.of.get((one["name"], one["address"]))
            if not slots:
                continue
            reading = one["reading"]
            if reading is None:
                absent = any(ranges[slot]["absent"] for slot in slots)
                yield ("rightly silent" if absent else "silent while it runs"), one, None
                continue
            was = {slot: ranges[slot] for slot in slots}
            fits = any(one["min"] is not None and one["min"] <= reading["length"] <= one["max"] for one in was.values())
            yield ("right while it runs" if fits else "wrong"), one, was


def ranges(answer):
    return {(seed, label): one for seed, all in answer["range"].items() for label, one in all.items()}


def compare(command, seeds, stride=3, environment=None):
    """Programs of these seeds, started by a command that ends with the host."""
    found, wrong, silent, times = Counter(), [], Counter(), []
    with Lines([*command, *map(str, seeds)], env=environment) as host:
        truth = slots(host.answer())
        with Lines([METERS, str(host.process.pid)]) as meters:
            followed = Followed()
            followed.census(meters.answer(), truth)
            for look in range(LOOKS):
                truth = slots(host.ask(f"step {1 + (look * stride) % 7}"))
                if look == AGAIN:
                    followed.census(meters.ask("census"), truth)
                readings = meters.ask("")
                times.append(readings["micros"])
                checked = followed.check(readings, truth)
                note(found, wrong, silent, seeds, look, checked)
            for run in range(RUNS):
                host.tell("free")
                beside = [meters.ask("") for _ in range(BESIDE)]
                was = ranges(host.ask(""))
                for readings in beside:
                    note(found, wrong, silent, seeds, f"run {run}", followed.check_beside(readings, was))
    seen = set().union(*followed.of.values()) if followed.of else set()
    found["slots"] += len(truth)
    found["followed"] += len(seen)
    return found, wrong, silent, times


def note(found, wrong, silent, seeds, look, checked):
    for what, one, was in checked:
        found[what] += 1
        if what == "wrong":
            wrong.append((seeds, look, one, was))
        if what.startswith("silent"):
            silent[one["name"]] += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="?", type=int, default=500)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--from", dest="first", type=int, default=0)
    options = parser.parse_args()
    all_found, all_silent, all_times = Counter(), Counter(), []
    for first in range(options.first, options.first + options.programs, TOGETHER):
        seeds = range(first, min(first + TOGETHER, options.first + options.programs))
        found, wrong, silent, times = compare([options.python, HOST], seeds)
        all_found += found
        all_silent += silent
        all_times += times
        for seeds, look, one, was in wrong:
            print("wrong:", seeds, "look", look, one, "truth", was, flush=True)
    times = sorted(all_times)
    print(dict(all_found), f"{times[len(times) // 2]:.0f} us a reading of all, {times[-1]:.0f} at most")
    for name, count in all_silent.most_common(20):
        print("  silent", count, name)


if __name__ == "__main__":
    main()
