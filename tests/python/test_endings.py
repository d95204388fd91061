"""Growth that ends and growth that does not: real processes, judged at every moment of their run.

A moment is the recording up to there, as a killed lowtide would have left it: how many there are does not
depend on how busy the machine is. Nobody tells the length of an epoch, so no straight line may be called a
leak; what is reserved shows where it ends; and a leak is shown to grow, with its rate.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

JOB = Path(__file__).parent / "jobs" / "endings.py"
KINDS = json.loads(subprocess.check_output([sys.executable, str(JOB), "list"]))
HARMLESS = KINDS["harmless"]
# The one that prints its epochs, and those that tell nothing.
KNOWN = "epochs"
LEAKS = [kind for kind in KINDS["leaks"] if kind != KNOWN]


# Moments of a run at which it is judged, and how long the jobs take where nobody holds them up.
MOMENTS = 40
SECONDS = 40


class Watched:
    """One job under `lowtide run`, and what was to be said of it at every moment."""

    def __init__(self, program, folder, kind):
        self.program, self.kind = program, kind
        self.recording = folder / kind
        environment = {**os.environ, "LOWTIDE_HOME": str(folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
        self.pace = folder / f"{kind}.pace"
        job = [sys.executable, str(JOB), kind, "--seconds", str(SECONDS), "--pace", str(self.pace)]
        command = [program, "run", "-o", str(self.recording), "--", *job]
        self.log = open(folder / f"{kind}.log", "wb")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, env=environment)
        self.verdicts = []

    def judge(self, *flags, recording=None):
        command = [self.program, "judge", str(recording or self.recording), "--json", *flags]
        answer = subprocess.run(command, capture_output=True, text=True)
        return json.loads(answer.stdout)

    def judge_every_moment(self, folder):
        [file] = self.recording.iterdir()
        recorded = file.read_bytes()
        folder.mkdir()
        for moment in range(1, MOMENTS):
            (folder / file.name).write_bytes(recorded[: len(recorded) * moment // MOMENTS])
            self.verdicts.append(self.judge(recording=folder))
        self.verdicts.append(self.judge())

    def words(self):
        return [(v["verdict"], round(v["floor"]["last"] / 1e6), v["settled_at"]) for v in self.verdicts]


@pytest.fixture(scope="module")
def jobs(program, tmp_path_factory):
    """All of them side by side: they mostly sleep."""
    folder = tmp_path_factory.mktemp("endings")
    started = {kind: Watched(program, folder, kind) for kind in [*HARMLESS, *LEAKS, KNOWN]}
    for kind, job in started.items():
        assert job.process.wait() == 0, job.log.name
        job.log.close()
        job.judge_every_moment(folder / f"{kind}-cut")
    return started


@pytest.mark.parametrize("kind", HARMLESS)
def test_no_harmless_job_is_accused_at_any_moment(jobs, kind):
    job = jobs[kind]
    assert all(verdict["verdict"] != "leak" for verdict in job.verdicts), job.words()


def test_a_reserved_buffer_is_a_warm_up_long_before_it_is_full(jobs):
    job = jobs["replay"]
    end = job.verdicts[-1]["floor"]["last"]
    under_way = [v for v in job.verdicts if v["verdict"] == "warm-up" and v["settled_at"] is None]
    early = [v for v in under_way if v["floor"]["last"] < 0.6 * end]
    assert early, job.words()
    for verdict in early:
        assert verdict["bound"]["kind"] == "reserved" and verdict["leaking"] is False
        assert verdict["predicted_plateau"] == pytest.approx(end, rel=0.05), job.words()
    assert job.verdicts[-1]["verdict"] == "warm-up", job.words()


@pytest.mark.parametrize("kind", LEAKS)
def test_a_leak_is_shown_to_grow_and_no_end_is_invented(jobs, kind):
    job = jobs[kind]
    last = job.verdicts[-1]
    assert last["verdict"] == "too-early" and last["growing"] is True, job.words()
    assert last["rate"]["value"] == pytest.approx(float(job.pace.read_text()), rel=0.1)
    assert last["bound"] is None and last["predicted_plateau"] is None
    assert not any(v["bound"] for v in job.verdicts), "an arena is nothing reserved"
    told = job.judge("--epoch-steps", "150")
    assert told["verdict"] == "leak", told


def test_a_leak_that_outlasts_the_printed_epochs_is_told(jobs):
    job = jobs[KNOWN]
    first = [v for v in job.verdicts if v["growth"] and v["growth"]["to"] < 130]
    assert first and all(v["verdict"] == "too-early" for v in first), job.words()
    assert job.verdicts[-1]["verdict"] == "leak", job.words()
    assert any(e["rule"] == "growth outlasts the epoch" for e in job.verdicts[-1]["evidence"])


@pytest.mark.parametrize("kind", [*HARMLESS, *LEAKS, KNOWN])
def test_what_the_run_needed_was_foreseen(jobs, kind):
    """From a quarter of the steps on, and told as a range around both futures."""
    job = jobs[kind]
    needed = job.verdicts[-1]["outlook"]
    assert needed["seconds"] == 0 and needed["fits"] in ("yes", None), needed
    peak = needed["needs"]["value"]
    asked = [v["outlook"] for v in job.verdicts if v["outlook"]]
    late = [o for o in asked if o["seconds"] <= 0.75 * SECONDS]
    assert len(late) >= 5, job.words()
    foreseen = [o for o in late if o["needs"]["low"] <= 1.001 * peak and o["needs"]["high"] >= 0.999 * peak]
    assert len(foreseen) >= 0.9 * len(late), [(o["needs"], peak) for o in late if o not in foreseen]
