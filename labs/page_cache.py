"""Maps a file and reads more of it with each step: RssFile and the page cache rise, nothing else.
The kernel can drop those pages at any time.

--size: megabytes read per step. Expected verdict: stable.
"""

import mmap
import tempfile

from lab import MB, arguments, block, paced

args = arguments(__doc__, size=1.0)
with tempfile.NamedTemporaryFile(dir=".") as file:
    # Not in /tmp, which may be a tmpfs: there the pages would be shared memory.
    piece = block(args.size)
    for _ in range(args.steps):
        file.write(piece)
    file.flush()
    del piece
    area = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    for step in paced(args):
        start = int((step - 1) * args.size * MB)
        for offset in range(start, int(step * args.size * MB), mmap.PAGESIZE):
            area[offset]
