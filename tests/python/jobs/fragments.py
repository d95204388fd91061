"""Grows by blocks that it frees again all but a few: glibc keeps the pages until somebody trims.

Ends with 0 when memory has come back, which only a trim can do here.
"""

import ctypes
import sys
import time

import lowtide
from lowtide import _host

BLOCK, COUNT, KEPT_EVERY = 9000, 20_000, 50
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]


def held():
    return _host.held(_host.memory())


def main():
    deadline = time.monotonic() + 120
    step = 0
    while step < 20:
        step += 1
        lowtide.mark(step=step, phase="train")
        time.sleep(0.05)
    blocks = [libc.malloc(BLOCK) for _ in range(COUNT)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK)
    for at, block in enumerate(blocks):
        if at % KEPT_EVERY:
            libc.free(block)
    grown = held()
    while held() > grown / 2:
        if time.monotonic() > deadline:
            sys.exit("nobody trimmed")
        step += 1
        lowtide.mark(step=step)
        time.sleep(0.05)
    print("came back: %d of %d" % (grown - held(), grown))


if __name__ == "__main__":
    main()
