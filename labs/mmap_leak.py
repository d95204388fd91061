"""Private anonymous maps that are never closed, each touched once.

--size: megabytes mapped per step. Expected verdict: leak.
"""

import mmap

from lab import MB, arguments, paced

args = arguments(__doc__, size=0.5)
maps = []
for step in paced(args):
    area = mmap.mmap(-1, int(args.size * MB), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for offset in range(0, len(area), mmap.PAGESIZE):
        area[offset] = 1
    maps.append(area)
