"""Leaks whose course is not a straight line from the first step."""

from driver import kind
from memory import block, mapped


def keeper(job, low=0.4, high=3):
    """Keeps so many parts of what the run is to leak in all."""
    total, kept = job.growth(low, high), []

    def keep(part):
        if part > 0:
            kept.append(block(total * part))
            job.leak(total * part)

    return keep


@kind("late", leak=True)
def late(job):
    """Nothing leaks until something is switched on in the middle of the run."""
    begins = round(job.steps * job.pick.uniform(0.25, 0.7))
    keep = keeper(job)
    return lambda now: keep(1 / (job.steps - begins)) if now > begins else None


@kind("slow-under-noise", leak=True)
def slow(job):
    """A slow leak under large noise."""
    job.noise = 0.3
    keep = keeper(job, 0.25, 0.5)
    return lambda now: keep(1 / job.steps)


@kind("under-teeth", leak=True)
def teeth(job):
    """Teeth that come back, but never quite: the ground rises."""
    period = job.capacity(0.01, 0.12)
    keep, tooth, kept = keeper(job), job.base * job.pick.uniform(0.2, 0.8) / period, []

    def step(now):
        keep(1 / job.steps)
        kept.append(mapped(tooth))
        if now % period == 0:
            kept.clear()

    return step


@kind("stairs", leak=True)
def stairs(job):
    """A large piece at a time, at even distances, without end."""
    every = max(2, round(job.steps / job.draw(6, 25)))
    keep = keeper(job)
    return lambda now: keep(every / job.steps) if now % every == 0 else None


@kind("accelerating", leak=True)
def accelerating(job):
    """What leaks grows itself: a history that is copied into each entry."""
    power = job.pick.uniform(1.4, 2.2)
    keep = keeper(job)
    return lambda now: keep((now / job.steps) ** power - ((now - 1) / job.steps) ** power)


@kind("bursts", leak=True)
def bursts(job):
    """It leaks in bursts, a few steps long, at random times, without end."""
    often, length = max(job.draw(0.01, 0.04), 8 / job.steps), job.pick.randint(3, 12)
    keep, left = keeper(job), [length]
    # The first burst is at the start; others follow as they come.
    expected = job.steps * often * length / (1 + often * length)

    def step(now):
        if left[0] > 0:
            left[0] -= 1
            keep(1 / expected)
        elif job.pick.random() < often:
            left[0] = length

    return step


@kind("pauses", leak=True, epochs=(4, 15))
def pauses(job):
    """Only the first part of each epoch leaks, where the long examples are."""
    share = job.pick.uniform(0.3, 0.7)
    keep = keeper(job)

    def step(now):
        if (now - 1) % job.epoch_steps < share * job.epoch_steps:
            keep(1 / share / job.steps)

    return step
