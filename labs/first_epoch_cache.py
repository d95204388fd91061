"""Each example is decoded when it is first seen, and kept: growth per new example, which ends with
the first epoch. The founding story of this tool, small.

--size: megabytes per example. Expected verdict: warm-up, settled at examples / (batch x accumulate).
"""

import random

from lab import arguments, block, paced

args = arguments(__doc__, size=0.25, examples=576, batch=2, accumulate=4)
per_step = args.batch * args.accumulate
decoded, order = {}, []
for step in paced(args):
    for _ in range(per_step):
        if not order:
            order = random.sample(range(args.examples), args.examples)
        example = order.pop()
        if example not in decoded:
            decoded[example] = block(args.size)
