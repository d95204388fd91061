"""The watcher inside the process: a thread that looks at who holds what, a few milliseconds at a time.

For processes that may not be read from outside. Started by `lowtide.watch(inside=True)`, by `lowtide run --inside`
(through `_sitecustomize`), or where the watcher asks for it because it cannot read this process. It holds the interpreter's
lock while it works, so each slice of work is short, and all of them together have 1 % of the time (`_budget`).

It keeps no object alive: between two slices it has names, numbers and addresses.
"""

import atexit
import os
import sys
import threading
import time
from typing import Any, Dict, List, Optional

from . import _marks, _warn
from ._budget import SHARE, Budget
from ._holders import Held, Holders
from ._lines import MOST_WINDOWS, Window
from ._look import Look, describe
from ._opened import Opened
from ._quiet_thread import QuietThread, hook_after_fork

# The lock is taken for so long at a time: less than the 5 ms after which Python would take it away.
SLICE_S = 0.002
# Time for imports and the making of models, of which nothing is to be learned.
FIRST_AFTER_S = 5.0
# Looks lie apart by so much, each by half more than the one before.
GAP_S = 10.0
LONGEST_GAP_S = 300.0
WIDER = 1.5
# Where steps are told, so many have to be done between two looks.
GAP_STEPS = 5
# Looks that walk anew: the first, the second, the fourth, the eighth; others read what is known.
# Without a watcher nobody wants to know; it is asked for again after this.
WATCHER_EVERY_S = 2.0
# The last look of a process that ends must not keep it waiting.
LAST_LOOK_S = 0.05
# A thread that works ends its slice within this.
JOIN_S = 1.0


