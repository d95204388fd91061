"""A window of Python allocation tracing: which lines grew between two steps.

    from lowtide.tracemalloc import Window

    trainer = Trainer(..., callbacks=[LowtideCallback(tracemalloc=Window(20, 40))])

It sees what Python's own allocator gave out, since the window opened. It cannot see memory of C
and C++ code: tensors, decoded pictures, malloc in an extension. Tracing slows Python code down by
two to four times while the window is open, and takes memory of its own, which it reports.
"""

import os
import tracemalloc
from typing import Any, List, Optional

from . import _marks, _warn
from ._host import signed, size

BLIND = "tracemalloc sees Python's own allocations only: no tensors, decoded pictures or C memory"


class Window:
    """Traces from step `start` to step `stop`; the top growing lines go into the recording."""

    def __init__(self, start: int, stop: int, frames: int = 1, top: int = 10, lines: bool = True) -> None:
        if stop <= start:
            raise ValueError("a window needs stop > start, not %d..%d" % (start, stop))
        self.start, self.stop, self.frames, self.top = start, stop, frames, top
        self.lines = lines
        self.growth: List[Any] = []
        self._first: Optional[tracemalloc.Snapshot] = None
        self._ours = False
        self._done = False

    @_warn.harmless
    def step(self, step: int) -> None:
        if self._done:
            return
        if self._first is None:
            if step >= self.start:
                self._open()
        elif step >= self.stop:
            self.close()

    @_warn.harmless
    def close(self) -> None:
        """Ends the window where it is; nothing when it is not open."""
        if self._first is None or self._done:
            return
        self._done = True
        growth = tracemalloc.take_snapshot().compare_to(self._first, "lineno")
        overhead = tracemalloc.get_tracemalloc_memory()
        self._first = None
        if self._ours:
            tracemalloc.stop()
        self.growth = [change for change in growth if change.size_diff > 0][: self.top]
        lines = {}
        for change in self.growth:
            frame = change.traceback[0]
            lines["%s:%d" % (_short(frame.filename), frame.lineno)] = change.size_diff
        _marks.record({"tracemalloc": lines, "tracemalloc_overhead": overhead, "moment": "tracemalloc"})
        _marks.note(BLIND)
        if self.lines:
            _warn.say("lowtide: tracemalloc, steps %d to %d (its own memory: %s):" % (self.start, self.stop, size(overhead)))
            for place, grew in lines.items():
                _warn.say("lowtide:   %s %s" % (place, signed(grew)))
            _warn.say("lowtide:   " + BLIND)

    def _open(self) -> None:
        # Someone else's tracing goes on after our window.
        self._ours = not tracemalloc.is_tracing()
        if self._ours:
            tracemalloc.start(self.frames)
        self._first = tracemalloc.take_snapshot()


def _short(path: str) -> str:
    """The last parts of a path name a line well enough."""
    return os.sep.join(path.split(os.sep)[-3:])
