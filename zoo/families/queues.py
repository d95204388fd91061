"""Queues between a producer and the loop: as full as their pace makes them, up to a bound."""

import collections

from driver import Hooks, kind
from memory import mapped


@kind("prefetch-queue")
def prefetch(job):
    """A prefetch queue whose depth wanders between empty and full."""
    depth = job.pick.randint(8, 60)
    size, kept = job.growth(0.3, 1.5) / depth, collections.deque()
    swing = job.draw(0.5, 4)
    job.settled_at = 1

    def step(now):
        change = round(job.pick.gauss(0, swing))
        for _ in range(abs(change)):
            if change > 0 and len(kept) < depth:
                kept.append(mapped(size))
                job.hold(size)
            elif change < 0 and kept:
                kept.popleft()
                job.drop(size)

    return step


@kind("prefetch-slow-reader")
def slow_reader(job):
    """The loader is a little faster than the loop, so its queue fills slowly, until it is full and the loader waits."""
    full = job.capacity(0.1, 1.5)
    depth = max(5, round(full * job.draw(0.1, 1.0)))
    size, kept = job.growth(0.4, 2) / depth * full / job.within(full), collections.deque()
    job.fills_in, job.ceiling = full, size * depth

    def step(now):
        while len(kept) < min(depth, depth * now / full):
            kept.append(mapped(size))
            job.hold(size)
        kept.rotate(1)
        kept[0] = None
        kept[0] = mapped(size)

    return step


@kind("shuffle-buffer", epochs=(1.5, 12))
def shuffle(job):
    """A shuffle buffer fills at the begin of each epoch and runs empty at its end."""
    full = max(2, round(job.epoch_steps * job.draw(0.1, 0.6)))
    size, kept = job.growth(0.4, 2) / full, []
    job.fills_in, job.ceiling, job.steady = full, size * full, False

    def step(now):
        place = (now - 1) % job.epoch_steps
        wanted = min(full, 2 * (place + 1), 2 * (job.epoch_steps - 1 - place))
        while len(kept) < wanted:
            kept.append(mapped(size))
            job.hold(size)
        while len(kept) > wanted:
            kept.pop()
            job.drop(size)

    return step


@kind("rollouts")
def rollouts(job):
    """Rollouts are collected and used up together every so many steps."""
    period = job.capacity(0.03, 0.6)
    size, kept = job.growth(0.4, 2) / period, []
    job.fills_in = period

    def step(now):
        kept.append(mapped(size))
        job.hold(size)
        if now % period == 0:
            job.settle()
            job.drop(job.held)
            kept.clear()

    return step


@kind("rollout-episodes", trap=True)
def episodes(job):
    """Each rollout takes much for a moment and leaves a little in a buffer, until the oldest go."""
    every = max(4, round(job.steps * job.draw(0.01, 0.05)))
    full = job.capacity(0.2, 1.3)
    count = max(3, full // every)
    size, kept, passing = job.growth(0.5, 2) / min(count, job.steps // every), collections.deque(maxlen=count), []
    job.fills_in, job.ceiling = count * every, size * count

    def step(now):
        place = now % every
        if place == 1:
            passing.append(mapped(job.base * 0.4))
        elif place == 3:
            passing.clear()
            if len(kept) < count:
                job.hold(size)
            kept.append(mapped(size))

    return step
