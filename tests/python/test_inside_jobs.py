"""Steps read from the memory of real jobs, none of which knows lowtide: equal to what each of them logged itself.

Every job runs with its output to nowhere and is attached to in the middle. Those of one set share their imports and
run side by side. The older releases are laid over the environment (`target/older`).
"""

import os
import subprocess
import sys

import pytest

from inside import recordings
from inside.recordings import HERE, Job, Nursery

pytest.importorskip("torch")
pytest.importorskip("trl")

# What a job's memory has to tell, beside its steps.
ALL = ("total", "epoch")
TOTAL = ("total",)
EPOCH = ("epoch",)

TRAINERS = {
    "trainer epochs": ("trainer.py plain epochs", ALL),
    "trainer max_steps": ("trainer.py plain max_steps", ALL),
    "trainer accumulate": ("trainer.py plain accumulate", ALL),
    "trainer evaluate": ("trainer.py plain evaluate", ALL),
    "trainer no bar": ("trainer.py plain no_bar", ALL),
    "trl": ("trainer.py sft epochs", ALL),
    "trl accumulate": ("trainer.py sft accumulate", ALL),
}
LIGHTNING = {
    "lightning epochs": ("lit.py epochs", ALL),
    "lightning max_steps": ("lit.py max_steps", ALL),
    "lightning accumulate": ("lit.py accumulate", ALL),
    "lightning validate": ("lit.py validate", ALL),
    "lightning bar": ("lit.py bar", ALL),
}
ACCELERATE = {
    "accelerate bar": ("accelerated.py bar", TOTAL),
    "accelerate accumulate": ("accelerated.py accumulate", TOTAL),
    "accelerate no bar": ("accelerated.py no_bar", EPOCH),
    "accelerate accumulate no bar": ("accelerated.py accumulate_no_bar", EPOCH),
}
BARS = {
    "bar over a loader": ("bars.py loader", EPOCH),
    "bar with the epoch": ("bars.py described", EPOCH),
    "bar by update": ("bars.py update", TOTAL),
    "nested bars": ("bars.py nested", ALL),
    # Here it runs inside the loop of who started it: that its end is that of the run cannot be known.
    "trange": ("bars.py trange", ()),
}
LOADERS = {
    "loader list": ("loaders.py list", EPOCH),
    "loader subset": ("loaders.py subset", EPOCH),
    # A tensor's size is no Python object; that it is unknown is allowed, that it is wrong is not.
    "loader tensors": ("loaders.py tensors", ()),
    "loader arrow": ("loaders.py arrow", EPOCH),
    "loader sampler": ("loaders.py sampler", EPOCH),
    "loader drop_last": ("loaders.py drop_last", EPOCH),
    "loader computed": ("loaders.py computed", ()),
    "loader iterable": ("loaders.py iterable", ()),
    "loader workers": ("loaders.py workers", EPOCH),
}
OLDER_TRANSFORMERS = (
    "transformers==4.57.6", "huggingface_hub==0.36.0", "tokenizers==0.22.1", "datasets==4.0.0", "trl==0.24.0",
    "fsspec==2025.3.0",
)
# setuptools: this release still imports pkg_resources.
OLDER_LIGHTNING = ("lightning==2.3.3", "pytorch-lightning==2.3.3", "setuptools<70")


def run(program, folder, jobs, modules, older=None):
    """{name: what was found}, of jobs that run side by side."""
    made = {name: Job(name, folder, needs) for name, (_, needs) in jobs.items()}
    nursery = Nursery(modules, older)
    try:
        for name, (command, _) in jobs.items():
            nursery.start(made[name], *command.split())
        return watch(program, list(made.values()))
    finally:
        nursery.close()


def watch(program, jobs):
    try:
        recordings.begun(jobs)
        for job in jobs:
            job.attach(program)
        recordings.recorded(program, jobs)
        for job in jobs:
            job.detach()
    finally:
        for job in jobs:
            if job.pid or os.path.exists(job.log):
                job.pid = job.pid or job.find_pid()
            job.end()
    return {job.name: (job, job.judged(program)) for job in jobs}


def check(found):
    bad = []
    for name, (job, what) in found.items():
        print("%-30s %s" % (name, what))
        counted = {"total": what.totals, "epoch": what.epochs}
        missing = [need for need in job.needs if not counted[need]["right"]]
        if what.word != "right" or missing:
            bad.append("%s: %s%s" % (name, what, "; never told: %s" % missing if missing else ""))
        elif "%d's memory" % job.pid not in job.said:
            bad.append("%s: does not say where its steps are from: %s" % (name, job.said[-500:]))
    assert not bad, "\n".join(bad)


def test_trainers(program, tmp_path):
    check(run(program, tmp_path, TRAINERS, ("torch", "transformers", "trl", "datasets")))


def test_lightning_and_accelerate(program, tmp_path):
    check(run(program, tmp_path, {**LIGHTNING, **ACCELERATE}, ("torch", "lightning", "accelerate")))


def test_bars_and_loaders(program, tmp_path):
    check(run(program, tmp_path, {**BARS, **LOADERS}, ("torch", "tqdm", "datasets")))


def test_a_bar_alone_is_the_run(program, tmp_path):
    job = Job("trange alone", tmp_path, TOTAL)
    job.start([sys.executable, str(HERE / "jobs" / "bars.py"), "trange"], recordings.environment())
    check(watch(program, [job]))


def test_trainers_of_an_older_transformers(program, tmp_path):
    older = recordings.older("transformers", *OLDER_TRANSFORMERS)
    check(run(program, tmp_path, TRAINERS, ("torch", "transformers", "trl", "datasets"), older))


def test_an_older_lightning(program, tmp_path):
    older = recordings.older("lightning", *OLDER_LIGHTNING)
    check(run(program, tmp_path, LIGHTNING, ("torch", "lightning"), older))


def test_an_older_accelerate_and_an_older_tqdm(program, tmp_path):
    accelerate = recordings.older("accelerate", "accelerate==1.0.1")
    tqdm = recordings.older("tqdm", "tqdm==4.60.0")
    jobs = {**ACCELERATE, **BARS}
    check(run(program, tmp_path, jobs, ("torch", "accelerate", "tqdm"), "%s:%s" % (accelerate, tqdm)))


def test_a_job_that_was_started_as_people_start_it(program, tmp_path):
    """The others share their imports by fork; this one is a program with a command line of its own."""
    jobs = []
    for name, command, needs in (("trainer", "trainer.py plain epochs", ALL), ("plain", "bars.py update", TOTAL)):
        job = Job(name, tmp_path, needs)
        script, *argv = command.split()
        job.start([sys.executable, "-W", "ignore", str(HERE / "jobs" / script), *argv], recordings.environment())
        jobs.append(job)
    check(watch(program, jobs))


def test_the_older_releases_are_the_ones_that_run():
    folder = recordings.older("transformers", *OLDER_TRANSFORMERS)
    say = "import importlib.metadata as m; print(m.version('transformers'), m.version('trl'), m.version('torch'))"
    done = subprocess.run([sys.executable, "-c", say], env=recordings.environment(folder), capture_output=True, text=True)
    assert done.stdout.split()[:2] == ["4.57.6", "0.24.0"], done
