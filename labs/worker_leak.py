"""The trainer is flat and larger; one of its two workers leaks.

--size: megabytes leaked per step. Expected verdict: leak, in the worker.
"""

import os
import signal
import sys
import time

from lab import arguments, block, paced

args = arguments(__doc__, size=0.5)
base = block(60)


def work(parent, leaks):
    kept = []
    while os.getppid() == parent:
        if leaks:
            kept.append(block(args.size))
        time.sleep(args.seconds / args.steps)


me = os.getpid()
workers = []
for leaks in (False, True):
    pid = os.fork()
    if pid == 0:
        work(me, leaks)
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
