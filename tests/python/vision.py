"""Runs of examples/vision under `lowtide run`, each mode once, shared by all tests that need it.

With LOWTIDE_VISION_RUNS set to a folder, recordings are kept there and found again by the next
test run: for working on the judge without training again.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from conftest import PACKAGE, ROOT

TRAIN = ROOT / "examples" / "vision" / "train.py"

COMMON = ["--threads", "1", "--seed", "1"]
LEAK = ["--steps", "48", "--every", "12"]
KEPT = ["--images", "kept", "--examples", "80", "--image-size", "1024", "--epochs", "3", "--every", "8"]
# Where the kept run is judged the first time: two thirds of its first epoch of 20 steps.
KEPT_EPOCH, EARLY_STEP = 20, 14

MODES = {
    "kept": KEPT,
    "kept-no-callback": [*KEPT, "--no-callback"],
    "on-demand": ["--examples", "80", "--image-size", "1024", "--epochs", "3", "--every", "12"],
    # Long enough between evaluations that the floor there can be seen to be flat.
    "eval": ["--steps", "120", "--eval-every", "30", "--eval-examples", "48", "--every", "12"],
    "list": ["--leak", "list", *LEAK],
    "list-no-callback": ["--leak", "list", *LEAK, "--no-callback"],
    "collator": ["--leak", "collator", *LEAK],
    "native": ["--leak", "native", *LEAK],
    "graph-aux": ["--leak", "graph-aux", *LEAK],
    # One graph for each batch of the accumulation: small batches, many graphs.
    "graph": ["--leak", "graph", "--steps", "96", "--every", "12", "--batch", "1", "--accumulate", "8"],
    "worker": ["--leak", "worker", "--workers", "1", *LEAK],
    "log-history": ["--leak", "log-history", *LEAK],
}

LEAKED = re.compile(r"leaked ([\d,]+) bytes in each of (\d+) steps")
KEPT_SIZE = re.compile(r"each picture takes ([\d,]+) bytes once decoded")


class Recording:
    def __init__(self, program, name, folder, output, early):
        self.program, self.name, self.folder, self.output = program, name, folder, output
        self.early = early
        self._verdict = None

    @property
    def verdict(self):
        """What `lowtide judge` says about the whole run, without any flag."""
        if self._verdict is None:
            self._verdict = judge(self.program, self.folder)
        return self._verdict

    @property
    def leaked(self):
        """Bytes leaked in each step, as the run itself counted them."""
        return int(LEAKED.search(self.output).group(1).replace(",", ""))

    @property
    def decoded(self):
        return int(KEPT_SIZE.search(self.output).group(1).replace(",", ""))

    def __repr__(self):
        return "<%s: %s>\n%s" % (self.name, json.dumps(self.verdict), self.output[-2000:])


class Recordings:
    def __init__(self, program, folder):
        self.program = program
        given = os.environ.get("LOWTIDE_VISION_RUNS")
        self.folder = Path(given) if given else folder
        self._made = {}

    def __getitem__(self, name):
        if name not in self._made:
            self._made[name] = self._find(name) or self._run(name)
        return self._made[name]

    def _find(self, name):
        log = self.folder / (name + ".log")
        if not log.exists():
            return None
        early = self.folder / (name + ".early.json")
        verdict = json.loads(early.read_text()) if early.exists() else None
        return Recording(self.program, name, self.folder / name, log.read_text(), verdict)

    def _run(self, name):
        place = self.folder / name
        train = [sys.executable, str(TRAIN), "--out", str(self.folder / (name + ".out")), *COMMON, *MODES[name]]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LOWTIDE_")}
        environment.update(PYTHONPATH=str(PACKAGE), PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1")
        # A runtime folder of its own (a socket's path has to be short): other tests and users of
        # this machine come and go in the common one.
        runtime = tempfile.mkdtemp(prefix="lt-")
        environment["XDG_RUNTIME_DIR"] = runtime
        job = subprocess.Popen(
            # These runs last a dozen seconds on a quiet machine: more looks than one for a long night.
            [self.program, "run", "-i", "200ms", "-o", str(place), "--", *train],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        reader = Output(job.stdout)
        early = None
        if name == "kept":
            # The bar shows each step as it is done: judge while the run goes on.
            reader.wait_for(re.compile(rb"\b%d/%d \[" % (EARLY_STEP, 3 * KEPT_EPOCH)))
            early = judge(self.program, place)
            (self.folder / (name + ".early.json")).write_text(json.dumps(early))
        code = job.wait()
        output = reader.text()
        shutil.rmtree(runtime, ignore_errors=True)
        assert code == 0, "%s ended with %s:\n%s" % (name, code, output[-4000:])
        (self.folder / (name + ".log")).write_text(output)
        return Recording(self.program, name, place, output, early)


class Output:
    """All that a job writes, read as it comes so that the job never waits for us."""

    def __init__(self, pipe):
        self._pipe = pipe
        self._data = b""
        self._news = threading.Condition()
        self._done = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        while True:
            piece = self._pipe.read1(65536)
            with self._news:
                self._data += piece
                self._done = not piece
                self._news.notify_all()
            if not piece:
                return

    def wait_for(self, pattern):
        with self._news:
            self._news.wait_for(lambda: self._done or pattern.search(self._data))
            assert pattern.search(self._data), self._data[-4000:].decode(errors="replace")

    def text(self):
        self._thread.join()
        return self._data.decode(errors="replace")


def judge(program, source, *flags, verb="judge"):
    done = subprocess.run([program, verb, str(source), "--json", *flags], capture_output=True, text=True)
    assert done.returncode in (0, 1, 3), done.stderr
    return json.loads(done.stdout)
