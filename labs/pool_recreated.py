"""A pool of workers that is closed and started anew every tenth step, as loaders without
persistent workers are at each epoch. The sum rises and falls with the workers.

--size: megabytes that each worker holds. Expected verdict: spikes (or stable; never leak).
"""

import os
import signal
import sys

from lab import arguments, block, paced

args = arguments(__doc__, size=20.0, workers=2)
base = block(30)
pool = []


def start():
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        held = block(args.size)
        signal.pause()
        os._exit(len(held) and 0)
    return pid


def stop():
    for pid in pool:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
    pool.clear()


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
try:
    for step in paced(args):
        if step % 10 == 1:
            pool.extend(start() for _ in range(args.workers))
        elif step % 10 == 8:
            stop()
finally:
    stop()
