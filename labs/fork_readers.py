"""Forked workers that only read a Python list, as data loaders do. Reading writes reference counts,
so each page a worker touches becomes its own copy. RSS stays level from the start; the tree's
PSS rises until every worker has read everything once, which is a fifth of the run.

--size: megabytes of the list. Expected verdict: warm-up by the tree's honest sum (PSS).
"""

import os
import signal
import sys
import time

from lab import arguments, paced, records

args = arguments(__doc__, size=40.0, workers=3)
data = records(args.size)


def read(parent):
    """Read the list over and over, each pass a fifth of the run long."""
    parts = max(1, args.steps // 5)
    length = len(data) // parts + 1
    pause = args.seconds / args.steps
    while os.getppid() == parent:
        for part in range(parts):
            for record in data[part * length : (part + 1) * length]:
                record.endswith("y")
            time.sleep(pause)


me = os.getpid()
workers = []
for _ in range(args.workers):
    pid = os.fork()
    if pid == 0:
        read(me)
        os._exit(0)
    workers.append(pid)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
try:
    for step in paced(args):
        pass
finally:
    for pid in workers:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
