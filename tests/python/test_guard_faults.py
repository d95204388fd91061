"""What can go wrong with a guarded job, each with real processes and a real limit.

After each fault the recording can be read, the last complete checkpoint is whole, and the steps since
it are counted and told. The job is a loop of plain Python, so that all of this takes seconds.
"""

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import pytest

from guarding import JOBS, MEMORY, Attached, Group, Job, judge, needs_limit, trace

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


def job(tmp_path, program, *words, flags=GUARD, group=None, environment=None):
    command = [sys.executable, STEPS, "--out", "out", "--trace", "trace", *words]
    return Job(tmp_path, command, program, flags, group, environment)


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
    # It leaks 100 MB a second, and where it saves has to be known before: nobody is asked to stop who has not saved.
    words = ["--leak", "2", "--from-step", "80", "--deaf", "--save-every", "10", "--steps", "180"]
    run = job(tmp_path, program, *words, group=limited)
    assert run.wait() == 0, run.output[-3000:]
    assert limited.oom_kills == 0 and run.restarts >= 1, run.output[-3000:]
    steps, last = trace(tmp_path / "trace")
    assert last == chain(180)
    told = re.search(r"guard +\d+ restarts?, (\d+) steps? done again", run.output)
    # Steps that were done in the very moment of the kill may not have been told any more.
    assert 0 <= len(steps) - 180 - int(told.group(1)) <= 2 * run.restarts, run.output[-3000:]
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


def test_without_a_way_to_resume_it_is_stopped_where_that_is_wanted(tmp_path, program):
    flags = ["--guard=stop", "--checkpoints", "out", "--restart-every", "20steps"]
    run = job(tmp_path, program, flags=flags)
    assert run.wait() == 75, run.output[-3000:]
    assert "how this job resumes is not known" in run.output and "--resume-arg" in run.output
    assert newest_checkpoint(tmp_path) == max(trace(tmp_path / "trace")[0])


def test_restarts_after_so_many_steps(tmp_path, program):
    run = job(tmp_path, program, flags=[*GUARD, "--restart-every", "50steps"])
    assert run.wait() == 0, run.output[-3000:]
    assert trace(tmp_path / "trace") == (list(range(1, 151)), chain(150))
    assert run.restarts == 2, run.output[-3000:]


def test_a_hangup_does_not_end_the_guard_of_a_run_with_nohup(tmp_path, program):
    command = [sys.executable, STEPS, "--out", "out", "--trace", "trace"]
    flags = [*GUARD, "--restart-every", "50steps"]
    run = Job(tmp_path, command, program, flags, ignored=[signal.SIGHUP])
    run.wait_for(r"step 10/")
    run.process.send_signal(signal.SIGHUP)
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


def take_over(tmp_path, program, pid):
    """`lowtide attach --guard`, from somewhere else. The job stands still until it is watched."""
    os.kill(pid, signal.SIGSTOP)
    flags = [*GUARD[:-1], tmp_path / "out"]
    attached = Attached(tmp_path / "taken", program, [*flags, pid])
    attached.wait_for(r"watching %d" % pid)
    os.kill(pid, signal.SIGCONT)
    return attached


