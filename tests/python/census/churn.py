"""Censuses of a process that makes and frees objects at full speed, and what they are worth.

    python tests/python/census/churn.py [COUNT [WORD...]]

takes COUNT (50) censuses without a stop and as many with one, of churning.py on every CPython of this machine whose
name has one of the words, and prints a row for each. It takes `cargo build --release`, or LOWTIDE_BIN.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

TARGET = HERE / "churning.py"
PROGRAM = os.environ.get("LOWTIDE_BIN") or str(HERE.parents[2] / "target" / "release" / "lowtide")


class Churn:
    """Many censuses of one process, against what it says itself before and after."""

    def __init__(self, command, environment, count, stop, program=PROGRAM):
        self.count, self.censuses, self.failed = count, [], []
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as job:
            try:
                before = json.loads(job.stdout.readline())
                for _ in range(count):
                    self.take([program, "census", str(job.pid), "--json", *(["--stop"] if stop else [])])
                after = json.loads(job.communicate("\n", timeout=120)[0])
            finally:
                job.kill()
        assert job.returncode == 0 and before["kept"] == after["kept"], (job.returncode, after)
        self.kept, self.collected = after["kept"], after["collected"]
        self.names = {*before["names"], *after["names"]}

    def take(self, command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            self.censuses.append(json.loads(done.stdout))
        else:
            self.failed.append((done.returncode, done.stderr.strip()))

    def torn(self):
        """Of each census; lists of the collector that did not lead back are among them."""
        return [one["heap"]["unaccounted"]["torn"]["count"] for one in self.censuses]

    def late(self):
        return [one["heap"]["unaccounted"]["late"]["count"] for one in self.censuses]

    def stops(self):
        """Milliseconds."""
        return [one["heap"]["stopped"] * 1000 for one in self.censuses if one["heap"].get("stopped")]

    def false_names(self):
        """Types that were told and are none of the process."""
        told = {name for one in self.censuses for name in types(one)}
        return sorted(told - self.names)

    def errors(self):
        """{kept class: the worst that was told of it, as a share of what is true}"""
        found = [types(one) for one in self.censuses]
        return {
            name: max((abs(one.get(name, 0) - count) / count for one in found), default=1)
            for name, count in self.kept.items()
        }


def types(census):
    [parts] = [each["parts"] for each in census["breakdowns"] if each["by"] == "python-type"]
    return {part["name"]: part["count"] for part in parts}


def on(interpreter, how="alone"):
    """The command and the environment for an interpreter of tests/python/interpreters.py."""
    return interpreter.command(TARGET, how), interpreter.environment()


def both(values, form="%d"):
    return "%s / %s" % (form % statistics.median(values), form % max(values)) if values else "-"


def main(count, words):
    from interpreters import plain_cpythons

    head = ("interpreter", "churn", "stop", "ended", "torn", "late", "worst count", "false names", "stop ms", "full collections")
    row = "%-32s %-8s %-5s %9s %14s %11s %12s %12s %14s %17s"
    print(row % head)
    chosen = [one for one in plain_cpythons() if not words or any(word in str(one) for word in words)]
    jobs = [(str(one), how, on(one, how)) for one in chosen for how in ("alone", "threads")]
    if not words or "torch" in words:
        here = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        jobs.append(("torch and transformers", "torch", ([sys.executable, str(TARGET), "torch"], here)))
    for name, how, job in jobs:
        for stop in (False, True):
            one = Churn(*job, count, stop)
            print(row % (
                name, how, "yes" if stop else "no", "%d of %d" % (len(one.censuses), count), both(one.torn()),
                both(one.late()), "%.2f %%" % (100 * max(one.errors().values())), len(one.false_names()),
                both(one.stops(), "%.1f"), one.collected,
            ), flush=True)
            for what in [*one.failed[:3], *one.false_names()[:5]]:
                print("    ", what)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 50, sys.argv[2:])
