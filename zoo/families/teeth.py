"""Saw-teeth: memory goes up step by step and comes back at once. The blocks are mappings, so that they come back."""

import gc

from driver import kind
from memory import mapped


class Node:
    """A block in a cycle: only the collector frees it."""

    def __init__(self, job, size):
        self.job, self.size, self.pages, self.me = job, int(size), mapped(size), self
        job.hold(size)

    def __del__(self):
        self.job.drop(self.size)


def teeth(job, period):
    job.fills_in = period
    return job.growth(0.4, 2) / job.within(period)


@kind("cycles-collected")
def collected(job):
    """Cycles hold blocks until Python's collector comes by itself."""
    # The collector comes after 700 new containers; the rest of a step makes a few as well.
    period = max(2, round(min(job.draw(4, 100), job.steps / 3)))
    size = teeth(job, period)
    gc.set_threshold(700, 10, 10)
    filler = max(1, 700 // period)
    garbage = []

    def step(now):
        before = job.held
        Node(job, size)
        for _ in range(filler):
            ring = []
            ring.append(ring)
        if job.held < before:
            job.settle()

    return step


@kind("cycles-by-hand")
def by_hand(job):
    """The collector is off, and the loop calls it every so many steps."""
    period = job.capacity(0.02, 0.7)
    size = teeth(job, period)
    gc.disable()

    def step(now):
        Node(job, size)
        if now % period == 0:
            gc.collect()
            job.settle()

    return step


@kind("teeth-irregular")
def irregular(job):
    """Results pile up and are fetched at random times, so the teeth differ in height."""
    period = job.capacity(0.03, 0.25)
    size, kept = teeth(job, period * 2), []

    def step(now):
        kept.append(mapped(size))
        job.hold(size)
        if job.pick.random() < 1 / period or len(kept) > 3 * period:
            job.settle()
            job.drop(job.held)
            kept.clear()

    return step


@kind("teeth-on-warm-up")
def warm(job):
    """Short teeth on top of a ring that fills."""
    full = job.capacity(0.2, 1.5)
    size, ring, kept = job.growth(0.4, 1.5) / job.within(full), [], []
    period = max(3, round(full * job.draw(0.02, 0.2)))
    tooth = job.base * job.pick.uniform(0.1, 0.5) / period
    job.fills_in, job.ceiling, job.steady = full, size * full, False

    def step(now):
        if now <= full:
            ring.append(mapped(size))
            job.hold(size)
        # The teeth are no part of what it holds: they come back.
        kept.append(mapped(tooth))
        if now % period == 0:
            kept.clear()

    return step
