"""Lets the watcher read this process where the kernel's Yama allows it to ancestors only (`ptrace_scope` 1).

A watcher that was started by `lowtide attach` is no ancestor. A process may name one that it trusts all the same:
ours is named in the page that it shares with us, which only this user can have written. Nothing else is changed: other
users are kept out as before, and a process that has named somebody by itself is named anew, as there is room for one.
"""

import ctypes
import os
from typing import Callable, Optional

SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
# Only descendants, or who was named; 0 allows all of one user, 2 and 3 do not ask us.
ANCESTORS_ONLY = b"1"
PR_SET_PTRACER = 0x59616D61
PR_SET_PTRACER_ANY = ctypes.c_ulong(-1).value
# "any": for a watcher in another pid namespace (a container's host), whose number means nothing here.
VARIABLE = "LOWTIDE_PTRACER"


def allow(pid: int, namespace: int, call: Optional[Callable[[int], int]] = None, scope: str = SCOPE) -> Optional[int]:
    """Names the watcher, by its pid in the pid namespace with this number. What was named, None where nobody was."""
    try:
        with open(scope, "rb") as file:
            if file.read().strip() != ANCESTORS_ONLY:
                return None
        if os.environ.get(VARIABLE) == "any":
            tracer = PR_SET_PTRACER_ANY
        elif pid > 0 and namespace == os.stat("/proc/self/ns/pid").st_ino:
            tracer = pid
        else:
            return None
        return tracer if (call or _prctl)(tracer) == 0 else None
    except Exception:
        return None  # no Yama, no /proc, no ctypes: then it is as it was


def _prctl(tracer: int) -> int:
    libc = ctypes.CDLL(None)
    return libc.prctl(PR_SET_PTRACER, ctypes.c_ulong(tracer), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