class Inside:
    """The looks of this process."""

    def __init__(self, share: float = SHARE, first: float = FIRST_AFTER_S, gap: float = GAP_S, lines: bool = False) -> None:
        self.budget = Budget(share)
        self.holders = Holders()
        self.looks = 0
        self._share = share
        self._gap = gap
        self._due = time.monotonic() + first
        self._step: Optional[int] = None
        self._look: Optional[Look] = None
        self._windows = MOST_WINDOWS if lines else 0
        self._window: Optional[Window] = None
        self._to_trace: List[Held] = []
        self._asked_at = 0.0
        self._wake = threading.Event()
        self._stop = False
        self._thread: Optional[QuietThread] = None

    def start(self) -> None:
        if self._thread is None:
            self._stop = False
            self._wake.clear()
            self._thread = QuietThread(self._run)

    def stop(self) -> bool:
        """Ends the thread and keeps all that it knows. False when there was none."""
        thread, self._thread = self._thread, None
        if thread is None:
            return False
        self._stop = True
        self._wake.set()
        thread.join(JOIN_S)
        return True

    def _run(self) -> None:
        period = min(1.0, max(SLICE_S, SLICE_S / self._share))
        try:
            while not self._stop:
                if self._has_work():
                    self._slice(SLICE_S)
                self._wake.wait(period)
        except Exception as error:
            _warn.once("looking from inside has ended: %s: %s" % (type(error).__name__, error))
            self._close_window()

    def _has_work(self) -> bool:
        if not self.budget.allows(SLICE_S):
            return False
        now = time.monotonic()
        if self._look is not None or self._to_trace:
            return True
        if self._window is not None:
            return self._window.is_over(_marked_step())
        if now < self._due or not self._enough_steps():
            return False
        if now >= self._asked_at:
            self._asked_at = now + WATCHER_EVERY_S
            if not _marks.watched():
                return False
            self._begin()
        return self._look is not None

    def _enough_steps(self) -> bool:
        step = _marked_step()
        return step is None or self._step is None or not 0 <= step - self._step < GAP_STEPS

    def _begin(self) -> None:
        count = self.looks
        # 0, 1, 3, 7, ...: a walk costs far more than reading what is known.
        anew = count & (count + 1) == 0
        self._step = _marked_step()
        self._look = Look(self.holders, anew, threading.get_ident(), "due" if count else "start")

    def _slice(self, seconds: float) -> None:
        started, until = self.budget.start(), time.perf_counter() + seconds
        if self._to_trace and self._look is None:
            # In a slice of its own: what other work leaves behind would be given to the job, without a line.
            held, self._to_trace = self._to_trace, []
            self._windows -= 1
            self._window = Window(held, _marked_step())
            self.budget.stop(started)
            return
        opened = Opened(None if self._look is None else self._look.materialised)
        try:
            while time.perf_counter() < until and not self._stop:
                if not self._work(opened):
                    break
        finally:
            opened.close()
            took = self.budget.stop(started)
            if self._look is not None:
                self._look.cpu += took

    def _work(self, opened: Opened) -> bool:
        window = self._window
        if window is not None and self._look is None:
            if not window.next(opened):
                self._close_window()
                return False
            return True
        look = self._look
        if look is None:
            return False
        if look.step(opened):
            return True
        self._look = None
        self.looks += 1
        self._asked_at = 0.0
        self._due = time.monotonic() + self._gap
        self._gap = min(LONGEST_GAP_S, self._gap * WIDER)
        self._maybe_trace(look)
        return False

    def _maybe_trace(self, look: Look) -> None:
        if self._windows > 0 and self._window is None:
            self._to_trace = [held for held in look.growing if not held.lines]

    def _close_window(self) -> None:
        window, self._window = self._window, None
        if window is not None:
            window.close()

    def finish(self) -> None:
        """The last look, before the process ends: what is known is read once more, if that is quickly done."""
        was_running = self.stop()
        self._stop = False
        if was_running and self.looks and self._look is None and self.budget.allows(LAST_LOOK_S) and _marks.watched():
            self._look = Look(self.holders, False, threading.get_ident(), "due")
            self._slice(LAST_LOOK_S)
        self._close_window()

    def look_now(self, survey: bool = True) -> None:
        """A whole look at once, in this thread. For tests, and for who has the time."""
        self._look = Look(self.holders, survey, threading.get_ident(), "due" if self.looks else "start")
        while self._look is not None:
            self._slice(SLICE_S)

    def grown(self) -> List[Dict[str, Any]]:
        """Containers that grow, most bytes first, as they are told to the watcher."""
        return [describe(held) for held in self.holders.growing()]

    def held(self, name: str) -> Optional[Held]:
        """For tests: the container of this name."""
        return next((held for held in self.holders.known.values() if held.place.name() == name), None)


def _marked_step() -> Optional[int]:
    step = _marks.current().get("step")
    return step if type(step) is int else None


_running: Optional[Inside] = None
_options: Dict[str, Any] = {}
_starting = threading.Lock()


@_warn.harmless
def start(**options: Any) -> Optional[Inside]:
    """Looks from inside from now on; nothing where somebody does already, or where this Python is not CPython."""
    global _running
    if sys.implementation.name != "cpython":
        return None
    with _starting:
        if _running is None:
            _options.update(options)
            made = Inside(**_options)
            try:
                made.start()
            except RuntimeError:
                return None  # no thread can be had any more: the process ends
            _running = made
        elif options.get("lines"):
            _running._windows = max(_running._windows, MOST_WINDOWS)
    return _running


def _before_fork() -> None:
    """A fork beside our thread would be warned of (3.12), and would copy what it is in the middle of."""
    if _running is not None:
        _running.stop()


def _after_fork_in_parent() -> None:
    if _running is not None:
        _running.start()


def _after_fork_in_child() -> None:
    """A child is another process: it has its own time and its own growth."""
    global _running, _starting
    _starting = threading.Lock()
    was_running, _running = _running is not None, None
    if was_running:
        start()


def _at_exit() -> None:
    if _running is not None:
        _running.finish()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=hook_after_fork(_after_fork_in_parent),
        after_in_child=_after_fork_in_child,
    )
atexit.register(_at_exit)
