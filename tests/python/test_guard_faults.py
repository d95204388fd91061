"""What can go wrong with a guarded job, each with real processes and a real limit.

After each fault the recording can be read, the last complete checkpoint is whole, and the steps since
it are counted and told. The job is a loop of plain Python, so that all of this takes seconds.
"""

import hashlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from guarding import JOBS, MEMORY, Group, Job, judge, needs_limit, trace

STEPS = JOBS / "steps.py"
GUARD = ["--guard", "--resume-arg", "--resume {checkpoint}", "--checkpoints", "out"]


@pytest.fixture
def group():
    made = []

    def make(limit):
        made.append(Group(limit))
        return made[-1]

    yield make
    for each in made:
        each.close()


def job(tmp_path, program, *words, flags=GUARD, group=None):
    command = [sys.executable, STEPS, "--out", "out", "--trace", "trace", *words]
    return Job(tmp_path, command, program, flags, group)


def chain(steps):
    """What the state is when every step was done once, in order."""
    state = ""
    for step in range(1, steps + 1):
        state = hashlib.sha256(("%s %d" % (state, step)).encode()).hexdigest()
    return "done " + state


def newest_checkpoint(tmp_path):
    """The furthest checkpoint that can be read."""
    steps = []
    for path in (tmp_path / "out").glob("step-*.pt"):
        try:
            with zipfile.ZipFile(path) as file:
                steps.append(int(file.read("state").split()[0]))
        except zipfile.BadZipFile:
            pass
    return max(steps, default=0)


def told_since(output):
    """Steps since the last complete checkpoint, as told at the end."""
    assert "the last complete checkpoint is" in output, output[-3000:]
    found = re.findall(r"last complete checkpoint is [^,\n]*(?:, (\d+) steps? w)?", output)
    return int(found[-1] or 0)


def is_whole(program, run):
    done = judge(program, run.recording)
    assert done.returncode in (0, 1, 3), done.stderr
    return done.stdout


@needs_limit
def test_a_leak_is_carried_to_the_end(tmp_path, program, group):
    limited = group(150)
    run = job(tmp_path, program, "--leak", "2", group=limited)
    assert run.wait() == 0, run.output[-3000:]
    steps, last = trace(tmp_path / "trace")
    assert steps == list(range(1, 151)), "a step was lost or repeated"
    assert last == chain(150)
    assert run.restarts >= 2 and limited.oom_kills == 0, run.output[-3000:]
    # Each attempt by itself may be too short for an accusation; none of them is a warm-up.
    assert judge(program, run.recording).returncode in (1, 3)


@needs_limit
def test_without_a_guard_it_dies_and_the_end_is_explained(tmp_path, program, group):
    limited = group(150)
    run = job(tmp_path, program, "--leak", "1", "--pause", "0.05", flags=[], group=limited)
    assert run.wait() == 137
    assert limited.oom_kills >= 1
    assert re.search(r"limit (near|ahead): .* in use", run.output), run.output[-3000:]
    mortem = run.output[run.output.index("post-mortem:"):]
    assert "out of memory: the kernel killed" in mortem and limited.folder.name in mortem
    assert re.search(r"holders +1[2-5]\d MB in trainer", mortem), mortem
    assert re.search(r"steps +\d+ of 150; last: ", mortem), mortem
    assert "post-mortem: out of memory" in is_whole(program, run)


@needs_limit
def test_a_job_that_only_hears_signals_is_asked_by_signal(tmp_path, program, group):
    limited = group(150)
    words = ["--leak", "2", "--pause", "0.05", "--by-signal", "--steps", "100"]
    run = job(tmp_path, program, *words, flags=[*GUARD, "--signal", "USR1"], group=limited)
    assert run.wait() == 0, run.output[-3000:]
    assert trace(tmp_path / "trace") == (list(range(1, 101)), chain(100))
    assert run.restarts >= 1 and limited.oom_kills == 0


@needs_limit
def test_a_job_that_ignores_the_request_is_killed_before_the_kernel_does(tmp_path, program, group):
    limited = group(150)
    words = ["--leak", "2", "--deaf", "--save-every", "10", "--steps", "100"]
    run = job(tmp_path, program, *words, group=limited)
    assert run.wait() == 0, run.output[-3000:]
    assert limited.oom_kills == 0, run.output[-3000:]
    steps, last = trace(tmp_path / "trace")
    assert last == chain(100)
    told = re.search(r"guard +\d+ restarts?, (\d+) steps? done again", run.output)
    # Steps that were done in the very moment of the kill may not have been told any more.
    assert 0 <= len(steps) - 100 - int(told.group(1)) <= 2 * run.restarts, run.output[-3000:]
    is_whole(program, run)


