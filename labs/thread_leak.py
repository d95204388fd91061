"""One more thread per step, each waiting for an event that never comes and holding its buffer.

--size: megabytes that each thread holds. Expected verdict: leak.
"""

import threading

from lab import arguments, block, paced

args = arguments(__doc__, size=0.3)
never = threading.Event()


def wait():
    buffer = block(args.size)
    never.wait()
    del buffer


for step in paced(args):
    threading.Thread(target=wait, daemon=True).start()
