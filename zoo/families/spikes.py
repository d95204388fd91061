"""More for a while, at evaluations and saves, and what they leave once."""

from driver import Hooks, kind
from memory import block, mapped


@kind("eval-spikes", evals=True)
def evaluations(job):
    """Evaluations gather their outputs and free them at their end; each is of another size."""
    most = job.growth(0.5, 2)
    job.settled_at = 1
    passing = []

    def evaluate(now):
        passing.append(mapped(most * job.pick.uniform(0.3, 1)))

    return Hooks(eval=evaluate, step=lambda now: passing.clear())


@kind("async-checkpoint", saves=True)
def checkpoint(job):
    """A save stages a copy and writes it in the background for some steps."""
    size = job.base * job.pick.uniform(0.4, 1.2)
    length = max(1, round(job.save_every * job.draw(0.05, 0.9)))
    staged = []
    job.settled_at = 1

    def save(now):
        staged[:] = [(now, mapped(size))]

    def step(now):
        if staged and staged[0][0] + length <= now:
            staged.clear()

    return Hooks(step=step, save=save)


@kind("first-eval", evals=True)
def first(job):
    """The first evaluation loads its data set and keeps it."""
    size, kept = job.growth(0.4, 2), []
    job.fills_in, job.ceiling = job.eval_every, size

    def evaluate(now):
        if not kept:
            kept.append(block(size))
            job.hold(size)

    return Hooks(eval=evaluate)


@kind("eval-parts", trap=True, evals=True)
def parts(job):
    """Each evaluation takes another part of the evaluation data and caches it; later ones find all of it there."""
    runs = max(1, job.steps // job.eval_every)
    count = max(2, round(runs * job.draw(0.3, 1.2)))
    size, kept = job.growth(0.5, 2) / min(count, runs), {}
    job.fills_in, job.ceiling = count * job.eval_every, size * count

    def evaluate(now):
        part = now // job.eval_every % count
        if part not in kept:
            kept[part] = block(size)
            job.hold(size)

    return Hooks(eval=evaluate)
