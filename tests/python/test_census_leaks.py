"""Two censuses of a job that leaks: the first line of their difference is the leaked group, and its holder is named.

Every job waits while it is read, so that counts are exact; labs run on. LOWTIDE_LEAKS_SHOWN=1 prints each difference.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import PACKAGE, ROOT

LEAKS = Path(__file__).resolve().parent / "census" / "leaks"
LABS = ROOT / "labs"
FIRST, MORE = 12, 30  # steps before the first census, and between the two
TRAINED, TRAINED_MORE = 5, 10  # the same for trainings, whose steps cost more


def environment():
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LOWTIDE_")}
    return {**clean, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}


class Censuses:
    """Two of one process, and what differs."""

    def __init__(self, program, folder, name):
        self.program, self.files = program, [str(folder / (name + "." + which)) for which in "ab"]

    def take(self, nth, pid):
        done = subprocess.run(
            [self.program, "census", str(pid), "-o", self.files[nth]], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    def diff(self):
        told = [subprocess.run([self.program, "census", "diff", *self.files, *flags], capture_output=True, text=True)
                for flags in ([], ["--json"])]
        assert [one.returncode for one in told] == [0, 0], told[0].stderr
        if os.environ.get("LOWTIDE_LEAKS_SHOWN"):
            print("\n== %s\n%s" % (self.files[0], told[0].stdout))
        return Difference(told[0].stdout, json.loads(told[1].stdout))


class Difference:
    def __init__(self, text, told):
        self.text, self.told = text, told
        self.leak = told["grew"][0]
        self.holder = self.leak["holders"][0] if self.leak["holders"] else {"name": None, "kind": None}

    def named(self):
        return self.leak["name"], self.holder["name"], self.holder["kind"]

    def __repr__(self):
        return self.text


def line_of(text):
    """A function is told with the line that it begins at."""
    lines = (LEAKS / "small.py").read_text().splitlines()
    [found] = [number for number, line in enumerate(lines, 1) if line.strip() == text]
    return "small.py:%d" % found


# Those of Python's own objects: (group, holder, its type).
SMALL = {
    "attribute": ("bytes", "Metrics.rows of small.metrics", "list"),
    "log-history": ("bytes", "Run.log_history of small.run", "list"),
    "closure": ("bytes", "seen in the closure of do in main() " + line_of("def main(kind):"), "dict"),
    "lru-cache": ("bytes", "lru_cache of small.load", "dict"),
    "thread": ("bytes", "collected in run() %s, another thread" % line_of("def run(self):"), "list"),
    "moved": ("bytes", "Moved.history of small.moved", "list"),
}


@pytest.mark.parametrize("kind", SMALL)
def test_what_python_keeps(kind, program, tmp_path):
    job = subprocess.Popen(
        [sys.executable, str(LEAKS / "small.py"), kind], env=environment(), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )
    censuses = Censuses(program, tmp_path, kind)
    for nth, steps in enumerate((FIRST, MORE)):
        print(steps, file=job.stdin, flush=True)
        assert job.stdout.readline().startswith("at ")
        censuses.take(nth, job.pid)
    job.kill()
    job.communicate()
    found = censuses.diff()
    assert found.named() == SMALL[kind], found
    assert found.leak["count"] == pytest.approx(MORE * 3, rel=0.1), found
    assert found.leak["bytes"] == pytest.approx(MORE * 3 * 20_000, rel=0.1), found


# What each lab leaks: (group, holder, its type), and how many a step.
LAB = {
    "list_leak": (("str", "list_leak.history", "list"), 100),
    "lru_cache": (("bytearray", "lru_cache of lru_cache.load", "functools._lru_cache_wrapper"), None),
    "first_epoch_cache": (("bytearray", "first_epoch_cache.decoded", "dict"), 8),
    "worker_leak": (("bytearray", "worker_leak.kept", "list"), 1),
}
SIZES = {"list_leak": "0.01", "lru_cache": "4", "first_epoch_cache": "0.02", "worker_leak": "0.05"}


@pytest.mark.parametrize("lab", LAB)
def test_labs(lab, program, tmp_path):
    job = subprocess.Popen(
        [sys.executable, str(LABS / (lab + ".py")), "--steps", "600", "--seconds", "30", "--size", SIZES[lab]],
        env=environment(), stdout=subprocess.PIPE, text=True,
    )
    os.set_blocking(job.stdout.fileno(), True)
    progress = Progress(job)
    censuses = Censuses(program, tmp_path, lab)
    bounds = []
    for nth, steps in enumerate((8, 8 + MORE)):
        before = progress.until(steps)
        # Of the two workers the second one leaks.
        pid = children(job.pid)[1] if lab == "worker_leak" else job.pid
        censuses.take(nth, pid)
        bounds.append((before, progress.now()))
    job.kill()
    job.communicate()
    found = censuses.diff()
    expected, each = LAB[lab]
    assert found.named() == expected, found
    if each:
        (first, first_at_most), (last, last_at_most) = bounds
        least, most = last - first_at_most - 1, last_at_most - first + 1
        assert least * each * 0.9 <= found.leak["count"] <= most * each * 1.1, (bounds, found)


class Progress:
    """What a lab says of its steps: `step N/M`, a line each."""

    def __init__(self, job):
        self.job, self.step, self.rest = job, 0, ""

    def until(self, step):
        while self.step < step:
            self._take(os.read(self.job.stdout.fileno(), 4096))
        return self.step

    def now(self):
        os.set_blocking(self.job.stdout.fileno(), False)
        try:
            self._take(os.read(self.job.stdout.fileno(), 1 << 16))
        except BlockingIOError:
            pass
        os.set_blocking(self.job.stdout.fileno(), True)
        return self.step

    def _take(self, came):
        assert came, "the lab has ended"
        lines = (self.rest + came.decode()).split("\n")
        self.rest = lines.pop()
        for line in lines:
            self.step = int(re.match(r"step (\d+)/", line).group(1))


def children(pid):
    return [int(child) for child in Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()]


BATCHES = 2  # of a step: --accumulate
SIDE = 512  # of a picture
# What each training leaks: (group, holder, its type), how many a step, and the bytes of a step.
TRAININGS = {
    "list": (["--leak", "list"], ("Tensor cpu float32 [512, 1176]", "leaks.KEPT", "list"),
             BATCHES, BATCHES * 512 * 1176 * 4),
    "collator": (["--leak", "collator"], ("Image RGB 512x512 decoded", "LeakyCollator.seen", "list"),
                 2 * BATCHES, 2 * BATCHES * SIDE * SIDE * 4),
    "graph": (["--leak", "graph", "--batch", "1"], ("autograd step", "LeakyTrainer.total of trainer in main()", "torch.Tensor"), None, None),
    "kept": (["--images", "kept"], ("Image RGB 512x512 decoded", "Kept.rows", "list"),
             None, 2 * BATCHES * SIDE * SIDE * 4),
    "log-history": (["--leak", "log-history"], ("float", "TrainerState.log_history", "list"),
                    100_000, 100_000 * 24),
    "worker": (["--leak", "worker", "--workers", "1"], ("bytes", "leaks.KEPT", "list"), 4, 4_000_000),
}


class Training:
    """It goes on by a step with each line that is taken from its trace, which is a pipe."""

    def __init__(self, server, folder, name, flags):
        self.trace = folder / (name + ".trace")
        os.mkfifo(self.trace)
        arguments = ["--out", str(folder / name), "--threads", "1", "--no-callback", "--examples", "96",
                     "--steps", "1000", "--trace", str(self.trace), *flags]
        print(json.dumps(arguments), file=server.stdin, flush=True)
        self.pid = int(server.stdout.readline())

    def steps(self, count):
        """At the end it waits for somebody who takes the line of the next one."""
        for _ in range(count):
            with open(self.trace) as file:
                assert file.read().startswith("step ")
        self.is_waiting()

    def is_waiting(self):
        """In the open() of its trace."""
        state = Path("/proc/%d/wchan" % self.pid)
        while state.read_text() != "wait_for_partner":
            time.sleep(0.01)


@pytest.fixture(scope="module")
def trained(program, tmp_path_factory):
    """Every training's two censuses, one after the other."""
    pytest.importorskip("torch")
    pytest.importorskip("peft")
    folder = tmp_path_factory.mktemp("leaks")
    steps_file = folder / "graph-steps"
    server = subprocess.Popen(
        [sys.executable, str(LEAKS / "trainings.py")], env={**environment(), "GRAPH_STEPS": str(steps_file)}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )
    assert server.stdout.readline() == "ready\n"
    found = {}
    for name, (flags, *_) in TRAININGS.items():
        training = Training(server, folder, name, flags)
        censuses = Censuses(program, folder, name)
        for nth, steps in enumerate((TRAINED, TRAINED_MORE)):
            training.steps(steps)
            censuses.take(nth, children(training.pid)[0] if name == "worker" else training.pid)
            if name == "graph":
                os.kill(training.pid, signal.SIGUSR1)
                truth = lines_of(steps_file, nth + 1)
        found[name] = censuses.diff()
        if name == "graph":
            found[name].truth = int(truth[1]) - int(truth[0])
        os.kill(training.pid, 9)
    server.kill()
    server.communicate()
    return found


