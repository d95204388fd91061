"""A census a second changes nothing for the process: its results are the same to the last bit, with a stop and without.

`LOWTIDE_FULL=1 pytest tests/python/test_census_unmoved.py` does so for a minute.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parent / "census" / "unmoved.py"
# Rounds take a fifth of a second at least.
ROUNDS = 300 if os.environ.get("LOWTIDE_FULL") == "1" else 60
EVERY = 1
# Fewer would show nothing; on a busy machine one with a stop takes some seconds.
LEAST = ROUNDS // 30


def run(environment, census=None):
    """What it printed, and how many censuses were taken."""
    taken = 0
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), str(ROUNDS)], env={**environment, "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as job:  # fmt: skip
        first = job.stdout.readline()
        while census:
            done = subprocess.run([*census, str(job.pid)], capture_output=True, text=True)
            try:
                job.wait(EVERY)
                break
            except subprocess.TimeoutExpired:
                # It runs: there was no reason to refuse.
                assert done.returncode == 0, done.stderr
                taken += 1
        rest, errors = job.communicate()
    assert (job.returncode, errors) == (0, "")
    return first + rest, taken


@pytest.fixture(scope="module")
def undisturbed():
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LOWTIDE_")}
    said, _ = run(clean)
    assert said.count("\n") == ROUNDS + 2
    return clean, said


@pytest.mark.parametrize("flags", [[], ["--stop"]], ids=["no-stop", "stop"])
def test_results_are_the_same_with_a_census_a_second(flags, program, undisturbed):
    environment, said = undisturbed
    again, taken = run(environment, [program, "census", "--json", *flags])
    assert again == said
    assert taken >= LEAST
