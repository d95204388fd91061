"""A thread that the job does not see: not in `threading.enumerate()`, where a job that waits for all of its threads
would wait for ours for ever, and never waited for at the end of the process.

Also the way to start one after a fork without a warning to the job: from 3.12 on Python warns of a fork beside a thread,
by what the kernel counts, and from 3.13 on it counts after it has called who wanted to be called (`after_in_parent`).
"""

import _thread
import functools
import os
import sys
import time
from typing import Any, Callable, List, Optional

# From 3.13 on a thread can be waited for until the kernel has ended it, too.
_start_joinable: Optional[Callable[..., Any]] = getattr(_thread, "start_joinable_thread", None)
COUNTS_AFTER_HOOKS = sys.version_info >= (3, 13)
# Looks at a thread that has said its last word and is about to end.
ENDING_TRIES = 100


class QuietThread:
    """Runs from its making on."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        self._kernel_id: Optional[int] = None
        self.ident: Optional[int] = None
        self._handle: Any = None
        if _start_joinable is not None:
            self._handle = _start_joinable(self._run, daemon=True)
        else:
            _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            self.ident, self._kernel_id = _thread.get_ident(), _thread.get_native_id()
            self._work()
        finally:
            self._ended.release()

    def join(self, seconds: float) -> bool:
        """Waits for its end; never for itself."""
        if self.ident == _thread.get_ident():
            return False
        if not self._ended.acquire(timeout=seconds):
            return False
        self._ended.release()
        if self._handle is not None:
            self._handle.join(seconds)
        else:
            for _ in range(ENDING_TRIES):
                if not os.path.exists("/proc/self/task/%s" % self._kernel_id):
                    break
                time.sleep(0)
        return True


# What Python is asked to call; it does not keep it alive itself.
_kept: List[Any] = []


def hook_after_fork(call: Callable[[], None]) -> Callable[..., Any]:
    """For `after_in_parent`: has it called as soon as the fork is over, where that makes a difference.

    It is then called by the main thread between two of its instructions. The hook itself must not have any, or it
    would be called right there: so it is made of functions of C.
    """
    if not COUNTS_AFTER_HOOKS:
        return call
    try:
        import ctypes

        add = ctypes.pythonapi.Py_AddPendingCall
    except Exception:
        return call  # no ctypes here: then there may be a warning

    def run(_: Any) -> int:
        try:
            call()
        except Exception:
            pass  # nothing may reach the job from here
        return 0

    wrapped = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(run)
    _kept.append(wrapped)
    return functools.partial(add, wrapped, None)
