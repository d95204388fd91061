"""Leaks below Python: no object knows of them."""

from driver import kind
from memory import PAGE, mapped, native


def each(job, make, low=0.3, high=4):
    size, kept = job.growth(low, high) / job.steps, []

    def step(now):
        kept.append(make(size))
        job.leak(size)

    return step


@kind("native-malloc", leak=True)
def malloc(job):
    """A library calls malloc once a step and never free."""
    return each(job, native)


@kind("native-small", leak=True)
def small(job):
    """A decoder leaks many small blocks a step."""
    size = job.growth(0.3, 2) / job.steps
    count = max(1, round(size / 2_000))

    def step(now):
        for _ in range(count):
            native(size / count)
        job.leak(size)

    return step


@kind("native-mmap", leak=True)
def anonymous(job):
    """An anonymous mapping a step is never unmapped."""
    size, kept = -(-int(job.growth(0.3, 4) / job.steps) // PAGE) * PAGE, []

    def step(now):
        kept.append(mapped(size))
        job.leak(size)

    return step


@kind("native-shared", leak=True)
def shared(job):
    """Shared memory for a batch is made every few steps and never unmapped."""
    every = job.pick.randint(1, 8)
    size, kept = job.growth(0.3, 3) / job.steps * every, []

    def step(now):
        if now % every == 0:
            kept.append(mapped(size, shared=True))
            job.leak(size)

    return step


@kind("native-arrow", leak=True)
def arrow(job):
    """Buffers inside the arenas of Arrow's pool are kept: often nothing new is mapped."""
    import numpy as np
    import pyarrow

    def make(size):
        buffer = pyarrow.allocate_buffer(max(64, int(size)))
        np.frombuffer(buffer, np.uint8).fill(1)
        return buffer

    return each(job, make)
