"""Caches whose entries go when they are old, not when there are many."""

import collections

from driver import kind
from memory import mapped


def expires(job, age, sweep=1):
    """Each step adds an entry; every `sweep` steps those older than `age` go."""
    size = job.growth() / job.within(age + sweep)
    job.fills_in, job.ceiling = age + sweep - 1, size * (age + sweep - 1)
    kept, job.steady = collections.deque(), sweep == 1

    def step(now):
        kept.append((now, mapped(size)))
        job.hold(size)
        if now % sweep == 0:
            while kept and kept[0][0] <= now - age:
                kept.popleft()
                job.drop(size)

    return step


@kind("ttl")
def ttl(job):
    """Results expire after so many steps."""
    return expires(job, job.capacity(0.05, 0.5))


@kind("ttl-swept")
def swept(job):
    """Results expire, but are only removed by a sweep now and then."""
    age = job.capacity(0.05, 0.3)
    return expires(job, age, max(2, round(age * job.draw(0.2, 1.5))))


@kind("expires-late", trap=True)
def late(job):
    """Results expire late: for most of the run nothing goes."""
    return expires(job, job.capacity(0.5, 0.9))


@kind("expires-at-once", trap=True)
def at_once(job):
    """All results carry the date of one index, and expire together, once or twice in the run."""
    period = job.capacity(0.35, 0.8)
    size = job.growth() / period
    job.fills_in, kept = period, []

    def step(now):
        kept.append(mapped(size))
        job.hold(size)
        if now % period == 0:
            job.settle()
            job.drop(job.held)
            kept.clear()

    return step
