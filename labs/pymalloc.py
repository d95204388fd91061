"""Builds many small Python objects, then frees them, again and again: arenas fill and are returned.

--size: megabytes at the top of each tooth; a tooth is ten steps. Expected verdict: spikes.
"""

from lab import arguments, paced, records

TOOTH = 10

args = arguments(__doc__, size=40.0)
built = []
for step in paced(args):
    if step % TOOTH == 0:
        built = []
    else:
        built.append(records(args.size / TOOTH))
