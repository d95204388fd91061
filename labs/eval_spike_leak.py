"""Every tenth step evaluates, with a spike ten times as high as all that leaks in the whole run.

--size: megabytes leaked per step. Expected verdict: leak.
"""

import time

from lab import arguments, block, paced

args = arguments(__doc__, size=0.3)
spike = 10 * args.size * args.steps
kept = []
for step in paced(args):
    kept.append(block(args.size))
    if step % 10 == 0:
        predictions = block(spike)
        time.sleep(args.seconds / args.steps)
        del predictions
