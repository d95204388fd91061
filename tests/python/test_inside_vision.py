"""Verdicts on examples/vision by steps that are read from its memory: no callback, and no output that lowtide can see.

The same as with the callback (test_vision.py), mode by mode.
"""

import os
import subprocess
import sys
import tempfile

import pytest

pytest.importorskip("torch")
pytest.importorskip("peft")

from conftest import PACKAGE  # noqa: E402
from vision import COMMON, KEPT_EPOCH, LEAKED, MODES, TRAIN, judge  # noqa: E402

EXPECTED = {
    "kept": "warm-up",
    "on-demand": "stable",
    "eval": "spikes",
    "list": "leak",
    "collator": "leak",
    "native": "leak",
    "graph-aux": "leak",
    "log-history": "leak",
    "worker": "leak",
}
# The others are watched by `scripts/test --full`: each takes a minute of a core.
ALWAYS = ["kept", "eval", "list", "worker"]
# Where nobody tells of steps they are known some seconds after the start, on a busy machine after a third of the usual ten
# epochs; by what is left a leak and a store cannot be told apart, and too early is the right answer. So these train longer.
LONGER = ["--steps", "192"]
RATED = ["list", "collator", "native", "graph-aux", "log-history"]


class Attached:
    def __init__(self, program, folder, name):
        self.program, self.folder, self.name = program, folder / name, name
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LOWTIDE_")}
        environment.update(PYTHONPATH=str(PACKAGE), PYTHONDONTWRITEBYTECODE="1")
        # A socket's path has to be short.
        environment["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="lt-")
        train = [sys.executable, str(TRAIN), "--out", str(folder / (name + ".out")), *COMMON, *MODES[name]]
        train += LONGER if EXPECTED[name] == "leak" else []
        # What it prints goes into a pipe, which nobody but us can read.
        self.job = subprocess.Popen(
            [*train, "--no-callback"], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )
        watch = [program, "attach", str(self.job.pid), "-o", str(self.folder), "-i", "200ms", "--no-tui"]
        self.watcher = subprocess.Popen(
            watch, env={**environment, "LOWTIDE_HOME": str(folder / "home")}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )

    def finish(self):
        self.output, _ = self.job.communicate()
        _, self.said = self.watcher.communicate()
        self.verdict = judge(self.program, self.folder)
        return self

    def end(self):
        for process in (self.job, self.watcher):
            if process.poll() is None:
                process.kill()
                process.wait()

    def __repr__(self):
        return "%s: %s\n%s\n%s" % (self.name, self.verdict, self.said, self.output[-2000:])


@pytest.fixture(scope="module")
def attached(program, tmp_path_factory):
    """Every mode, two at a time: more would share a core, and steps would take twice as long."""
    folder = tmp_path_factory.mktemp("inside-vision")
    names = list(EXPECTED) if os.environ.get("LOWTIDE_FULL") == "1" else ALWAYS
    found, running = {}, []
    try:
        for name in names:
            running.append(Attached(program, folder, name))
            if len(running) == 2:
                first = running.pop(0)
                found[first.name] = first.finish()
        while running:
            first = running.pop(0)
            found[first.name] = first.finish()
        yield found
    finally:
        for one in running:
            one.end()


def test_verdicts_are_those_of_the_callback(attached):
    told = {name: run.verdict["verdict"] for name, run in attached.items()}
    assert told == {name: EXPECTED[name] for name in attached}, attached


def test_steps_are_the_axis_and_their_place_is_told(attached):
    for run in attached.values():
        assert run.verdict["axis"] == "step", run
        assert "steps from TrainerState in %d's memory" % run.job.pid in run.said, run


def test_leaks_have_their_rate(attached):
    for name in set(RATED) & set(attached):
        run = attached[name]
        leaked = int(LEAKED.search(run.output).group(1).replace(",", ""))
        assert run.verdict["rate"]["unit"] == "bytes/step", run
        assert run.verdict["rate"]["value"] == pytest.approx(leaked, rel=0.10), run


def test_the_end_of_the_first_epoch_ends_the_warm_up(attached):
    run = attached["kept"]
    assert run.verdict["settled_at"] == pytest.approx(KEPT_EPOCH, abs=3), run


def test_a_worker_is_named(attached):
    assert "worker" in attached["worker"].verdict["process"]["role"], attached["worker"]
