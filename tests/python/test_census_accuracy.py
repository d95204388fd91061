"""A heap read from outside, compared with what the process says of itself: programs that were written by somebody who did
not know the reader, on every CPython of this machine. `python tests/python/census/accuracy.py` prints the whole table."""

import os

import pytest
from census.accuracy import HEAP, LEFT_OUT, PROGRAMS, measure, on
from interpreters import plain_cpythons

# As built by cargo's own tests.
pytestmark = pytest.mark.skipif(not HEAP.exists(), reason="cargo build -p lowtide-census --example heap")

# The other half has more objects, and is for the long tier.
QUICK = ("classes", "functions_gc", "subclasses", "suspended")
CHOSEN = [one for one in PROGRAMS if os.environ.get("LOWTIDE_FULL") == "1" or one.stem in QUICK]


@pytest.mark.parametrize("interpreter", [one for one in plain_cpythons() if not one.build], ids=str)
def test_objects_bytes_and_references_are_those_of_the_process(interpreter):
    assert len(CHOSEN) >= 4
    chosen = [one for one in CHOSEN if (interpreter.version, one.stem) not in LEFT_OUT]
    rows = [measure(*on(interpreter, program)) for program in chosen]
    for program, row in zip(chosen, rows):
        assert row["found"] == row["objects"], (program.stem, row["objects"] - row["found"])
        assert row["broken"] == 0
        # What Python's allocator gave out is found, and nothing is counted that is not there.
        assert 0.98 <= row["pymalloc"] <= 1, (program.stem, row["pymalloc"])
    total = {name: sum(row[name] for row in rows) for name in ("told", "missed", "false_edges", "ours", "told_bytes")}
    bytes_found = sum(row["bytes"] * row["told_bytes"] for row in rows) / total["told_bytes"]
    assert 0.99 <= bytes_found <= 1.01, bytes_found
    assert total["missed"] <= 0.005 * total["told"], [row["wrong"].most_common(3) for row in rows]
    assert total["false_edges"] <= 0.001 * total["ours"], [row["wrong"].most_common(3) for row in rows]
