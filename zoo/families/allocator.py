"""Memory that the allocator holds and the program does not: growth ends when there are holes for all."""

import math

from driver import Hooks, kind
from memory import block, mapped


@kind("fragmentation")
def fragmentation(job):
    """Blocks of many sizes live for random times; their number is bounded, the holes between them are filled ever better."""
    live = job.growth(0.4, 1.5)
    low, high = 2_000, 90_000
    # The mean of sizes drawn log-uniformly.
    count = round(live / ((high - low) / math.log(high / low)))
    slots, bytes_ = [None] * count, [0] * count
    # Each slot is replaced a few times in the run, and is first written at a random moment early in it.
    per_step = max(1, round(count * job.draw(3, 8) / job.steps))
    job.ceiling = 0.95 * live

    def step(now):
        for _ in range(per_step):
            place, size = job.pick.randrange(count), round(job.draw(low, high))
            slots[place] = block(size)
            job.hold(size - bytes_[place])
            bytes_[place] = size

    return step


@kind("rounded-blocks")
def rounded(job):
    """A caching allocator rounds blocks up to powers of two and never gives one back: growth ends when each size was needed as often as it ever is."""
    most, idle, used = job.growth(0.5, 2), [], []
    unit = most / 64
    held = [0]

    def step(now):
        idle.extend(used)
        used.clear()
        for _ in range(job.pick.randint(1, 6)):
            size = int(unit * 2 ** min(4, int(job.pick.expovariate(1.0))))
            fit = next((one for one in idle if len(one) // 4096 == -(-size // 4096)), None)
            if fit is not None:
                idle.remove(fit)
            elif held[0] + size <= most:
                fit = mapped(size)
                held[0] += len(fit)
                job.hold(len(fit))
            if fit is not None:
                used.append(fit)

    # A cache with a bound of its own; below that, growth fades as peaks become rarer.
    job.ceiling = most
    return step


@kind("eval-ratchet", evals=True)
def ratchet(job):
    """What evaluations free stays with the allocator: each one that is larger than all before raises the level, and there is a largest."""
    most, pool = job.growth(0.5, 2), []
    held = [0]
    job.ceiling = most

    def evaluate(now):
        wanted = most * min(1.0, 0.5 + job.pick.random() * 0.6)
        while held[0] < wanted * 0.995:
            pool.append(mapped(most / 40))
            held[0] += len(pool[-1])
            job.hold(len(pool[-1]))

    return Hooks(eval=evaluate)
