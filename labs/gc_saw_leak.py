"""Cycles that only the garbage collector frees draw saw-teeth; a small leak hides under them.

--size: megabytes leaked per step; each step also makes `--garbage` megabytes of cycles, which are
collected every tenth step. Expected verdict: leak.
"""

import gc

from lab import arguments, block, paced, records

args = arguments(__doc__, size=0.3, garbage=4.0)
gc.disable()  # so that the teeth have a known length
kept = []
for step in paced(args):
    # Small objects: their arenas go back to the kernel, while large blocks would stay in glibc's heap.
    node = {"data": records(args.garbage)}
    node["self"] = node
    kept.append(block(args.size))
    if step % 10 == 0:
        gc.collect()
