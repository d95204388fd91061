"""The walk that finds containers: from modules and frames forwards, a few objects at a time.

It goes breadth first, the program's own modules before those of libraries, so that each container has the shortest
name that a person would use, and a walk that is cut off has seen what matters. Between two slices of work it holds
places and addresses, no objects. Driven by `_holders`.
"""

import os
import site
import sys
import sysconfig
import types
from collections import deque
from typing import Any, Callable, Deque, Iterable, List, Optional, Set, Tuple

from ._kinds import short_name
from ._opened import MISSING, MOST_FRAMES, Opened, may_read_locals, module_globals
from ._places import Place, Table

# A place and its address take some 100 bytes: 5 MB at most, for as long as a survey lasts.
MOST_OBJECTS = 50_000
# Steps from a root: `trainer.state.log_history` is three. Libraries are deep and wide, and what leaks in them is
# mostly near their surface.
DEEPEST = 10
DEEPEST_OF_LIBRARIES = 3
MOST_GLOBALS_OF_LIBRARIES = 300
# A process with torch and transformers has five thousand.
MODULES_AT_ONCE = 50
# Our own, and what every interpreter has: tables of the import system and of types that come and go by themselves.
SKIPPED = ("lowtide", "sys", "builtins", "gc", "tracemalloc", "linecache", "encodings", "importlib", "_frozen_importlib",
           "_frozen_importlib_external", "zipimport", "codecs", "abc", "_abc", "typing", "warnings", "sre_compile")  # fmt: skip


class Survey:
    """One walk. `found` is told each container with its place: `found(place, item, is_own)`."""

    def __init__(self, found: Callable[[Place, Any, bool], None], own_thread: int) -> None:
        self._found = found
        self._own_thread = own_thread
        self._seen: Set[int] = set()
        self._table = Table()
        # Numbers of the table: the program's own come first.
        self._own: Deque[int] = deque()
        self._of_libraries: Deque[int] = deque()
        self.objects = 0
        # Not all was seen: there is more than a walk takes.
        self.cut_off = False
        # Modules that are still to be added; none before the walk has begun.
        self._modules: Optional[List[str]] = None
        self._has_frames = False

    def step(self, opened: Opened) -> bool:
        """A little work. False when nothing is left."""
        if self._modules is None:
            # From the end on, the program itself first; where it was started by multiprocessing it has two names.
            self._modules = [name for name in sys.modules if name not in ("__main__", "__mp_main__")] + ["__main__"]
            return True
        if self._modules:
            self._add_modules(self._modules)
            return True
        if not self._has_frames:
            self._has_frames = True
            self._add_frames(opened)
            return True
        queue = self._own or self._of_libraries
        if not queue:
            return False
        if len(self._seen) >= MOST_OBJECTS:
            self.cut_off = True
            return False
        number = queue.popleft()
        item = opened.in_table(self._table, number)
        if item is not MISSING:
            self.objects += 1
            try:
                self._open(number, item, opened, queue)
            except Exception:
                pass  # it changed while we looked (RuntimeError), or it is none of the kinds we know
        return True

    def _open(self, number: int, item: Any, opened: Opened, queue: Deque[int]) -> None:
        own, how = queue is self._own, self._table.hows[number]
        if how == "module":
            names = module_globals(item) if own else module_globals(item, MOST_GLOBALS_OF_LIBRARIES)
            self._push(number, (("global", name, value) for name, value in names), opened, queue)
        elif how == "frame":
            names = list(opened.locals(item).items())
            self._push(number, (("local", name, value) for name, value in names), opened, queue)
        else:
            if opened.shape(item).container is not None:
                self._found(self._table.place(number), item, own)
            if self._table.depths[number] < (DEEPEST if own else DEEPEST_OF_LIBRARIES):
                self._push(number, opened.inner(item), opened, queue, short_name(item))

    def _push(
        self,
        number: int,
        inner: Iterable[Tuple[str, Any, Any]],
        opened: Opened,
        queue: Deque[int],
        owner_type: str = "",
    ) -> None:
        seen, shape, own = self._seen, opened.shape, queue is self._own
        for how, key, value in inner:
            known = shape(value)
            if known.leaf or id(value) in seen:
                continue
            if known.other is not None and not _belongs(known.other, value, own):
                continue
            seen.add(id(value))
            queue.append(self._table.add(number, how, key, owner_type))

    def _add_modules(self, names: List[str]) -> None:
        for name in names[: -MODULES_AT_ONCE - 1 : -1]:
            module = sys.modules.get(name)
            if type(name) is str and issubclass(type(module), types.ModuleType) and not _is_skipped(name):
                queue = self._own if is_own(module) else self._of_libraries
                queue.append(self._table.add(-1, "module", name))
        del names[-MODULES_AT_ONCE:]

    def _add_frames(self, opened: Opened) -> None:
        # A loop's own variables come before what hangs on modules deep down: both are near a root.
        for thread in threads(self._own_thread):
            frames = opened.frames(thread)
            for depth, frame in enumerate(frames[:MOST_FRAMES]):
                above = frames[depth + 1] if depth + 1 < len(frames) else None
                code = frame.f_code
                if is_own_file(code.co_filename) and may_read_locals(frame, above):
                    key = (thread, depth, code.co_filename, code.co_name, code.co_firstlineno)
                    self._own.append(self._table.add(-1, "frame", key))


def threads(own: int) -> List[int]:
    """All but ours, which looks: what it has in its hands is no part of the job."""
    return [thread for thread in sys._current_frames() if thread != own]


def _belongs(other: type, value: Any, own: bool) -> bool:
    """Classes and functions are everywhere: those of a library are opened from the library alone, and not at all
    where they can hold nothing."""
    if other is type:
        module = sys.modules.get(type.__dict__["__module__"].__get__(value))
        return not own or module is None or is_own(module)
    if other is types.FunctionType:
        return bool(value.__closure__ or value.__defaults__ or value.__kwdefaults__)
    return True


def _is_skipped(name: str) -> bool:
    return name.partition(".")[0] in SKIPPED


def _library_folders() -> Tuple[str, ...]:
    found = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    try:
        found.update(site.getsitepackages())
        found.add(site.getusersitepackages())
    except Exception:
        pass  # `site` was left out, or replaced by an old virtualenv
    return tuple(os.path.join(path, "") for path in found if path)


_LIBRARIES = _library_folders()
_OURS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


def is_own_file(file: Any) -> bool:
    """Is this a file of the program's, not of a library?"""
    if not isinstance(file, str) or file.startswith("<frozen"):
        return False
    return not file.startswith(_LIBRARIES + (_OURS,)) and "site-packages" not in file and "dist-packages" not in file


def is_own(module: Any) -> bool:
    names = types.ModuleType.__getattribute__(module, "__dict__")
    if names.get("__name__") == "__main__":
        return True
    file = names.get("__file__")
    return isinstance(file, str) and is_own_file(file)
