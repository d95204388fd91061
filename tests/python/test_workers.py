"""A leak in loader workers under a loop that prints a bar over epochs and nothing else, with the real torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("tqdm")

JOB = Path(__file__).resolve().parent / "jobs" / "epoch_bar.py"
# Long enough that a worker is looked into twice: looks are twelve seconds apart at first.
EPOCHS, EXAMPLES, KEPT = 120, 16, 400 << 10


def ask(program, verb, folder, *flags):
    done = subprocess.run([program, verb, str(folder), *flags], capture_output=True, text=True)
    assert done.returncode in (0, 1, 3), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers") / "run"
    done = subprocess.run(
        [program, "run", "-o", str(folder), "--", sys.executable, "-W", "ignore", str(JOB), "--epochs", str(EPOCHS)],
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_the_worker_that_grows_is_named_and_looked_into(program, folder):
    found = json.loads(ask(program, "explain", folder, "--json"))
    assert found["growing"] is True, found
    # Whether it ends is known only after as many epochs as two workers take to see all examples.
    assert found["verdict"] in ("too-early", "leak"), found
    assert found["process"]["role"] == "loader-worker", found
    memory = found["explanation"]["memory"]
    assert memory["role"] == "loader-worker" and memory["looks"] >= 2, memory
    grown = [part for part in memory["breakdowns"][0]["parts"] if part["share"] > 0.5]
    assert [part["class"] for part in grown][:1] in (["glibc-live"], ["glibc-mapped"]), memory


def test_nothing_true_is_ruled_out_and_nobody_reads_that_nothing_grows(program, folder):
    found = json.loads(ask(program, "explain", folder, "--json"))
    about = [statement["about"] for statement in found["explanation"]["ruled_out"]]
    wrong = [a for a in about if a.startswith(("P23", "P38", "P39", "loader workers", "a leak"))]
    assert not wrong, found["explanation"]["ruled_out"]
    shown = ask(program, "explain", folder)
    assert "Nothing grows" not in shown, shown


def test_what_an_epoch_keeps_is_told_per_epoch_and_never_per_step(program, folder):
    found = json.loads(ask(program, "explain", folder, "--json"))
    assert found["axis"] == "time", found
    epoch = [driver for driver in found["explanation"]["drivers"] if driver["name"] == "epoch"]
    assert epoch, found["explanation"]["drivers"]
    # A worker reads half of the examples of an epoch, and both together all of them.
    each = EXAMPLES * KEPT
    assert 0.35 * each <= epoch[0]["per_unit"] <= 1.2 * each, epoch
    assert "step" not in [driver["name"] for driver in found["explanation"]["drivers"]]
