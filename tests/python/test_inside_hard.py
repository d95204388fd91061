"""Programs that are hard to read from outside: their steps are right or there are none, and never wrong ones."""

import sys

import pytest

from inside import recordings
from inside.recordings import HERE, Job, Nursery

pytest.importorskip("tqdm")

LOOPS = (
    "two_threads", "one_after_another", "gan", "remade", "remade_described", "remade_of", "remade_update", "nested",
    "nested_disabled", "disabled", "evaluated", "evaluated_each_epoch", "prepared", "downloaded", "only_downloaded",
    "examples", "examples_unit", "resumed", "decoys", "only_decoys", "collected", "dies", "becomes", "becomes_itself",
    "many_bars", "pauses", "reset", "uneven", "frozen", "own_class", "three_levels", "float_total", "float_count", "auto",
)
PROCESSES = ("spawn", "forkserver", "fork", "subinterpreter", "both_interpreters")
TRAINERS = (
    "made_twice", "kept", "trained_twice", "resumed", "loaded", "only_loaded", "subclass", "thread", "two_trainers",
    "evaluates", "two_loaders", "gan", "only_reads",
)
UPDATES = (
    "until_told", "fused", "plain_sgd", "returns_early", "stream", "statistics", "searches", "watched_thread", "scores",
    "line_search", "sharpness",
)
# Without a doubt there are steps to be read in these.
SURE = {
    "one_after_another", "nested", "evaluated", "downloaded", "resumed", "decoys", "collected", "many_bars", "pauses",
    "dies", "auto", "float_total", "made_twice", "kept", "trained_twice", "loaded", "subclass", "evaluates",
    "until_told", "fused", "plain_sgd", "returns_early", "stream", "watched_thread",
}


def finish(program, jobs):
    """Attaches to programs as soon as each has begun, and judges them when they are over."""
    try:
        waiting = list(jobs)

        def attach():
            for job in list(waiting):
                if job.steps() >= 3:
                    # A child that loops is watched with its parent.
                    job.pid = job.process.pid if job.process else None
                    job.attach(program)
                    waiting.remove(job)
            return not waiting

        recordings.wait_until(lambda: "; ".join("%s %s" % (job.name, job.why_not()) for job in waiting), attach)
        for job in jobs:
            job.watched_to_the_end()
    finally:
        for job in jobs:
            job.end()
    bad = []
    for job in jobs:
        found = job.judged(program)
        print("%-22s %s" % (job.name, found))
        if found.word == "wrong":
            bad.append("%s: %s" % (job.name, found))
        elif job.name in SURE and not found.right:
            bad.append("%s has steps to be read: %s" % (job.name, found))
    assert not bad, "\n".join(bad)


def start(folder, script, kinds):
    jobs = []
    for kind in kinds:
        job = Job(kind, folder)
        job.start([sys.executable, "-W", "ignore", str(HERE / "hard" / script), kind], recordings.environment())
        jobs.append(job)
    return jobs


@pytest.mark.parametrize("part", (0, 1))
def test_loops(program, tmp_path, part):
    finish(program, start(tmp_path, "loops.py", LOOPS[part::2]))


def test_children_and_interpreters(program, tmp_path):
    finish(program, start(tmp_path, "processes.py", PROCESSES))


def test_trainers(program, tmp_path):
    pytest.importorskip("transformers")
    nursery = Nursery(("torch", "transformers", "accelerate", "tqdm"))
    try:
        jobs = [Job(kind, tmp_path) for kind in TRAINERS]
        for job in jobs:
            nursery.start(job, "../hard/trainers.py", job.name)
        finish(program, jobs)
    finally:
        nursery.close()


def test_updates(program, tmp_path):
    pytest.importorskip("torch")
    nursery = Nursery(("torch", "tqdm"))
    try:
        jobs = [Job(kind, tmp_path) for kind in UPDATES]
        for job in jobs:
            nursery.start(job, "../hard/updates.py", job.name)
        finish(program, jobs)
    finally:
        nursery.close()
