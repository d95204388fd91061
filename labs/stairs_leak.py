"""Nothing for nine steps, then a block that is kept: growth in stairs, one per short epoch.

--size: megabytes per stair. Expected verdict: leak.
"""

from lab import arguments, block, paced

args = arguments(__doc__, size=5.0)
base = block(20)
kept = []
for step in paced(args):
    if step % 10 == 0:
        kept.append(block(args.size))
