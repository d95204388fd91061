"""Forked workers that only read a Python list, as data loaders do. Reading writes reference counts,
so each page a worker touches becomes its own copy. RSS stays level from the start; the tree's
PSS rises until every worker has read everything once, which is a fifth of the run.

--size: megabytes of the list. Expected verdict: warm-up by the tree's honest sum (PSS).
"""

import itertools

from lab import Worker, arguments, paced, records

args = arguments(__doc__, size=40.0, workers=3)
data = records(args.size)
PARTS = max(1, args.steps // 5)
parts = itertools.cycle(range(PARTS))


def read():
    """Read the list over and over, each pass a fifth of the run long."""
    length = len(data) // PARTS + 1
    part = next(parts)
    for record in data[part * length : (part + 1) * length]:
        record.endswith("y")


workers = [Worker(read) for _ in range(args.workers)]
for step in paced(args):
    for worker in workers:
        worker.step()
for worker in reversed(workers):
    worker.end()
