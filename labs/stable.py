"""A model held from the start, and batches that are freed within their step.

--size: megabytes of the model; a batch is a tenth of it. Expected verdict: stable.
"""

from lab import arguments, block, paced

args = arguments(__doc__, size=40.0)
model = block(args.size)
for step in paced(args):
    batch = block(args.size / 10)
    del batch
