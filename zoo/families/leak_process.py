"""Leaks in one process of several."""

import time

from driver import Worker, kind
from memory import block, native, records


def hoard(make, size):
    kept = []
    return lambda *_: kept.append(make(size))


@kind("one-worker", leak=True)
def worker(job):
    """One loader worker of several leaks with every batch that it makes; each makes the next batch in turn."""
    count = job.pick.randint(2, 5)
    size = job.growth(0.3, 2) / job.steps * count
    make = job.pick.choice([block, native, records])
    workers = [Worker(hoard(make, size) if n == 0 else lambda *_: None) for n in range(count)]

    def step(now):
        workers[now % count].step(now)
        if now % count == 0:
            job.leak(size)

    return step


@kind("all-workers", leak=True)
def workers(job):
    """The decoder in every loader worker leaks with every example."""
    count = job.pick.randint(2, 4)
    size = job.growth(0.3, 2.5) / job.steps
    team = [Worker(hoard(native, size)) for _ in range(count)]

    def step(now):
        team[now % count].step(now)
        job.leak(size)

    return step


@kind("one-rank", leak=True)
def rank(job):
    """Ranks hold the same and do the same, but one of them keeps what it gathers."""
    count = job.pick.randint(1, 3)
    size = job.growth(0.4, 2) / job.steps
    guilty = job.pick.randrange(count)

    def ranks(number):
        base, leaks = [], hoard(block, size)

        def work(now):
            if not base:
                base.append(block(job.base / 2))
            passing = block(job.base * job.noise / 10)
            if number == guilty:
                leaks()
            time.sleep(job.step_seconds / 10)
            del passing

        return work

    others = [Worker(ranks(number)) for number in range(count)]

    def step(now):
        for one in others:
            one.step(now)
        job.leak(size)

    return step
