"""What explain counts in a real process: a loop that keeps one tensor of [64, 512] a step."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

JOB = Path(__file__).parent / "jobs" / "features.py"


def explained(program, environment, folder, loop):
    """The lines that explain says of blocks and tensors, by their names; and all it prints."""
    recording = folder / "recording"
    done = subprocess.run(
        [program, "run", "-o", str(recording), "--", sys.executable, str(JOB), loop],
        env=environment, cwd=folder, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    found = subprocess.run([program, "explain", "--json", str(recording)], capture_output=True, text=True)
    memory = json.loads(found.stdout)["explanation"]["memory"]
    assert memory is not None, found.stdout
    text = subprocess.run([program, "explain", str(recording)], capture_output=True, text=True).stdout
    return {line["name"]: line for line in memory["counted"]}, " ".join(text.split())


@pytest.mark.parametrize(
    "loop, room",
    [
        ("printed", "room for 32,768 float32"),
        ("marked", "room for 32,768 float32 (512 for each of the 64 examples of a batch)"),
        ("trainer", "the size of float32[64x512]"),
    ],
)
def test_one_block_a_step_is_counted(program, environment, tmp_path, loop, room):
    counted, text = explained(program, environment, tmp_path, loop)
    kept = counted.get("blocks of 131,072 B")
    assert kept, counted
    # Never a wrong number: one a step is kept, whatever else the looks leave open.
    assert kept["low"] <= 1 <= kept["high"], kept
    assert kept["driver"] == "step" and room in kept["says"], kept
    assert kept["says"] in text
    width = (kept["high"] - kept["low"]) / kept["per_unit"]
    assert width < 0.12 if "one a step" in kept["says"] else width > 0.08, kept
    if loop == "trainer":
        # Both counted the same: they are one line.
        assert "such tensors" in kept["says"] and "tensors float32[64x512]" not in counted, counted
        assert kept["shape"] == "float32[64x512]"
