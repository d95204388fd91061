"""Holders that a census named, read on every tick: programs that were written by somebody who did not know the reader, and
a job that is watched. `python tests/python/meters/compare.py 500` prints the whole table."""

import csv
import io
import os
import subprocess
import sys

import pytest

from guarding import Job
from interpreters import plain_cpythons
from meters.compare import HOST, METERS, TOGETHER, compare
from test_census_watched import KEEPS, explained, wait

FULL = os.environ.get("LOWTIDE_FULL") == "1"
PROGRAMS = 500 if FULL else 50


@pytest.mark.skipif(not METERS.exists(), reason="cargo build -p lowtide-census --example meters")
@pytest.mark.parametrize("interpreter", [one for one in plain_cpythons() if not one.build], ids=str)
def test_every_length_is_that_of_its_slot(interpreter):
    found, wrong = {}, []
    # What the host imports lies beside it.
    commands = {part: interpreter.command(part) for part in HOST.parent.glob("*.py")}
    command = commands[HOST]
    for first in range(0, PROGRAMS, TOGETHER):
        counts, off, _, _ = compare(command, range(first, first + TOGETHER), environment=interpreter.environment())
        wrong += off
        found = {what: found.get(what, 0) + counts.get(what, 0) for what in {*found, *counts}}
    assert not wrong, wrong[:3]
    # Who says nothing is never wrong.
    assert found["followed"] >= 0.8 * found["slots"], found
    assert found.get("silent", 0) <= 0.01 * found["right"], found
    # At full speed some are made anew faster than they can be read twice.
    assert found.get("silent while it runs", 0) <= 0.15 * found["right while it runs"], found


def rows(program, recording):
    done = subprocess.run([program, "export", str(recording), "--what", "holders"], capture_output=True, text=True)
    return [row for row in csv.DictReader(io.StringIO(done.stdout)) if row["holder"] == "keeps.CACHE"]


def test_a_watched_job_has_the_lengths_of_its_holder_on_every_tick(program, tmp_path):
    end = tmp_path / "end"
    job = Job(tmp_path, [sys.executable, KEEPS, end], program)
    wait(lambda: len(rows(program, job.recording)) >= 12)
    end.touch()
    assert job.wait() == 0
    lengths = [int(row["length"]) for row in rows(program, job.recording)]
    assert lengths == sorted(lengths) and lengths[-1] > lengths[0], lengths
    # It is read on every tick, not with every census.
    ticks = [float(row["t"]) for row in rows(program, job.recording)]
    assert ticks[-1] - ticks[0] <= 2.5 * len(ticks), ticks
    (first, *_) = explained(program, job.recording)["explanation"]["holders"]
    assert first["name"] == "keeps.CACHE" and first["falls"] == 0 and first["per_unit"] > 0, first
    assert first["first"] == lengths[0] and first["last"] == lengths[-1], first
    assert "it never got shorter in" in first["says"], first
    assert "What got longer\n" in subprocess.run([program, "explain", str(job.recording)], capture_output=True, text=True).stdout
