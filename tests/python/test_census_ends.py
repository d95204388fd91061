"""What may end a holder is told where the process says so, and not where its own code says otherwise."""

import json
import subprocess
from pathlib import Path

import pytest
from interpreters import plain_cpythons

JOB = Path(__file__).resolve().parent / "census" / "ends.py"

EXPECTED = {
    "Cache.pixels of ends.cache": {"kind": "keys", "of": "names", "at": 300},
    "Slots.rows of ends.slots": {"kind": "slots", "filled": 150, "of": 300},
    "Buffer.items of ends.buffer": {"kind": "declared", "attribute": "capacity", "at": 200},
    "ends.WINDOW": {"kind": "max-len", "of": "deque", "at": 500},
}
# They grow, and nothing ends that.
OPEN = ("Follows.features of ends.follows", "Appends.rows of ends.appends", "Passed.items of ends.passed")


@pytest.mark.parametrize("interpreter", [one for one in plain_cpythons() if not one.build], ids=str)
def test_ends(interpreter, program):
    job = subprocess.Popen(
        interpreter.command(JOB), env=interpreter.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert job.stdout.readline() == "ready\n"
        done = subprocess.run([program, "census", str(job.pid), "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    finally:
        job.kill()
        job.communicate()
    holders = {one["name"]: one for one in json.loads(done.stdout)["heap"]["holders"]}
    told = {name: holders[name].get("ends", []) for name in [*EXPECTED, *OPEN]}
    assert told == {**{name: [end] for name, end in EXPECTED.items()}, **{name: [] for name in OPEN}}
    sizes = [end["kind"] for one in holders.values() for end in one.get("ends", [])]
    assert "cache-size" in sizes and "queue-size" in sizes, sizes
