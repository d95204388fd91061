"""Loader processes that stay and keep what they decoded: the parent is flat."""

from driver import Hooks, Worker, kind
from memory import block


def team(count, size):
    def one():
        kept = {}

        def work(*indices):
            for index in indices:
                if index not in kept:
                    kept[index] = block(size)

        return Worker(work)

    return [one() for _ in range(count)]


def feed(job, workers, known, size, choose):
    """Send the examples of a step to workers, and count what is new to each."""
    job.steady = False

    def step(now):
        for index in job.batch(now):
            who = choose(now, index)
            workers[who].step(index)
            if (who, index) not in known:
                known.add((who, index))
                job.hold(size)

    return step


@kind("workers-own-shard", epochs=(1.5, 20))
def own(job):
    """Forked workers share a pass; each reads the same shard every epoch and keeps it."""
    count = job.pick.randint(2, 4)
    size = job.growth(0.5, 3) / job.within(job.epoch_steps) / job.batch_size
    job.fills_in, job.ceiling = job.epoch_steps, size * job.examples
    return feed(job, team(count, size), set(), size, lambda now, index: index % count)


@kind("workers-other-shard", epochs=(3, 30))
def other(job):
    """Forked workers share a pass; every epoch each reads another shard, and keeps that too."""
    count = job.pick.randint(2, 4)
    size = job.growth(0.8, 3) / job.examples / min(count, job.steps / job.epoch_steps)
    job.fills_in, job.ceiling = job.epoch_steps * count, size * job.examples * count
    shard = lambda now, index: (index + (now - 1) // job.epoch_steps) % count
    return feed(job, team(count, size), set(), size, shard)


@kind("workers-shuffled", epochs=(4, 30))
def shuffled(job):
    """Forked workers take batches as they come, so each slowly gets to know all examples."""
    count = job.pick.randint(2, 3)
    epochs = job.steps / job.epoch_steps
    size = job.growth(0.8, 3) / job.examples / count / (1 - (1 - 1 / count) ** epochs)
    job.ceiling = size * job.examples * count
    return feed(job, team(count, size), set(), size, lambda now, index: job.pick.randrange(count))


@kind("workers-late", trap=True, epochs=(3, 12))
def late(job):
    """Workers are started late in the run, by the switch to another data set, and keep what they read in their first pass."""
    count = job.pick.randint(2, 3)
    begins = round(job.steps * job.pick.uniform(0.2, 0.6))
    length = job.within(job.epoch_steps)
    size = job.growth(0.5, 2) / length / job.batch_size
    job.fills_in, job.ceiling = job.epoch_steps, size * job.examples
    workers, known = [], set()
    send = feed(job, workers, known, size, lambda now, index: index % count)

    def step(now):
        if now == begins:
            workers.extend(team(count, size))
        if workers:
            send(now)

    return step