def lines_of(file, count):
    """All lines of a file, once it has so many."""
    while True:
        lines = file.read_text().split("\n") if file.exists() else [""]
        if len(lines) > count:
            return lines[:count]
        time.sleep(0.01)


@pytest.mark.parametrize("name", TRAININGS)
def test_trainings(name, trained):
    _, (group, holder, kind), count, size = TRAININGS[name]
    found = trained[name]
    assert (found.leak["name"], found.holder["kind"]) == (group, kind), found
    assert found.holder["name"].startswith(holder), found
    if count:
        assert found.leak["count"] == pytest.approx(TRAINED_MORE * count, rel=0.1), found
    if size:
        assert found.leak["bytes"] == pytest.approx(TRAINED_MORE * size, rel=0.1), found


def test_steps_of_a_graph_are_those_that_torch_counts(trained):
    assert trained["graph"].leak["count"] == pytest.approx(trained["graph"].truth, rel=0.01), trained["graph"]


def test_a_storage_that_was_asked_for_is_its_tensors(trained):
    """The leak asks each tensor for its storage: what is left of that belongs to the list, too."""
    [storages] = [one for one in trained["list"].leak["with"] if one["name"] == "torch.storage.UntypedStorage"]
    assert storages["count"] == TRAINED_MORE * BATCHES, trained["list"]


def test_locals_of_a_program_that_calls_all_the_time(program, tmp_path):
    job = subprocess.Popen(
        [sys.executable, str(LEAKS / "busy.py")], env=environment(), stdout=subprocess.PIPE, text=True
    )
    assert job.stdout.readline() == "ready\n"
    names = []
    for _ in range(5):
        done = subprocess.run([program, "census", str(job.pid), "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        names.append([holder["name"] for holder in json.loads(done.stdout)["heap"]["holders"][:1]])
    job.kill()
    job.communicate()
    assert names == [["rows in main() busy.py:23"]] * 5
