"""Memory that is really there, from several allocators.

What a kind gives back must really go back: Python keeps freed small objects, and glibc keeps freed blocks
below its mmap threshold (which grows up to 32 MB when larger blocks are freed). So kinds which give back
use `mapped`, whose pages the kernel takes at once.
"""

import ctypes
import mmap

MB = 1_000_000
PAGE = 4096
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
M_MMAP_THRESHOLD = -3


def block(size):
    """A bytearray: malloc's heap, or a mapping of its own when it is large."""
    return bytearray(b"x") * max(1, int(size))


def records(size):
    """Many small Python objects, the way parsed examples look: about 100 bytes each."""
    return [f"record {number:012d} with some text to carry" for number in range(max(1, int(size) // 100))]


def mapped(size, shared=False):
    """Whole pages of their own, which go back to the kernel when the object goes."""
    length = -(-max(1, int(size)) // PAGE) * PAGE
    flags = mmap.MAP_ANONYMOUS | (mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE)
    pages = mmap.mmap(-1, length, flags=flags)
    for start in range(0, length, PAGE):
        pages[start] = 1
    return pages


def native(size):
    """What a C library allocates and nobody frees: no Python object knows of it."""
    size = max(1, int(size))
    libc.memset(libc.malloc(size), 1, size)


def fix_threshold():
    """Have malloc always map blocks of 128 kB and more, as MALLOC_MMAP_THRESHOLD_ does."""
    libc.mallopt(M_MMAP_THRESHOLD, 128 * 1024)


def private():
    """Bytes of this process that are resident and not of files or shared memory."""
    with open("/proc/self/statm") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared) * PAGE
