"""Leaks that go with evaluations, saves, epochs or log calls, not with steps."""

from driver import Hooks, kind
from memory import block, records


def keeper(job, events, make=block):
    size, kept = job.growth(0.4, 3) / max(1, events), []

    def event(now):
        kept.append(make(size))
        job.leak(size)

    return event


@kind("per-eval", leak=True, evals=True)
def evaluation(job):
    """Each evaluation leaves its outputs behind."""
    return Hooks(eval=keeper(job, job.steps // job.eval_every))


@kind("per-save", leak=True, saves=True)
def save(job):
    """Each save leaves its staging copy behind."""
    return Hooks(save=keeper(job, job.steps // job.save_every))


@kind("per-epoch", leak=True, epochs=(5, 40))
def epoch(job):
    """Each epoch makes a new loader, and the old one stays."""
    return Hooks(epoch=keeper(job, job.steps // job.epoch_steps))


@kind("per-log", leak=True)
def log(job):
    """Each log call keeps a figure."""
    return Hooks(log=keeper(job, job.steps // job.log_every, records))


@kind("per-eval-spiky", leak=True, evals=True)
def spiky(job):
    """Each evaluation has a large spike and leaves a little."""
    keep = keeper(job, job.steps // job.eval_every)
    job.spike = min(job.base, 120_000_000) * job.pick.uniform(0.7, 1)
    return Hooks(eval=keep)