@needs_limit
def test_a_leak_of_a_gigabyte_a_second_is_met(tmp_path, program, group):
    limited = group(1500)
    words = ["--leak", "20", "--from-step", "20", "--steps", "150", "--save-every", "10"]
    run = job(tmp_path, program, *words, group=limited)
    assert run.wait() == 0, run.output[-3000:]
    assert limited.oom_kills == 0, run.output[-3000:]
    assert trace(tmp_path / "trace")[1] == chain(150)


@needs_limit
def test_a_limit_that_is_lowered_is_minded(tmp_path, program, group):
    limited = group(2000)
    run = job(tmp_path, program, "--leak", "0.4", "--steps", "500", group=limited)
    run.wait_for(r"step 60/")
    limited.limit(160)
    assert run.wait() == 0, run.output[-3000:]
    assert trace(tmp_path / "trace") == (list(range(1, 501)), chain(500))
    assert run.restarts >= 1 and limited.oom_kills == 0, run.output[-3000:]


@needs_limit
def test_a_full_disk_costs_the_steps_since_the_last_checkpoint(tmp_path, program, group):
    disk = tmp_path / "out"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        limited = group(150)
        run = job(tmp_path, program, "--leak", "2", group=limited)
        assert run.wait() == 1, run.output[-3000:]
        assert "instead of saving" in run.output and "No space left" in run.output
        assert re.search(r"skipped \S+step-\d+\.pt: is cut off", run.output), run.output[-3000:]
        saved = newest_checkpoint(tmp_path)
        assert saved > 0
        # On a busy machine the last marks may be dropped rather than hold up the job.
        last = trace(tmp_path / "trace")[0][-1]
        assert 0 <= last - saved - told_since(run.output) <= 2, run.output[-3000:]
        is_whole(program, run)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@needs_limit
def test_a_checkpoint_that_was_cut_is_skipped_and_named(tmp_path, program, group):
    limited = group(150)
    run = job(tmp_path, program, "--leak", "2", "--cut", "2", group=limited)
    assert run.wait() == 0, run.output[-3000:]
    assert re.search(r"skipped \S+step-\d+\.pt: is cut off", run.output), run.output[-3000:]
    steps, last = trace(tmp_path / "trace")
    assert last == chain(150)
    told = re.search(r"guard +\d+ restarts, (\d+) steps done again", run.output)
    assert len(steps) - 150 == int(told.group(1)) > 0
    assert limited.oom_kills == 0


@needs_limit
def test_a_restart_without_progress_is_given_up(tmp_path, program, group):
    limited = group(150)
    run = job(tmp_path, program, "--leak", "2", "--dies-on-resume", group=limited)
    assert run.wait() == 137, run.output[-3000:]
    assert "no new step since the last restart: giving up" in run.output, run.output[-3000:]
    assert run.restarts == 1
    assert told_since(run.output) == 0
    assert newest_checkpoint(tmp_path) == max(trace(tmp_path / "trace")[0])


@needs_limit
def test_restarts_have_a_maximum_and_the_run_can_be_resumed(tmp_path, program, group):
    limited = group(150)
    run = job(tmp_path, program, "--leak", "2", flags=[*GUARD, "--max-restarts", "1"], group=limited)
    assert run.wait() == 75, run.output[-3000:]
    assert run.restarts == 1 and "as many as allowed" in run.output
    assert newest_checkpoint(tmp_path) == max(trace(tmp_path / "trace")[0])


def test_without_a_way_to_resume_it_is_stopped_and_not_started_again(tmp_path, program):
    flags = ["--guard", "--checkpoints", "out", "--restart-every", "20steps"]
    run = job(tmp_path, program, flags=flags)
    assert run.wait() == 75, run.output[-3000:]
    assert "how this job resumes is not known" in run.output and "--resume-arg" in run.output
    assert newest_checkpoint(tmp_path) == max(trace(tmp_path / "trace")[0])


def test_restarts_after_so_many_steps(tmp_path, program):
    run = job(tmp_path, program, flags=[*GUARD, "--restart-every", "50steps"])
    assert run.wait() == 0, run.output[-3000:]
    assert trace(tmp_path / "trace") == (list(range(1, 151)), chain(150))
    assert run.restarts == 2, run.output[-3000:]


def killed_trainer(run):
    pid = int(run.wait_for(r"pid (\d+)").group(1))
    run.wait_for(r"step 1[0-9]{2}/")
    os.kill(pid, signal.SIGKILL)
    return run.wait()


