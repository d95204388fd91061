"""Rows of README's table "what survives what" that take a disk or a limit of their own."""

import csv
import io
import os
import re
import subprocess
import sys

import pytest

from guarding import PATIENCE, Group, Job, judge, needs_limit

# The job writes each line to its output first and then beside it, where nothing is carried.
PRINTS = """
import os, sys, time
beside = os.open("beside", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
kept = []
for n in range(100000):
    line = b"line %d\\n" % n
    os.write(1, line)
    os.write(beside, line)
    if sys.argv[1] == "grow": kept.append(bytearray(os.urandom(1) * 1_000_000))
    time.sleep(0.005)
    if os.path.exists("go"): sys.exit(7)
"""


def ticks(program, recording):
    """The numbers of the ticks that a reader finds."""
    done = subprocess.run(
        [program, "export", str(recording), "--what", "node", "--format", "csv"],
        capture_output=True, text=True, check=True,
    )
    return len(list(csv.DictReader(io.StringIO(done.stdout))))


@pytest.fixture
def small_disk(tmp_path):
    """A disk on which a recording has room for its first ticks."""
    disk = tmp_path / "recording"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)], capture_output=True)
    if made.returncode:
        pytest.skip("cannot mount a small disk here")
    (disk / "others").write_bytes(b"x" * (56 << 10))
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_costs_the_job_nothing_and_the_recording_what_did_not_fit(tmp_path, program, small_disk):
    run = Job(tmp_path, [sys.executable, "-c", PRINTS, "stay"], program)
    run.wait_for(r"cannot write \S+: .*No space left.*the job is not touched")
    run.wait_for(r"hint: make room there")
    fitted = ticks(program, small_disk)
    assert fitted > 0
    (tmp_path / "go").touch()
    assert run.wait() == 7, run.output[-3000:]
    printed = [line for line in run.output.splitlines() if line.startswith("line ")]
    assert printed == (tmp_path / "beside").read_text().splitlines()
    assert ticks(program, small_disk) >= fitted
    judged = judge(program, small_disk)
    assert judged.returncode in (0, 1, 3), judged.stderr


@needs_limit
def test_what_a_job_printed_before_its_oom_kill_is_out(tmp_path, program):
    limited = Group(120)
    env = {**os.environ, "LOWTIDE_HOME": str(tmp_path / "home")}
    job = subprocess.Popen(
        [program, "run", "-q", "-i", "50ms", "-o", str(tmp_path / "run"), "--", sys.executable, "-c", PRINTS, "grow"],
        env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=limited.enter,
    )
    try:
        out, said = job.communicate(timeout=PATIENCE)
        assert job.returncode == 137 and limited.oom_kills >= 1, said.decode()
    finally:
        limited.close()
    beside = (tmp_path / "beside").read_bytes()
    # It may have been killed between the two; the line is out then.
    assert out.startswith(beside) and beside, out[-300:]
    assert re.fullmatch(rb"(line \d+\n)?", out[len(beside):]), out[len(beside):]
    assert "post-mortem: out of memory" in judge(program, tmp_path / "run").stdout
