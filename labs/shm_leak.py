"""Shared memory segments that are never given back (a loader which forgets its batches).

--size: megabytes per step. --unmapped closes each map but keeps the file: then no process maps
the memory, it stands in no RSS, and still it is used. The files are removed at the end, also
after SIGTERM. Expected verdict: leak.
"""

import mmap
import os
import signal
import sys

from lab import arguments, block, paced

args = arguments(__doc__, size=0.5, unmapped=False)

files, maps = [], []
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
try:
    for step in paced(args):
        path = f"/dev/shm/lowtide-lab-{os.getpid()}-{step}"
        with open(path, "wb+") as file:
            files.append(path)
            file.write(block(args.size))
            file.flush()
            if not args.unmapped:
                area = mmap.mmap(file.fileno(), 0)
                sum(area[:: mmap.PAGESIZE])  # reading maps the pages, so that RssShmem shows them
                maps.append(area)
finally:
    for path in files:
        os.unlink(path)
