"""Leaks beside harmless growth: one part ends, the other does not."""

import collections

from driver import kind
from memory import block, mapped


def both(job, harmless):
    """A leak from the first step on, beside what `harmless` does with as much."""
    half = job.growth(0.8, 3) / 2
    size, kept, step_ = half / job.steps, [], harmless(half)

    def step(now):
        kept.append(block(size))
        job.leak(size)
        step_(now)

    return step


@kind("leak-and-first-pass", leak=True, epochs=(1.5, 10))
def first_pass(job):
    """A cache that ends with the first pass, and a leak that does not."""

    def harmless(total):
        size, cache = total / job.examples, {}

        def step(now):
            for index in job.batch(now):
                if index not in cache:
                    cache[index] = block(size)
                    job.hold(size)

        return step

    return both(job, harmless)


@kind("leak-and-ring", leak=True)
def ring(job):
    """A ring that gets full, and a leak that does not end."""
    full = job.capacity(0.1, 0.7)

    def harmless(total):
        ring = collections.deque(maxlen=full)

        def step(now):
            ring.append(block(total / full))
            if now <= full:
                job.hold(total / full)

        return step

    return both(job, harmless)


@kind("leak-and-curriculum", leak=True)
def curriculum(job):
    """Inputs that become longer in stages, and a leak from the first step on."""
    stages = job.pick.randint(3, 6)
    length = max(2, round(job.steps * job.pick.uniform(0.4, 0.8) / stages))

    def harmless(total):
        held = []

        def step(now):
            if now % length == 1 and len(held) < stages:
                held.append(mapped(total / stages))
                job.hold(total / stages)

        return step

    return both(job, harmless)


@kind("leak-and-optimizer", leak=True)
def optimizer(job):
    """Optimizer state in the first steps, and a leak from the first step on."""

    def harmless(total):
        held = []

        def step(now):
            if now <= 8:
                held.append(block(total / 8))
                job.hold(total / 8)

        return step

    return both(job, harmless)
