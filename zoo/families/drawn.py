"""Caches without a bound over keys that are drawn with replacement: growth fades as fewer keys are new."""

import math

from driver import kind
from families.lru import zipf
from memory import block


def cache(job, keys, key, seen):
    size, kept = job.growth() / seen, {}
    job.ceiling = size * keys

    def step(now):
        for _ in range(job.batch_size):
            index = key()
            if index not in kept:
                kept[index] = block(size)
                job.hold(size)

    return step


@kind("drawn-uniform")
def uniform(job):
    """Examples are drawn with replacement, all equally likely, and each is kept when it is first drawn."""
    keys = job.capacity(0.05, 1.0) * job.batch_size
    # Until one key in fifty is still to come.
    job.fills_in = keys / job.batch_size * math.log(50)
    seen = keys * (1 - math.exp(-job.steps * job.batch_size / keys))
    return cache(job, keys, lambda: job.pick.randrange(keys), seen)


@kind("drawn-zipf")
def skewed(job):
    """Examples are drawn with replacement, a few of them often, and each is kept when it is first drawn."""
    keys = job.capacity(0.03, 0.5) * job.batch_size
    power = job.pick.uniform(0.6, 1.2)
    sums = sum(1 / (n + 1) ** power for n in range(keys))
    draws = job.steps * job.batch_size
    seen = sum(1 - math.exp(-draws / sums / (n + 1) ** power) for n in range(keys))
    return cache(job, keys, zipf(job, keys, power), seen)


@kind("drawn-weighted", epochs=(2, 15))
def weighted(job):
    """A weighted sampler: two thirds of the draws come from a tenth of the examples, and first draws are kept."""
    keys = job.examples
    few = max(1, keys // 10)
    key = lambda: job.pick.randrange(few) if job.pick.random() < 2 / 3 else job.pick.randrange(keys)
    draws = job.steps * job.batch_size
    seen = few + (keys - few) * (1 - math.exp(-draws / 3 / keys))
    return cache(job, keys, key, seen)
