"""Caches by word: new words become ever rarer, and the cache has a bound."""

from driver import kind
from memory import records


def words(job, power, cap):
    """After n steps n**power shares of the words are known; the cache takes `cap` of them at most."""
    top = min(cap, 1.0) ** power
    unit = job.growth() / top
    return lambda now: unit * min(now / job.steps, cap) ** power


@kind("tokenizer-capped")
def capped(job):
    """A tokenizer caches each new word until its cache is full, and then takes no more."""
    cap = job.draw(0.1, 2.0)
    known, kept = words(job, job.pick.uniform(0.4, 0.8), cap), []
    job.fills_in = cap * job.steps
    job.ceiling = known(cap * job.steps)

    def step(now):
        new = known(now) - known(now - 1)
        if new > 0:
            kept.append(records(new))
            job.hold(new)

    return step


@kind("tokenizer-cleared")
def cleared(job):
    """A tokenizer empties its cache of words when it is full, and begins anew; Python keeps the room for it."""
    cap = job.draw(0.1, 0.6)
    known, kept = words(job, job.pick.uniform(0.5, 0.8), cap), []
    period = max(3, round(cap * job.steps))
    job.fills_in = period

    def step(now):
        place = (now - 1) % period + 1
        new = known(place) - known(place - 1)
        if new > 0:
            kept.append(records(new))
            job.hold(new)
        if place == period:
            job.settle()
            job.drop(job.held)
            kept.clear()

    return step


@kind("tokenizer-scripts", trap=True)
def scripts(job):
    """Now and then the text changes its language, and the cache learns another set of words; there are only so many languages."""
    count = job.pick.randint(3, 6)
    length = round(job.steps * job.draw(0.4, 1.1) / count)
    size, kept = job.growth() / min(count, job.steps / length), []
    job.fills_in, job.ceiling = count * length, size * count

    def step(now):
        language, place = divmod(now - 1, length)
        if language < count:
            new = size * (((place + 1) / length) ** 0.4 - (place / length) ** 0.4)
            kept.append(records(new))
            job.hold(new)

    return step
