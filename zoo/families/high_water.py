"""Buffers as large as the largest input so far: they step up and never down, up to a largest possible one."""

from driver import Hooks, kind
from memory import mapped


class Buffer:
    """Made anew whenever it is too small."""

    def __init__(self, job, most):
        self.job, self.most, self.pages = job, int(most), None
        job.ceiling = most

    def need(self, size):
        size = min(int(size), self.most)
        held = len(self.pages) if self.pages else 0
        if size > held:
            self.pages = None
            self.pages = mapped(size)
            self.job.hold(len(self.pages) - held)


@kind("longest-batch")
def longest(job):
    """A workspace as large as the longest batch so far; lengths have a long tail and a bound."""
    most = job.growth(0.5, 2.5)
    buffer = Buffer(job, most)
    typical = most * job.draw(0.05, 0.3)
    return lambda now: buffer.need(typical * job.pick.lognormvariate(0, 0.7))


@kind("curriculum", trap=True)
def curriculum(job):
    """The length of the inputs is raised in stages, up to the last."""
    stages = job.pick.randint(3, 8)
    length = max(2, round(job.steps * job.draw(0.3, 1.3) / stages))
    most = job.growth(0.7, 2.5)
    seen = min(stages, (job.steps - 1) // length + 1)
    buffer = Buffer(job, most * stages / seen)
    job.fills_in = (stages - 1) * length
    return lambda now: buffer.need(buffer.most * min(stages, (now - 1) // length + 1) / stages)


@kind("growing-inputs", trap=True)
def ramp(job):
    """The length of the inputs is raised by a little every few steps, until it is as long as the model allows."""
    length = job.capacity(0.3, 1.5)
    most = job.growth(0.7, 2.5) * length / job.within(length)
    buffer = Buffer(job, most)
    job.fills_in = length
    every = max(1, length // 40)
    return lambda now: buffer.need(most * min(1.0, (now // every * every + 1) / length)) if now % every == 0 else None


@kind("progressive-resizing", trap=True, epochs=(5, 20))
def resizing(job):
    """Each epoch has larger images, for some epochs; the buffers are made at its begin."""
    count = job.pick.randint(3, 8)
    most = job.growth(0.7, 2.5)
    buffer = Buffer(job, most)
    job.fills_in = (count - 1) * job.epoch_steps
    return lambda now: buffer.need(most * min(count, (now - 1) // job.epoch_steps + 1) / count)


@kind("epoch-gather", epochs=(5, 40))
def gather(job):
    """At the end of each epoch its results are gathered in one buffer that is as large as the largest so far."""
    most = job.growth(0.5, 2)
    buffer = Buffer(job, most)
    return Hooks(epoch=lambda now: buffer.need(most * job.pick.betavariate(2, 1.2) * 1.05))
