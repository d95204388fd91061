"""The lines that made what a growing container got, from a short window of `tracemalloc`. Only when asked for.

Tracing slows Python code down two to four times, so the window is a few steps long. It tells where an item was
allocated, which is mostly near where it was put into the container, and it sees Python objects only.
"""

import collections
import sys
import time
import tracemalloc
import types
from typing import Any, Dict, List, Optional, Tuple

from . import _kinds
from ._holders import Held
from ._opened import MISSING, Opened
from ._sizes import last_items

# How long a window is: some steps, and some seconds where none are told or they are long.
STEPS = 5
SECONDS = 5.0
# Windows of one run: each is for containers that no line is known of yet.
MOST_WINDOWS = 3
# Containers that are told lines of, items of each that are asked, and lines that are named.
MOST_HOLDERS = 8
MOST_ITEMS = 64
MOST_LINES = 3


class Window:
    """Open from its making on."""

    def __init__(self, held: List[Held], step: Optional[int]) -> None:
        self._held = held[:MOST_HOLDERS]
        self._step = step
        self._began = time.monotonic()
        # Someone else's tracing goes on after our window, and has seen more than we would.
        self._ours = not tracemalloc.is_tracing()
        if self._ours:
            tracemalloc.start(1)
        # Python keeps freed objects for the next of their kind, and of those that were made before nobody knows a
        # line: we take them away for as long as the window is open.
        self._taken = _kept_by_python() if self._ours else []

    def is_over(self, step: Optional[int]) -> bool:
        if self._step is not None and step is not None and step >= self._step + STEPS:
            return True
        return time.monotonic() - self._began >= SECONDS

    def next(self, opened: Opened) -> bool:
        """Asks for the items of one more container. False when there is none."""
        if not self._held:
            return False
        held = self._held.pop()
        item = opened.at(held.place)
        if item is not MISSING and _kinds.length(item) is not None:
            try:
                held.lines = _lines_of(item) or held.lines
            except RuntimeError:
                pass  # it changed while we looked
        return True

    def close(self) -> None:
        if self._ours:
            self._ours = False
            tracemalloc.stop()
            self._taken = []


def _kept_by_python() -> List[Any]:
    """As many lists, dicts, floats and short tuples as CPython keeps of each (`*_MAXFREELIST` in its sources)."""
    taken: List[Any] = [[] for _ in range(100)]
    taken.append([{} for _ in range(100)])
    taken.append([float(number) for number in range(100)])
    for length in range(1, 5):
        taken.append([tuple([None] * length) for _ in range(2000)])
    return taken


def _lines_of(item: Any) -> List[Dict[str, Any]]:
    places: "collections.Counter[Tuple[str, int]]" = collections.Counter()
    for one in last_items(item, MOST_ITEMS):
        trace = tracemalloc.get_object_traceback(one)
        if trace:
            places[trace[0].filename, trace[0].lineno] += 1
    return [
        {"function": function_at(file, line), "file": file, "line": line, "how": "new item"}
        for (file, line), _ in places.most_common(MOST_LINES)
    ]


def function_at(file: str, line: int) -> str:
    """The function of a line, from the code of the module of that file."""
    for module in list(sys.modules.values()):
        if not issubclass(type(module), types.ModuleType):
            continue
        names = types.ModuleType.__getattribute__(module, "__dict__")
        if names.get("__file__") == file:
            found = [code for code in _codes(names) if code.co_filename == file and _has(code, line)]
            if found:
                # The innermost begins last.
                best = max(found, key=lambda code: code.co_firstlineno)
                return getattr(best, "co_qualname", best.co_name)
    return "<module>"


def _codes(names: Any) -> List[types.CodeType]:
    """All code below a module's functions and classes."""
    waiting: List[Any] = list(names.values())
    found: List[types.CodeType] = []
    for value in waiting:
        kind = type(value)
        if kind is types.FunctionType:
            waiting.append(value.__code__)
        elif kind in (staticmethod, classmethod):
            waiting.append(value.__func__)
        elif kind is property:
            waiting.append(value.fget)
        elif kind is type and len(found) < 10_000 and value.__module__ == names.get("__name__"):
            waiting += list(vars(value).values())
        elif kind is types.CodeType and value not in found:
            found.append(value)
            waiting += [const for const in value.co_consts if type(const) is types.CodeType]
    return found


def _has(code: types.CodeType, line: int) -> bool:
    lines = [number for _, number in _starts(code)]
    return code.co_firstlineno <= line <= max(lines, default=code.co_firstlineno)


def _starts(code: types.CodeType) -> Any:
    import dis  # needed for a few lines once, if at all

    return [(start, number) for start, number in dis.findlinestarts(code) if number is not None]
