"""A long warm-up (two fifths of the run, ever slower), then a slow leak.

--size: megabytes of the warm-up; the leak adds a quarter of that in the rest of the run.
Expected verdict: leak.
"""

import math

from lab import arguments, block, paced

args = arguments(__doc__, size=80.0)
warm_steps = args.steps * 2 // 5
per_step = args.size / 4 / (args.steps - warm_steps)
kept, level = [], 0.0
for step in paced(args):
    if step <= warm_steps:
        # 99 % of the way after five time constants: the warm-up is over when the leak starts.
        target = args.size * (1 - math.exp(-5 * step / warm_steps))
        kept.append(block(target - level))
        level = target
    else:
        kept.append(block(per_step))
