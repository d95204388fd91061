"""Steps from the memory of every CPython that can be had here, 3.9 to 3.15; and those that must be refused, with the reason.

A stand-in for Trainer's objects and a loop over tqdm, because torch is not there for most of them. They run without
output, in roots of their own where they come from another distribution, and are attached to in the middle.
"""

import pytest
from conftest import ROOT
from inside import recordings
from inside.recordings import Job

JOBS = ROOT / "tests" / "python" / "jobs"
# At once: each is a Python that sleeps and a lowtide that watches it.
SIDE_BY_SIDE = 12

REFUSED = {
    "free-threaded": "free-threaded CPython",
    "pypy": "PyPy",
    "stripped": "stripped of all symbols",
}


class Installed(Job):
    """A job of one interpreter, whose log may lie in another root."""

    def __init__(self, interpreter, folder, script, *arguments, tqdm="newest", needs=()):
        super().__init__("%s %s" % (interpreter, script), folder, needs)
        self.interpreter = interpreter
        self.log = str(interpreter.folder(self.folder) / "log")
        inside = interpreter.inside(self.log)
        command = interpreter.command(JOBS / script, "--log", inside, *arguments)
        self.start(command, interpreter.environment(tqdm))


def watched(program, jobs, enough=recordings.ENOUGH):
    try:
        recordings.begun(jobs)
        for job in jobs:
            job.attach(program)
        recordings.recorded(program, jobs, enough=enough)
        for job in jobs:
            job.detach()
        return [(job, job.judged(program)) for job in jobs]
    finally:
        for job in jobs:
            job.end()


def in_groups(things):
    return [things[at : at + SIDE_BY_SIDE] for at in range(0, len(things), SIDE_BY_SIDE)]


def readable(interpreters):
    refused = ("stripped",)
    return [each for each in interpreters if each.kind == "cpython" and each.build not in refused]


def check(program, folder, interpreters, *job, needs=(), **more):
    bad = []
    for group in in_groups(readable(interpreters)):
        for one, what in watched(program, [Installed(each, folder, *job, needs=needs, **more) for each in group]):
            print("%-40s %s" % (one.name, what))
            counted = {"total": what.totals, "epoch": what.epochs}
            missing = [need for need in one.needs if not counted[need]["right"]]
            if what.word != "right" or missing:
                bad.append("%s: %s, never told: %s\n%s" % (one.name, what, missing, one.said))
    assert not bad, "\n".join(bad)


def test_a_trainers_state_on_every_interpreter(program, tmp_path, interpreters):
    job = ["standin_trainer.py", "--epochs=200", "--accumulate=2", "--seconds=0.03"]
    check(program, tmp_path, interpreters, *job, needs=("total", "epoch"))


@pytest.mark.parametrize("tqdm", ["newest", "older"])
def test_a_bar_on_every_interpreter(program, tmp_path, interpreters, tqdm):
    check(program, tmp_path, interpreters, "tqdm_loop.py", tqdm=tqdm)


def test_the_epoch_that_a_bar_is_in_on_every_interpreter(program, tmp_path, interpreters):
    job = ["tqdm_loop.py", "--epochs=40", "--steps=60"]
    check(program, tmp_path, interpreters, *job, needs=("total",))


def test_others_are_refused_with_the_reason(program, tmp_path, interpreters):
    jobs = []
    for each in interpreters:
        kind = each.build if each.build in REFUSED else each.kind
        if kind in REFUSED:
            jobs.append((Installed(each, tmp_path, "tqdm_loop.py"), REFUSED[kind]))
    assert jobs, "none of them can be had here"
    try:
        recordings.begun([job for job, _ in jobs])
        for job, reason in jobs:
            job.attach(program)
            said = job.folder / "said"
            recordings.wait_until(lambda: "%s: %s" % (job.name, said.read_text()), lambda: reason in said.read_text())
            job.detach()
            assert job.judged(program).word == "none", job.name
    finally:
        for job, _ in jobs:
            job.end()