def test_a_kill_from_outside_is_told_from_ours(tmp_path, program):
    run = job(tmp_path, program, "--save-every", "60", "--steps", "1000000")
    assert killed_trainer(run) == 137
    assert "signal 9 from outside" in run.output, run.output[-3000:]
    assert run.restarts == 0, "somebody wanted it dead"
    done = max(trace(tmp_path / "trace")[0])
    assert 0 <= done - newest_checkpoint(tmp_path) - told_since(run.output) <= 2
    assert "signal 9 from outside" in is_whole(program, run)


def test_the_job_survives_the_death_of_its_guard(tmp_path, program):
    run = job(tmp_path, program, "--steps", "300")
    run.wait_for(r"step 50/")
    run.process.kill()
    assert run.wait() == -signal.SIGKILL
    while not trace(tmp_path / "trace")[1].startswith("done"):
        time.sleep(0.05)
    assert trace(tmp_path / "trace") == (list(range(1, 301)), chain(300))
    # The recording stops where its writer did, and says what can be known.
    assert "the recording stops without an end, and memory was not short" in is_whole(program, run)


def rank_process(group, rank):
    """The process of a rank among those in the group."""
    while True:
        for pid in (group.folder / "cgroup.procs").read_text().split():
            try:
                words = open("/proc/%s/cmdline" % pid, "rb").read()
                names = open("/proc/%s/environ" % pid, "rb").read().split(b"\0")
            except OSError:
                continue
            if b"ranks.py" in words and b"RANK=%d" % rank in names:
                return int(pid)
        time.sleep(0.05)


@needs_limit
def test_the_rank_that_was_killed_is_named(tmp_path, program, group):
    pytest.importorskip("torch")
    counted = group(20000)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    torchrun = Path(sys.executable).parent / "torchrun"
    command = [torchrun, "--nproc_per_node", 2, "--master_port", port, JOBS / "ranks.py"]
    run = Job(tmp_path, command, program, GUARD, counted)
    run.wait_for(r"step 10/30")
    pid = rank_process(counted, 1)
    os.kill(pid, signal.SIGKILL)
    assert run.wait() == 1, run.output[-3000:]
    assert run.restarts == 0
    mortem = run.output[run.output.index("post-mortem:"):]
    assert "one rank ended" in mortem, mortem
    # The other rank may end between the same two looks; then nobody is named rather than the wrong one.
    assert "first" not in mortem or "first      rank 1 of 2 %d" % pid in mortem, mortem
    assert "no complete checkpoint of this job was found" in run.output
    is_whole(program, run)


def test_ctrl_c_ends_it_and_nothing_is_started_again(tmp_path, program):
    run = job(tmp_path, program, "--save-every", "60", "--steps", "1000000")
    run.wait_for(r"step 100/")
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 130
    assert run.restarts == 0
    told_since(run.output)
    is_whole(program, run)


def test_the_second_ctrl_c_reaches_a_job_that_swallowed_the_first(tmp_path, program):
    run = job(tmp_path, program, "--stubborn", "--steps", "1000000")
    run.wait_for(r"step 10/")
    run.process.send_signal(signal.SIGINT)
    run.wait_for("interrupted once")
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 130
    assert run.restarts == 0


@needs_limit
def test_a_job_that_was_stopped_goes_on_as_if_nothing_had_been(tmp_path, program, group):
    limited = group(150)
    run = job(tmp_path, program, "--leak", "2", group=limited)
    pid = int(run.wait_for(r"pid (\d+)").group(1))
    os.kill(pid, signal.SIGSTOP)
    while (state := open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0]) not in "Tt":
        assert state != "Z"
    os.kill(pid, signal.SIGCONT)
    run.process.send_signal(signal.SIGCONT)
    assert run.wait() == 0, run.output[-3000:]
    assert trace(tmp_path / "trace") == (list(range(1, 151)), chain(150))
    assert limited.oom_kills == 0


@needs_limit
def test_an_isolated_job_has_a_group_of_its_own_that_goes_with_it(tmp_path, program):
    flags = [*GUARD, "--isolate", "--limit", "150MB"]
    run = job(tmp_path, program, "--leak", "2", flags=flags)
    assert run.wait() == 0, run.output[-3000:]
    assert trace(tmp_path / "trace") == (list(range(1, 151)), chain(150))
    group = re.search(r"left below 150 MB \(cgroup (/\S*lowtide-%d)\)" % run.process.pid, run.output)
    assert run.restarts >= 2 and group, run.output[-3000:]
    assert not (MEMORY / group.group(1).lstrip("/")).exists()
