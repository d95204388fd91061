"""The guard stops a job only when it can start it again: it works out where the job saves and how it resumes, says
what is missing while there is time to mend it, and leaves alone what it could not bring back.
"""

import hashlib
import os
import re
import signal
import sys

import pytest

from guarding import JOBS, Attached, Group, Job, needs_limit, trace

SCRIPT = JOBS / "own_saves.py"
WAY = ["--guard", "--resume-arg", "--continue {checkpoint}"]
LEAK = ["--leak", "2", "--pause", "0.05"]


@pytest.fixture
def group():
    made = []

    def make(limit):
        made.append(Group(limit))
        return made[-1]

    yield make
    for each in made:
        each.close()


def start(tmp_path, program, *words, flags=WAY, group=None, **environment):
    command = [sys.executable, SCRIPT, "--trace", "trace", *words]
    return Job(tmp_path, command, program, flags, group, environment)


def done(steps):
    state = ""
    for step in range(1, steps + 1):
        state = hashlib.sha256(("%s %d" % (state, step)).encode()).hexdigest()
    return "done " + state


def came_to_its_end(tmp_path, run, limited=None, steps=100, restarts=1):
    """Every step was done; how many of them twice."""
    assert run.wait() == 0, run.output[-3000:]
    seen, last = trace(tmp_path / "trace")
    assert last == done(steps) and set(seen) == set(range(1, steps + 1)), run.output[-3000:]
    assert run.restarts >= restarts, run.output[-3000:]
    assert limited is None or limited.oom_kills == 0, run.output[-3000:]
    return len(seen) - steps


@needs_limit
def test_checkpoints_that_nobody_named_are_found(tmp_path, program, group):
    """384 of 600 steps were lost: they lay where the guard did not look, and it had asked first."""
    limited = group(120)
    run = start(tmp_path, program, *LEAK, "--every", "10", group=limited)
    repeated = came_to_its_end(tmp_path, run, limited)
    folder = tmp_path / "out" / "run1" / "ckpts"
    assert re.search(r"guard: checkpoints in %s, last step \d+" % re.escape(str(folder)), run.output), run.output[-3000:]
    # It does not save when it is asked, and what that costs is said before.
    assert repeated == 0 or re.search(r"steps? since its last checkpoint (is|are) done again", run.output)


@needs_limit
def test_a_job_that_saves_when_asked_repeats_nothing(tmp_path, program, group):
    limited = group(120)
    run = start(tmp_path, program, *LEAK, "--every", "10", "--hook", group=limited)
    assert came_to_its_end(tmp_path, run, limited) == 0, run.output[-3000:]


@needs_limit
def test_a_job_that_tells_all_needs_no_flag(tmp_path, program, group):
    limited = group(120)
    run = start(tmp_path, program, *LEAK, "--hook", "--tell", flags=["--guard"], group=limited,
                SAVES_IN=str(tmp_path / "else where"))
    assert came_to_its_end(tmp_path, run, limited) == 0, run.output[-3000:]
    assert "not stopped" not in run.output, run.output[-3000:]


def left_running(run):
    """It was warned about, with the flag that mends it, and nothing was done to it."""
    assert "until that is known the job is warned about, not stopped" in run.output, run.output[-3000:]
    assert not re.search(r"guard: (SIG|asked|sent|starting again)", run.output), run.output[-3000:]


@needs_limit
@pytest.mark.parametrize("words, missing, hint", [
    ([], "no checkpoint folder is known yet", "--checkpoints DIR"),
    (["--hook"], "no checkpoint folder is known yet", "--checkpoints DIR"),
    (["--at-the-end"], "no checkpoint folder is known yet", "--checkpoints DIR"),
])
def test_a_job_that_has_not_saved_is_left_to_the_kernel(tmp_path, program, group, words, missing, hint):
    limited = group(120)
    run = start(tmp_path, program, *LEAK, *words, group=limited)
    assert run.wait() == 137 and limited.oom_kills >= 1, run.output[-3000:]
    left_running(run)
    # Said in its first steps, and again when the guard would have asked.
    assert run.output.index(missing) < run.output.index("step 30/"), run.output[:3000]
    assert hint in run.output
    assert "it is left running, because " + missing in run.output, run.output[-3000:]


@pytest.mark.parametrize("flags, words, missing", [
    (["--guard"], ["--every", "10"], "how this job resumes is not known"),
    (WAY, ["--at-the-end"], "no checkpoint folder is known yet"),
    ([*WAY, "--checkpoints", "out"], ["--at-the-end"], "it has saved nothing yet"),
])
def test_what_cannot_be_started_again_is_not_stopped_by_the_clock(tmp_path, program, flags, words, missing):
    run = start(tmp_path, program, "--steps", "60", *words, flags=[*flags, "--restart-every", "20steps"])
    assert came_to_its_end(tmp_path, run, steps=60, restarts=0) == 0
    assert "as --restart-every says); it is left running, because " + missing in run.output, run.output[-3000:]
    left_running(run)


@needs_limit
def test_guard_stop_has_it_save_and_leaves_it_there(tmp_path, program, group):
    limited = group(120)
    flags = ["--guard=stop", "--resume-arg", "--continue {checkpoint}"]
    run = start(tmp_path, program, *LEAK, "--hook", flags=flags, group=limited, SAVES_IN="run 1/ckpts")
    assert run.wait() == 75 and limited.oom_kills == 0, run.output[-3000:]
    steps, _ = trace(tmp_path / "trace")
    saved = tmp_path / "run 1" / "ckpts" / ("step_%d.pt" % steps[-1])
    assert steps == list(range(1, len(steps) + 1)) and saved.exists()
    assert run.restarts == 0 and "as --guard=stop says" in run.output
    assert "hint: to go on by hand: the same command, and at its end --continue '%s'" % saved in run.output


@needs_limit
@pytest.mark.parametrize("environment", [
    {"SAVES_IN": "my runs/of today/ckpts"},
    {"RUNS_IN": "elsewhere/below", "SAVES_IN": "../deep/er/still/checkpoints"},
])
def test_any_folder_will_do(tmp_path, program, group, environment):
    limited = group(120)
    run = start(tmp_path, program, *LEAK, "--every", "10", "--hook", group=limited, **environment)
    assert came_to_its_end(tmp_path, run, limited) == 0, run.output[-3000:]


@needs_limit
def test_a_job_in_a_folder_of_its_own_is_followed_there(tmp_path, program, group):
    limited = group(120)
    (tmp_path / "here").mkdir()
    away = tmp_path / "away"
    run = start(tmp_path / "here", program, *LEAK, "--every", "10", "--hook", group=limited, RUNS_IN=str(away))
    assert came_to_its_end(tmp_path / "here", run, limited) == 0, run.output[-3000:]
    assert "guard: checkpoints in %s" % (away / "out" / "run1" / "ckpts") in run.output


@needs_limit
def test_a_job_that_runs_already_is_learnt_as_well(tmp_path, program, group):
    limited = group(120)
    run = start(tmp_path, None, "--leak", "1", "--pause", "0.1", "--every", "10", "--hook", group=limited)
    pid = int(run.wait_for(r"pid (\d+)").group(1))
    os.kill(pid, signal.SIGSTOP)
    after = Attached(tmp_path / "taken", program, [*WAY, pid])
    after.wait_for(r"watching %d" % pid)
    os.kill(pid, signal.SIGCONT)
    assert after.wait() == 0, after.output[-3000:]
    assert trace(tmp_path / "trace") == (list(range(1, 101)), done(100)), after.output[-3000:]
    assert after.restarts >= 1 and limited.oom_kills == 0, after.output[-3000:]
