"""glibc's heap under blocks of random lives whose sizes grow for two fifths of the run (longer and
longer sequences). The live bytes stay level, while the memory climbs above them, because holes
between survivors are too small for the next blocks and are not returned; then it settles.

--size: megabytes alive at any time. Expected verdict: warm-up.
"""

import ctypes
import random

from lab import MB, arguments, paced

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]

SMALL, LARGE = 500, 30_000  # all below the mmap threshold, so that all come from the heap

args = arguments(__doc__, size=30.0, seed=1)
pick = random.Random(args.seed)
alive, live = [], 0
for step in paced(args):
    # A twelfth of what is alive dies in each step, in random order; larger blocks take its place.
    for _ in range(len(alive) // 12):
        index = pick.randrange(len(alive))
        alive[index], alive[-1] = alive[-1], alive[index]
        address, size = alive.pop()
        libc.free(address)
        live -= size
    usual = SMALL * (LARGE / SMALL) ** min(1.0, step / (args.steps * 0.4))
    while live < args.size * MB:
        size = int(usual * (1 + pick.random()))
        address = libc.malloc(size)
        ctypes.memset(address, 1, size)
        alive.append((address, size))
        live += size
