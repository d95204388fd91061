"""Traps: memory grows like a leak until a boundary comes, and goes back there. All of it is mapped, so it does go back."""

from driver import Hooks, kind
from memory import mapped


class Pile:
    def __init__(self, job, size):
        self.job, self.size, self.kept = job, size, []

    def add(self, now=None):
        self.kept.append(mapped(self.size))
        self.job.hold(self.size)

    def trim(self, left=0):
        self.job.settle()
        self.job.drop((len(self.kept) - left) * self.size)
        del self.kept[: len(self.kept) - left]

    def clear(self, now=None):
        self.trim()


@kind("epoch-outputs", trap=True, epochs=(1.2, 12))
def outputs(job):
    """The outputs of all steps are kept for the end of the epoch, and cleared there."""
    job.fills_in = job.epoch_steps
    pile = Pile(job, job.growth(0.5, 3) / job.within(job.epoch_steps))
    return Hooks(step=pile.add, epoch=pile.clear)


@kind("until-save", trap=True, saves=True)
def until_save(job):
    """What changed since the last save is kept for the next one."""
    job.fills_in = job.save_every
    pile = Pile(job, job.growth(0.5, 3) / job.save_every)
    return Hooks(step=pile.add, save=pile.clear)


@kind("until-eval", trap=True, evals=True)
def until_eval(job):
    """Metrics of the training steps are kept until some evaluations have been, and are then reduced."""
    every = job.pick.randint(1, 4)
    job.fills_in = every * job.eval_every
    pile = Pile(job, job.growth(0.5, 3) / job.fills_in)
    count = [0]

    def evaluate(now):
        count[0] += 1
        if count[0] % every == 0:
            pile.clear()

    return Hooks(step=pile.add, eval=evaluate)


@kind("trimmed-later", trap=True)
def trimmed(job):
    """Nothing is trimmed until a limit is met late in the run; from then on it stays at a part of the limit."""
    limit = job.capacity(0.45, 0.85)
    left = round(limit * job.pick.uniform(0.3, 0.9))
    job.fills_in = limit
    pile = Pile(job, job.growth(0.5, 3) / limit)

    def step(now):
        pile.add()
        if len(pile.kept) > limit:
            pile.trim(left)

    return step


@kind("phase-ends", trap=True)
def phase(job):
    """The first phase of the run collects statistics of each step; the second has no use for them and drops them."""
    end = round(job.steps * job.pick.uniform(0.4, 0.9))
    job.fills_in = end
    pile = Pile(job, job.growth(0.5, 3) / end)

    def step(now):
        if now < end:
            pile.add()
        elif now == end:
            pile.clear()

    return step


@kind("rotates", trap=True)
def rotates(job):
    """Two generations: when the new one is full it becomes the old one, and the old one goes."""
    length = job.capacity(0.1, 0.45)
    job.fills_in = 2 * length
    size = job.growth(0.5, 3) / min(job.steps, 2 * length)
    old, new = [], []

    def step(now):
        new.append(mapped(size))
        job.hold(size)
        if len(new) == length:
            if old:
                job.settle()
            job.drop(size * len(old))
            old[:] = new
            new.clear()

    return step
