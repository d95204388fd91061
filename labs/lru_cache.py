"""An LRU cache asked for random keys: fast growth first, ever slower, then full.

--size: megabytes of the full cache. Expected verdict: warm-up.
"""

import functools
import random

from lab import arguments, block, paced

KEYS = 400

args = arguments(__doc__, size=60.0, seed=1)
pick = random.Random(args.seed)


@functools.lru_cache(maxsize=KEYS)
def load(key):
    return block(args.size / KEYS)


# About eight times as many questions as keys: all but a thousandth of the keys get asked for.
per_step = max(1, 8 * KEYS // args.steps)
for step in paced(args):
    for _ in range(per_step):
        load(pick.randrange(KEYS))
