"""Histories of metrics and messages that have a bound."""

import collections

from driver import Hooks, kind
from memory import mapped, records


@kind("log-capped")
def capped(job):
    """The last n log entries are kept, each with its samples."""
    full = job.capacity(0.05, 1.5)
    entries = max(2, full // job.log_every)
    size, kept = job.growth(0.4, 2) / (job.within(full) / job.log_every), collections.deque(maxlen=entries)
    job.fills_in, job.ceiling = entries * job.log_every, size * entries

    def log(now):
        if len(kept) < entries:
            job.hold(size)
        kept.append(records(size))

    return Hooks(log=log)


@kind("log-halved", trap=True)
def halved(job):
    """When the log is too long its older half goes: growth, and teeth that never reach the ground."""
    full = job.capacity(0.1, 0.7)
    entries = max(4, full // job.log_every)
    size, kept = job.growth(0.4, 2) / entries, []
    job.fills_in = entries * job.log_every

    def log(now):
        kept.append(mapped(size))
        job.hold(size)
        if len(kept) >= entries:
            job.settle()
            job.drop(size * (len(kept) // 2))
            del kept[: len(kept) // 2]

    return Hooks(log=log)


@kind("log-sent", trap=True)
def sent(job):
    """Log messages wait in memory until the server answers, which is late and irregular; then all are sent."""
    wait = job.capacity(0.1, 0.4)
    size, kept, due = job.growth(0.4, 2) / wait / 1.5, [], [0]
    due[0] = round(wait * job.pick.uniform(0.5, 1.5))
    job.fills_in = due[0]

    def log(now):
        kept.append(mapped(size * job.log_every))
        job.hold(size * job.log_every)
        if now >= due[0]:
            job.settle()
            job.drop(job.held)
            kept.clear()
            due[0] = now + round(wait * job.pick.uniform(0.5, 1.5))

    return Hooks(log=log)
