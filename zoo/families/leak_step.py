"""Leaks: every step leaves something behind in Python."""

import gc

from driver import kind
from memory import block, records


def each(job, make):
    size, kept = job.growth(0.3, 4) / job.steps, []

    def step(now):
        kept.append(make(size))
        job.leak(size)

    return step


@kind("step-objects", leak=True)
def objects(job):
    """A list of small Python objects that only grows."""
    return each(job, records)


@kind("step-bytes", leak=True)
def byte_arrays(job):
    """A list keeps a buffer of every step."""
    return each(job, block)


@kind("step-arrays", leak=True)
def arrays(job):
    """A dict keeps the output array of every step by its number."""
    import numpy as np

    return each(job, lambda size: np.ones(max(1, int(size)), np.uint8))


@kind("step-cycles", leak=True)
def cycles(job):
    """Cycles with the collector off: nobody ever frees them."""
    gc.disable()
    size = job.growth(0.3, 4) / job.steps

    def step(now):
        node = [block(size)]
        node.append(node)
        job.leak(size)

    return step


@kind("step-uneven", leak=True)
def uneven(job):
    """Only failed steps leave their batch behind, which is of very different size."""
    often = job.draw(0.1, 0.6)
    size, kept = job.growth(0.4, 4) / job.steps / often, []

    def step(now):
        if job.pick.random() < often:
            one = size * min(6.0, job.pick.lognormvariate(-0.3, 0.8))
            kept.append(block(one))
            job.leak(one)

    return step


@kind("dataset-with-new-keys", leak=True, epochs=(2, 20))
def keys(job):
    """A cache by example and augmentation: no key ever comes twice, so the cache never helps and never ends."""
    size, kept = job.growth(0.4, 4) / job.steps / job.batch_size, {}

    def step(now):
        for index in job.batch(now):
            kept[index, now] = block(size)
            job.leak(size)

    return step


@kind("graph-kept", leak=True)
def graph(job):
    """The running loss is a tensor with its graph, so the graphs of all steps stay."""
    import torch

    torch.set_num_threads(1)
    numbers = int(job.growth(0.8, 2) / job.steps / 4 / 2)
    weight = torch.ones(max(1, numbers), requires_grad=True)
    total = torch.zeros(())

    def step(now):
        nonlocal total
        # exp keeps its result, the product keeps both factors: two buffers of that size in all.
        total = total + ((weight * 0.5).exp() * weight.detach().add(now)).sum()
        job.leak(2 * 4 * numbers)

    return step
