"""Stores of fixed size: growth ends when they are full, whatever an epoch is."""

import collections

from driver import kind
from memory import block, records


def plan(job, full):
    """Bytes per step of a store that is full after so many steps."""
    size = job.growth() / job.within(full)
    job.fills_in, job.ceiling = full, size * full
    return size


def ring(job, full, make, rows):
    size = plan(job, full)

    def step(now):
        rows(now, make, size)
        if now <= full:
            job.hold(size)

    return step


@kind("deque-ring")
def deque(job):
    """A deque of bounded length takes one block a step."""
    full = job.capacity()
    kept = collections.deque(maxlen=full)
    return ring(job, full, block, lambda now, make, size: kept.append(make(size)))


@kind("list-ring")
def slots(job):
    """A list of slots, written round and round with small objects."""
    full = job.capacity()
    kept = [None] * full

    def put(now, make, size):
        kept[now % full] = make(size)

    return ring(job, full, records, put)


@kind("array-ring")
def array(job):
    """A replay buffer made by np.zeros: rows exist from when they are first written."""
    import numpy as np

    full = job.capacity()
    size = int(plan(job, full))
    kept = np.zeros((full, size), np.uint8)

    def step(now):
        kept[now % full] = now % 250 + 1
        if now <= full:
            job.hold(size)

    return step


@kind("memory-bank", epochs=(3, 40))
def bank(job):
    """A memory bank of features that is larger than an epoch."""
    full = round(job.epoch_steps * job.pick.uniform(1.2, 10))
    kept = collections.deque(maxlen=full)
    return ring(job, full, block, lambda now, make, size: kept.append(make(size)))


@kind("replay-random")
def replay(job):
    """A replay buffer that is filled by whole episodes of random length; when full, random ones are replaced."""
    full = job.capacity()
    size, kept, open_ = plan(job, full), [], []

    def step(now):
        open_.append(block(size))
        job.hold(size)
        if job.pick.random() < 0.1:
            kept.extend(open_)
            open_.clear()
            while len(kept) > full:
                kept[job.pick.randrange(len(kept))] = kept[-1]
                kept.pop()
                job.drop(size)

    return step


@kind("variants", epochs=(4, 20))
def variants(job):
    """Each visit of an example adds an augmented variant to its cache, until it has so many."""
    count = job.pick.randint(2, 6)
    full = count * job.epoch_steps
    size = plan(job, full) / job.batch_size
    kept = collections.defaultdict(list)

    def step(now):
        for index in job.batch(now):
            if len(kept[index]) < count:
                kept[index].append(block(size))
                job.hold(size)

    return step
