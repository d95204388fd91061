"""A Python list that keeps every step's records (think of a `losses.append(loss)` that holds the graph).

--size: megabytes kept per step. Expected verdict: leak.
"""

from lab import arguments, paced, records

args = arguments(__doc__, size=0.5)
history = []
for step in paced(args):
    history.append(records(args.size))
