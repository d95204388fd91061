"""Flat for two fifths of the run, then it leaks (a branch that is first taken late).

--size: megabytes per step once it leaks. Expected verdict: leak.
"""

from lab import arguments, block, paced

args = arguments(__doc__, size=0.5)
base = block(40)
kept = []
for step in paced(args):
    if step > args.steps * 2 // 5:
        kept.append(block(args.size))
