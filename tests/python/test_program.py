"""The package with the real program: nested runs, a killed watcher, a watcher that it starts itself."""

import csv
import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest


@pytest.fixture
def alone(environment):
    """An environment with a runtime folder of its own (short: a socket's path has 107 bytes)."""
    with tempfile.TemporaryDirectory(prefix="lt-") as runtime:
        yield {**environment, "XDG_RUNTIME_DIR": runtime}


def wait_until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def marked_steps(program, recording):
    done = subprocess.run(
        [program, "export", str(recording), "--what", "marks", "--format", "csv"],
        capture_output=True, text=True,
    )
    # Its first entry may not have come to the disk yet.
    assert done.returncode in (0, 4), done.stderr
    rows = csv.DictReader(io.StringIO(done.stdout))
    return [int(row["step"]) for row in rows if row["source"] == "callback" and row["step"]]


def test_of_two_nested_runs_the_inner_one_gets_the_marks(program, alone, tmp_path):
    code = "import lowtide\nfor step in (1, 2, 3): lowtide.mark(step=step, phase='train')"
    outer, inner = tmp_path / "outer", tmp_path / "inner"
    done = subprocess.run(
        [program, "run", "-o", str(outer), "--", program, "run", "-o", str(inner), "--", sys.executable, "-c", code],
        env=alone, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    assert marked_steps(program, inner) == [1, 2, 3]
    assert marked_steps(program, outer) == []


def test_training_outlives_a_killed_watcher(program, alone, tmp_path):
    code = """
import lowtide, os, sys, time
lowtide.mark(step=1, phase="train")
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.05)
for step in range(2, 1000): lowtide.mark(step=step, phase="train"); lowtide.guard()
open("done", "w").close()
"""
    watcher = subprocess.Popen(
        [program, "run", "-o", str(tmp_path / "run"), "--", sys.executable, "-c", code],
        env=alone, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    wait_until((tmp_path / "ready").exists)
    watcher.kill()
    watcher.wait()
    (tmp_path / "go").touch()
    wait_until((tmp_path / "done").exists)


def test_watch_alone_gives_a_recording_and_a_verdict(program, alone, tmp_path):
    code = """
import lowtide, sys, time
started = lowtide.watch(output="run", quiet=True)
print(started.log, flush=True)
while not lowtide._marks.watched(): time.sleep(0.05)
for step in range(1, 4): lowtide.mark(step=step, phase="train")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**alone, "LOWTIDE_BIN": program}, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    log = done.stdout.strip()
    wait_until(lambda: os.path.exists(log) and "recording" in open(log).read())
    assert marked_steps(program, tmp_path / "run") == [1, 2, 3]


def test_the_trim_probe_gives_freed_memory_back_and_records_it(program, alone, tmp_path):
    job = str(Path(__file__).parent / "jobs" / "fragments.py")
    recording = tmp_path / "run"
    done = subprocess.run(
        [program, "run", "-i", "100ms", "--probe", "trim", "-o", str(recording), "--", sys.executable, job],
        env=alone, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    # Entries other than samples are plain JSON in the file.
    assert b"trim probe: " in (recording / "recording.lowtide").read_bytes()


def test_a_job_that_records_much_loses_no_reading_of_its_recording(program, alone, tmp_path):
    code = """
import lowtide, os, time
lowtide.mark(step=1, phase="train")
until = time.monotonic() + 2
while time.monotonic() < until: lowtide.record({"text": "x" * 30000})
size = os.stat("run/recording.lowtide").st_size
while os.stat("run/recording.lowtide").st_size < size + 200: time.sleep(0.05)
"""
    done = subprocess.run(
        [program, "run", "-o", "run", "--", sys.executable, "-c", code],
        env=alone, cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [program, "export", str(tmp_path / "run"), "--what", "node", "--format", "csv"],
        capture_output=True, text=True, check=True,
    )
    taken = [int(row["seq"]) for row in csv.DictReader(io.StringIO(done.stdout))]
    assert taken == list(range(len(taken))) and taken
