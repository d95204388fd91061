"""The guard on real training: examples/vision under a real memory limit.

Nothing may be lost: every optimizer step is done once, and the final weights are those of a run that
was never interrupted, bit by bit. That is a fair demand: the Trainer saves its random states and skips
the batches that were seen, and two uninterrupted runs are equal here (one thread, no workers).
"""

import os
import socket
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("peft")

from guarding import JOBS, Group, Job, judge, needs_limit, trace  # noqa: E402
from vision import COMMON, TRAIN  # noqa: E402

pytestmark = needs_limit
FULL = os.environ.get("LOWTIDE_FULL") == "1"
full = pytest.mark.skipif(not FULL, reason="long: LOWTIDE_FULL=1 runs it")

RESUME = ["--guard", "--resume-arg", "--resume {checkpoint}"]
# More than the machine has: a group that only counts.
UNLIMITED = 1e6
TORCHRUN = str(Path(sys.executable).parent / "torchrun")


class Measured:
    """A run without a limit: its trace, and the levels that a limit can be put between."""

    def __init__(self, folder, words, ranks=1, first_step=3):
        self.group = Group(UNLIMITED)
        self.run = start(folder, words, ranks, group=self.group)
        self.folder, self.first_step = folder, first_step
        self.first = self.peak = 0

    def finish(self):
        while self.run.process.poll() is None:
            level = self.group.working_set / 1e6
            if not self.first and (self.folder / "trace").exists() and len(trace(self.folder / "trace")[0]) >= self.first_step:
                self.first = level
            if self.first:
                self.peak = max(self.peak, level)
            time.sleep(0.02)
        self.group.close()
        assert self.run.wait() == 0, self.run.output[-3000:]
        self.steps, self.weights = trace(self.folder / "trace")
        assert self.weights.startswith("weights")
        return self

    def limit(self, share):
        """So much of the growth fits."""
        return self.first + share * (self.peak - self.first)


def start(folder, words, ranks=1, program=None, flags=(), group=None):
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable]
    if ranks > 1:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [TORCHRUN, "--nproc_per_node", ranks, "--master_port", port]
    command += [TRAIN, "--out", "out", "--trace", "trace", *COMMON, *words]
    return Job(folder, command, program, flags, group)


class Limited:
    """A run in a group of its own, with what became of it."""

    def __init__(self, folder, program, limit, words, ranks=1, flags=RESUME):
        self.folder = folder
        self.group = Group(limit)
        self.run = start(folder, words, ranks, program, flags, self.group)

    def finish(self):
        self.code = self.run.wait()
        self.oom_kills = self.group.oom_kills
        self.group.close()
        self.output = self.run.output
        self.restarts = self.run.restarts
        return self


def same_run(limited, measured, restarts=2):
    """It got to the end, and nothing was lost on the way."""
    tail = limited.output[-4000:]
    assert limited.code == 0, tail
    assert limited.oom_kills == 0, tail
    assert limited.restarts >= restarts, tail
    steps, weights = trace(limited.folder / "trace")
    assert steps == measured.steps, "a step was lost, repeated or done out of order"
    assert weights == measured.weights
    assert "0 steps done again" in limited.output, tail


LIST = ["--leak", "list", "--steps", "40", "--every", "100"]


def test_a_leak_is_carried_to_the_end_with_nothing_lost(tmp_path, program):
    both = [Measured(tmp_path / name, LIST) for name in ("one", "two")]
    one, two = [each.finish() for each in both]
    assert (one.steps, one.weights) == (two.steps, two.weights), "two uninterrupted runs differ"
    limit = one.limit(0.55)
    bare = Limited(tmp_path / "bare", program, limit, LIST, flags=[])
    guarded = Limited(tmp_path / "guarded", program, limit, LIST)
    bare.finish()
    assert bare.code == 137 and bare.oom_kills >= 1, bare.output[-4000:]
    assert "post-mortem: out of memory: the kernel killed" in bare.output
    assert len(trace(bare.folder / "trace")[0]) < 40
    same_run(guarded.finish(), one)
    # The recording goes on over all attempts.
    found = judge(program, guarded.run.recording, "--json")
    assert found.returncode in (1, 3), found.stdout


def test_two_ranks_stop_at_the_same_step(tmp_path, program):
    words = ["--leak", "list", "--steps", "28", "--every", "100"]
    measured = Measured(tmp_path / "free", words, ranks=2).finish()
    guarded = Limited(tmp_path / "guarded", program, measured.limit(0.6), words, ranks=2).finish()
    same_run(guarded, measured)


# 80 pictures of 4 MB once decoded, all of them seen after 20 steps.
KEPT = ["--images", "kept", "--examples", "80", "--image-size", "1024", "--epochs", "2", "--every", "100"]


def test_a_warm_up_that_fits_is_let_through_and_one_that_does_not_is_stopped(tmp_path, program):
    measured = Measured(tmp_path / "free", KEPT).finish()
    grown = measured.peak - measured.first
    # A job that grows like this for all of its 40 steps would need twice as much. What fits leaves room for a save, which
    # the guard counts on (54 MB): with 1.4 times it had 115 MB left of the 127 that it asked for, once.
    fits = Limited(tmp_path / "fits", program, measured.first + 1.6 * grown, KEPT)
    fits.finish()
    assert fits.code == 0 and fits.restarts == 0 and fits.oom_kills == 0, fits.output[-4000:]
    assert trace(fits.folder / "trace") == (measured.steps, measured.weights)
    same_run(Limited(tmp_path / "too-high", program, measured.limit(0.65), KEPT).finish(), measured, restarts=1)


@full
@pytest.mark.parametrize("leak", ["graph-aux", "native"])
def test_other_leaks_are_carried_to_the_end(tmp_path, program, leak):
    words = ["--leak", leak, "--steps", "40", "--every", "100"]
    measured = Measured(tmp_path / "free", words).finish()
    same_run(Limited(tmp_path / "guarded", program, measured.limit(0.55), words).finish(), measured)


@full
@pytest.mark.parametrize("script", ["plain_torch.py", "lit.py"])
def test_other_loops_are_carried_to_the_end(tmp_path, program, script):
    def job(folder, group, program=None, flags=()):
        folder.mkdir()
        return Job(folder, [sys.executable, JOBS / script, "--trace", "trace"], program, flags, group)

    free = Group(UNLIMITED)
    run = job(tmp_path / "free", free)
    first = peak = 0
    while run.process.poll() is None:
        if not first and (tmp_path / "free/trace").exists():
            first = free.working_set / 1e6
        peak = max(peak, free.working_set / 1e6)
        time.sleep(0.02)
    free.close()
    assert run.wait() == 0, run.output[-3000:]
    group = Group(first + 0.6 * (peak - first))
    guarded = job(tmp_path / "guarded", group, program, [*RESUME, "--checkpoints", "."])
    assert guarded.wait() == 0, guarded.output[-4000:]
    kills = group.oom_kills
    group.close()
    assert kills == 0 and guarded.restarts >= 1, guarded.output[-4000:]
    assert trace(tmp_path / "guarded/trace") == trace(tmp_path / "free/trace")
