"""A buffer is reserved in one piece at the start and written to bit by bit.

That is what a replay buffer in np.zeros is: calloc gives address space, and memory comes with the
first write to each page. --size is the buffer in megabytes; it is full after two thirds of the steps.

Verdict: warm-up, under way from the first looks on: it ends at the size of the buffer.
"""

import ctypes

from lab import MB, arguments, paced

args = arguments(__doc__, size=400.0)
libc = ctypes.CDLL(None)
libc.calloc.restype = ctypes.c_void_p
size = int(args.size * MB)
buffer = libc.calloc(ctypes.c_size_t(size), ctypes.c_size_t(1))
full = max(1, args.steps * 2 // 3)
for step in paced(args):
    if step <= full:
        begin, end = size * (step - 1) // full, size * step // full
        ctypes.memset(ctypes.c_void_p(buffer + begin), 1, end - begin)
