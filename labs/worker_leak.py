"""The trainer is flat and larger; one of its two workers leaks.

--size: megabytes leaked per step. Expected verdict: leak, in the worker.
"""

from lab import Worker, arguments, block, paced

args = arguments(__doc__, size=0.5)
base = block(60)
kept = []


def work(leaks):
    if leaks:
        kept.append(block(args.size))


workers = [Worker(work, leaks) for leaks in (False, True)]
for step in paced(args):
    for worker in workers:
        worker.step()
for worker in reversed(workers):
    worker.end()