@needs_limit
def test_a_job_whose_guard_was_killed_is_taken_over(tmp_path, program, group):
    limited = group(100)
    secret = "s3cret-of-the-job"
    environment = {"A_TOKEN": secret, "ONLY_HERE": "1"}
    # After a second the loop has found the new guard; eight seconds of leaking would kill it.
    run = job(tmp_path, program, "--leak", "1", "--pause", "0.1", "--steps", "200", group=limited, environment=environment)
    # The first guard has restarted it once already: its words and variables are in the job.
    pid = int(run.wait_for(r"(?s)starting again from.*pid (\d+)").group(1))
    run.process.kill()
    assert run.wait() == -signal.SIGKILL
    first = run.restarts
    after = take_over(tmp_path, program, pid)
    assert after.wait() == 0, after.output[-3000:] + run.output[-1000:]
    assert trace(tmp_path / "trace") == (list(range(1, 201)), chain(200))
    assert first == 1 and after.restarts >= 1 and limited.oom_kills == 0, after.output[-3000:]
    # What the job prints goes where it went before, and not to the guard that came later.
    assert run.output.endswith("\n%s\n" % chain(200)) and "/200" not in after.output
    # Each attempt has the environment of the first, and is told its own checkpoint alone.
    attempts = re.findall(r"attempt (\d), (\d) resumed, (\w+)", run.output)
    assert attempts[:3] == [("1", "0", "1"), ("2", "1", "1"), ("2", "1", "1")], attempts
    assert ", 0 steps done again" in after.output, after.output[-3000:]
    for path in after.recording.rglob("*"):
        assert path.is_dir() or secret.encode() not in path.read_bytes(), path
    assert secret not in after.output
    is_whole(program, after)


@needs_limit
def test_a_job_that_nobody_guarded_is_taken_over(tmp_path, program, group):
    limited = group(100)
    # In a group of its own from the start; the guard comes from outside of it.
    run = job(tmp_path, None, "--leak", "1", "--pause", "0.1", "--steps", "130", group=limited)
    pid = int(run.wait_for(r"pid (\d+)").group(1))
    after = take_over(tmp_path, program, pid)
    assert after.wait() == 0, after.output[-3000:]
    assert run.wait() == 0
    assert trace(tmp_path / "trace") == (list(range(1, 131)), chain(130))
    assert after.restarts >= 1 and limited.oom_kills == 0, after.output[-3000:]
    assert limited.folder.name in after.output, "the limit of its group held for every attempt"


def test_a_job_that_is_taken_over_may_end_by_itself(tmp_path, program):
    run = job(tmp_path, None, "--steps", "100")
    pid = int(run.wait_for(r"pid (\d+)").group(1))
    after = take_over(tmp_path, program, pid)
    assert after.wait() == 0, after.output[-3000:]
    assert "ended by itself with all its steps; its exit code is not known" in after.output, after.output[-3000:]


def test_who_takes_over_can_leave_again(tmp_path, program):
    run = job(tmp_path, None, "--steps", "300")
    pid = int(run.wait_for(r"pid (\d+)").group(1))
    after = take_over(tmp_path, program, pid)
    after.process.send_signal(signal.SIGINT)
    assert after.wait() == 0 and "left alone" in after.output, after.output[-3000:]
    assert run.wait() == 0
    assert trace(tmp_path / "trace") == (list(range(1, 301)), chain(300))


def test_what_cannot_be_started_again_is_not_taken_over(tmp_path, program):
    run = job(tmp_path, program, "--steps", "1000000")
    pid = int(run.wait_for(r"pid (\d+)").group(1))
    run.wait_for(r"step 10/")

    def refused(pid, **options):
        done = subprocess.run(
            [program, "attach", *GUARD, str(pid)], capture_output=True, text=True, env=run.env, cwd=tmp_path, **options
        )
        assert done.returncode == 4 and "hint: " in done.stderr, done.stderr
        return done.stderr

    assert "another lowtide watches it" in refused(pid)
    assert "it is lowtide itself" in refused(run.process.pid)
    if os.getuid() == 0:
        with tempfile.TemporaryDirectory() as open_to_all:
            os.chmod(open_to_all, 0o755)
            copy = shutil.copy(program, open_to_all)
            stranger = dict(user=65534, group=65534, extra_groups=[])
            command = [copy, "attach", *GUARD, str(pid)]
            done = subprocess.run(command, capture_output=True, text=True, env={}, cwd="/", **stranger)
            assert done.returncode == 4 and "the job of another user" in done.stderr, done.stderr
            assert "hint: run this as that user" in done.stderr
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 130
    assert "there is no such process" in refused(pid)


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
