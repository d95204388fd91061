"""This process's own memory, from the cheap counters of /proc, and sizes as text."""

import ctypes
import os
from typing import Dict, Optional

# /proc/self/status answers in some 20 us whatever the size of the process; smaps_rollup walks the
# page tables, and is the watcher's business.
_FIELDS = {
    b"RssAnon": "anon",
    b"RssFile": "file",
    b"RssShmem": "shmem",
    b"VmSwap": "swap",
    b"VmRSS": "rss",
    b"VmHWM": "peak_rss",
}


def memory() -> Dict[str, int]:
    """Bytes by meter; empty where there is no /proc."""
    try:
        with open("/proc/self/status", "rb") as status:
            text = status.read()
    except OSError:
        return {}
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(b":")
        meter = _FIELDS.get(name)
        if meter is not None:
            found[meter] = int(rest.split()[0]) * 1024
    return found


def held(readings: Dict[str, int]) -> int:
    """What reclaim cannot drop: anon + shmem + swap."""
    return readings.get("anon", 0) + readings.get("shmem", 0) + readings.get("swap", 0)


def peak_held(readings: Dict[str, int]) -> int:
    """The kernel's own high-water mark without the file pages, which it could have dropped."""
    return max(held(readings), readings.get("peak_rss", 0) - readings.get("file", 0))


def size(count: float) -> str:
    """Bytes as people read them, in powers of ten: `512 MB`, `1.23 GB`."""
    sign = "-" if count < 0 else ""
    count = abs(count)
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            value = count / scale
            digits = 2 if value < 10 else 1 if value < 100 else 0
            return "%s%.*f %s" % (sign, digits, value, unit)
    return "%s%d B" % (sign, count)


def signed(count: float) -> str:
    return ("+" if count >= 0 else "") + size(count)


_libc: Optional[ctypes.CDLL] = None


def trim() -> bool:
    """Ask the allocator to give free memory back (glibc only; elsewhere nothing happens)."""
    global _libc
    if _libc is None:
        _libc = ctypes.CDLL(None)
    malloc_trim = getattr(_libc, "malloc_trim", None)
    return bool(malloc_trim(0)) if malloc_trim is not None else False


def workers() -> int:
    """How many child processes this one has now."""
    try:
        with open("/proc/self/task/%d/children" % os.getpid(), "rb") as children:
            return len(children.read().split())
    except OSError:
        return 0
