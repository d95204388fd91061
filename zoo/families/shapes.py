"""Something is compiled for every new shape of the input: jumps, ever rarer, that end with the shapes."""

import time

from driver import kind
from families.lru import zipf
from memory import block


def compiled(job, shapes, draw, limit):
    size, kept = job.growth(0.5, 2) / limit, {}
    job.ceiling = size * limit
    slow = min(2.0, job.step_seconds * 4)

    def step(now):
        shape = draw(now)
        if shape not in kept and len(kept) < limit:
            time.sleep(slow)
            kept[shape] = block(size)
            job.hold(size)

    return step


@kind("compile-shapes")
def buckets(job):
    """Each length bucket is compiled when it first comes; long ones are rare."""
    shapes = round(job.draw(5, 60))
    key = zipf(job, shapes, job.pick.uniform(0.5, 1.2))
    return compiled(job, shapes, lambda now: key(), shapes)


@kind("compile-limit")
def limited(job):
    """Shapes hardly repeat, but after so many compilations the compiler gives up."""
    limit = job.pick.choice([4, 8, 8, 16])
    rare = job.draw(0.02, 0.15)
    return compiled(job, 10_000, lambda now: now if job.pick.random() < rare else 0, limit)


@kind("graphs-per-batch-size", epochs=(4, 20))
def captured(job):
    """A graph is captured for each new size of the last, smaller batch of an epoch, so at epoch ends only; there are few sizes."""
    sizes = job.pick.randint(2, 6)
    draw = lambda now: job.pick.randrange(1, sizes) if job.ends_epoch(now) else 0
    return compiled(job, sizes, draw, sizes)
