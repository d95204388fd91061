"""Caches of bounded size that throw out what was not used for longest."""

import bisect
import collections
import itertools

from driver import kind
from memory import block


class Cache:
    def __init__(self, job, room):
        self.job, self.room, self.held, self.kept = job, room, 0, collections.OrderedDict()

    def get(self, key, size):
        if key in self.kept:
            self.kept.move_to_end(key)
            return
        self.kept[key] = block(size)
        self.held += int(size)
        self.job.hold(size)
        while self.held > self.room:
            _, old = self.kept.popitem(last=False)
            self.held -= len(old)
            self.job.drop(len(old))


def zipf(job, keys, power):
    """Draws keys so that the n-th is 1 / n**power as likely as the first."""
    sums = list(itertools.accumulate(1 / (n + 1) ** power for n in range(keys)))
    return lambda: bisect.bisect(sums, job.pick.random() * sums[-1])


def plan(job):
    room = job.growth()
    job.ceiling = room
    return room, room / job.capacity(0.05, 0.7)


@kind("lru-uniform")
def uniform(job):
    """An LRU cache whose keys are equally likely, and more than it has room for."""
    room, size = plan(job)
    cache, keys = Cache(job, room), round(room / size * job.draw(1.2, 10))
    return lambda now: cache.get(job.pick.randrange(keys), size)


@kind("lru-skewed")
def skewed(job):
    """An LRU cache with a few keys that are asked for often, so that it fills ever more slowly."""
    room, size = plan(job)
    cache = Cache(job, room)
    key = zipf(job, round(room / size * job.draw(3, 20)), job.pick.uniform(0.7, 1.1))
    return lambda now: cache.get(key(), size)


@kind("lru-bytes")
def by_bytes(job):
    """An LRU cache bounded in bytes, with entries of very different size: a large one throws out many."""
    room, size = plan(job)
    cache = Cache(job, room)
    # An entry is a twentieth of the room at most, so the cache is never much emptier than that.
    weights = [min(8.0, job.pick.lognormvariate(0, 1)) for _ in range(997)]
    job.ceiling = 0.97 * room
    keys = round(room / size * job.draw(1.5, 5))

    def step(now):
        key = job.pick.randrange(keys)
        cache.get(key, min(weights[key % 997] * size, room / 20))

    return step
