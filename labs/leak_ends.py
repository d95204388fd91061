"""Grows steadily for two fifths of the run, then never again (a fixed set of connections opens).

--size: megabytes per step while it grows. Expected verdict: warm-up.
"""

from lab import arguments, block, paced

args = arguments(__doc__, size=1.0)
base = block(20)
kept = []
for step in paced(args):
    if step <= args.steps * 2 // 5:
        kept.append(block(args.size))
