"""Runs of examples/vision under `lowtide run`, each mode once, shared by all tests that need it.

With LOWTIDE_VISION_RUNS set to a folder, recordings are kept there and found again by the next
test run: for working on the judge without training again.
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from conftest import PACKAGE, ROOT

TRAIN = ROOT / "examples" / "vision" / "train.py"

COMMON = ["--threads", "1", "--seed", "1"]
# Ten epochs of 12 steps. On a busy machine looks are few and the first steps uneven: with gaps left in recordings of
# six epochs, one in fourteen was too short to know, which was the right answer.
LEAK = ["--examples", "48", "--steps", "120", "--every", "12"]
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
    def __init__(self, program, name, folder, output):
        self.program, self.name, self.folder, self.output = program, name, folder, output
        self._verdict = None

    @property
    def verdict(self):
        """What `lowtide judge` says about the whole run, without any flag."""
        if self._verdict is None:
            self._verdict = judge(self.program, self.folder)
        return self._verdict

    def verdict_at(self, step):
        """What was to be said when this step was the last one done: the recording up to there, as a killed
        lowtide would have left it. A judge of the running job would be as late as the machine is busy."""
        [file] = self.folder.iterdir()
        recorded = file.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            cut = Path(folder) / file.name
            least, most = 0, len(recorded)
            while most - least > 1:
                cut.write_bytes(recorded[: (least + most) // 2])
                if last_step(self.program, folder) > step:
                    most = (least + most) // 2
                else:
                    least = (least + most) // 2
            cut.write_bytes(recorded[:least])
            return judge(self.program, folder)

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
        return Recording(self.program, name, self.folder / name, log.read_text())

    def _run(self, name):
        place = self.folder / name
        train = [sys.executable, str(TRAIN), "--out", str(self.folder / (name + ".out")), *COMMON, *MODES[name]]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LOWTIDE_")}
        environment.update(PYTHONPATH=str(PACKAGE), PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1")
        # A runtime folder of its own (a socket's path has to be short): other tests and users of
        # this machine come and go in the common one.
        runtime = tempfile.mkdtemp(prefix="lt-")
        environment["XDG_RUNTIME_DIR"] = runtime
        job = subprocess.run(
            # These runs last a dozen seconds on a quiet machine: more looks than one for a long night.
            [self.program, "run", "-i", "200ms", "-o", str(place), "--", *train],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        output = job.stdout.decode(errors="replace")
        shutil.rmtree(runtime, ignore_errors=True)
        assert job.returncode == 0, "%s ended with %s:\n%s" % (name, job.returncode, output[-4000:])
        (self.folder / (name + ".log")).write_text(output)
        return Recording(self.program, name, place, output)


def last_step(program, folder):
    """The last step that a recording tells; 0 when it tells none, or not even its beginning is there."""
    marks = subprocess.run(
        [program, "export", str(folder), "--what", "marks", "--format", "csv"], capture_output=True, text=True
    )
    rows = csv.DictReader(io.StringIO(marks.stdout))
    return max((int(row["step"]) for row in rows if row["step"]), default=0)


def judge(program, source, *flags, verb="judge"):
    done = subprocess.run([program, verb, str(source), "--json", *flags], capture_output=True, text=True)
    assert done.returncode in (0, 1, 3), done.stderr
    return json.loads(done.stdout)
