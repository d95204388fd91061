"""The last or the best few of something large: a stair with a known number of steps."""

import collections
import heapq

from driver import Hooks, kind
from memory import mapped


@kind("last-k-checkpoints", saves=True)
def last(job):
    """The last k checkpoints stay in memory, to be averaged."""
    saves = max(1, job.steps // job.save_every)
    count = max(2, round(saves * job.draw(0.2, 1.3)))
    size, kept = job.growth(0.5, 2) / min(count, saves), collections.deque(maxlen=count)
    job.fills_in, job.ceiling = count * job.save_every, size * count

    def save(now):
        if len(kept) < count:
            job.hold(size)
        kept.append(mapped(size))

    return Hooks(save=save)


@kind("best-k-results", evals=True)
def best(job):
    """The best k evaluations are kept with their outputs; a worse one is only kept while there is room."""
    runs = max(1, job.steps // job.eval_every)
    count = max(2, round(runs * job.draw(0.2, 0.9)))
    size, kept = job.growth(0.5, 2) / min(count, runs), []
    job.fills_in, job.ceiling = count * job.eval_every, size * count

    def evaluate(now):
        result = (job.pick.random(), now, mapped(size))
        if len(kept) < count:
            job.hold(size)
            heapq.heappush(kept, result)
        else:
            heapq.heappushpop(kept, result)

    return Hooks(eval=evaluate)


@kind("past-policies", trap=True)
def policies(job):
    """Self-play keeps a copy of the policy now and then, as opponents, up to so many; then a random one is replaced."""
    count = job.pick.randint(4, 20)
    every = max(3, round(job.capacity(0.2, 1.3) / count))
    size, kept = job.growth(0.5, 2) / min(count, max(1, job.steps // every)), []
    job.fills_in, job.ceiling = count * every, size * count

    def step(now):
        if now % every == 0:
            if len(kept) < count:
                kept.append(mapped(size))
                job.hold(size)
            else:
                kept[job.pick.randrange(count)] = mapped(size)

    return step
