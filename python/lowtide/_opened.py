"""What is at places, for one slice of work: how one gets from an object to those that hang on it, and back to it later.

Nothing of the job's code runs on the way (`_kinds`), and nothing stays behind: `Opened.close` lets go of all.
"""

import gc
import itertools
import sys
import types
from collections import deque
from typing import Any, Dict, Iterator, List, Optional, Tuple

from . import _kinds
from ._kinds import Shape
from ._places import Place, Table

# Items of a container that are opened: all of a small one, of a larger one the first. What hangs on the
# thousandth record of a list hangs on the first, too.
MOST_ITEMS = 64
MOST_DICT_ITEMS = 256
MOST_ATTRIBUTES = 500
MOST_GLOBALS = 2_000
# Keys that are kept in a place, and so kept alive: names, not texts.
LONGEST_KEY = 80
# Frames of one thread, from its first on.
MOST_FRAMES = 100
# Materialises the `__dict__` of an instance up to 3.12 (some 200 bytes, which stay): so many at most on a walk, 1 MB.
MOST_MATERIALISED = 5_000
MATERIALISES = (3, 11) <= sys.version_info < (3, 13)
# From 3.13 on a frame's locals are read through; before, asking makes a copy that stays with the frame.
COPIES_LOCALS = sys.version_info < (3, 13)
# References to such a copy where nobody but its frame and we have it: the frame, our list, the loop's variable,
# the argument.
OURS_ALONE = 4
# A function that mentions one of these may have the copy in its hands.
_SEES_ITS_LOCALS = frozenset(("locals", "vars", "eval", "exec", "dir", "_getframe", "currentframe", "f_locals"))
# The arguments of a function for `sys.settrace`: while it runs, the copy is written back to the frame below.
_TRACES = frozenset(("frame", "event"))
_CO_OPTIMIZED = 0x1

MISSING: Any = type("Missing", (), {})()


class Opened:
    """What is at places, for one slice of work. `close` lets go of everything."""

    def __init__(self, materialised: Optional[List[int]] = None) -> None:
        self._shapes: Dict[type, Shape] = {}
        self._found: Dict[int, Any] = {}
        self._frames: Dict[int, List[types.FrameType]] = {}
        self._locals: Dict[int, Tuple[types.FrameType, Any]] = {}
        self._copies: List[Dict[str, Any]] = []
        # How many instances were asked for a `__dict__` that they may not have had; one number for a whole walk.
        self._materialised = [0] if materialised is None else materialised

    def close(self) -> None:
        self._found.clear()
        self._shapes.clear()
        self._frames.clear()
        self._locals.clear()
        copies, self._copies = self._copies, []
        for copy in copies:
            # Else everything that was in a local variable stays alive until the function returns.
            if sys.getrefcount(copy) <= OURS_ALONE:
                copy.clear()
        copies.clear()

    def shape(self, item: Any) -> Shape:
        kind = type(item)
        found = self._shapes.get(kind)
        if found is None:
            found = self._shapes[kind] = Shape(kind)
        return found

    def at(self, place: Place) -> Any:
        """The object, or MISSING."""
        # By the identity of the place, which its own holder keeps.
        known = self._found.get(id(place), self)
        if known is not self:
            return known
        if place.parent is None:
            found = self.root(place.how, place.key)
        else:
            owner = self.at(place.parent)
            found = MISSING if owner is MISSING else self.follow(owner, place.how, place.key)
        self._found[id(place)] = found
        return found

    def in_table(self, table: Table, number: int) -> Any:
        """The same of one in a table."""
        known = self._found.get(~number, self)
        if known is not self:
            return known
        parent = table.parents[number]
        if parent < 0:
            found = self.root(table.hows[number], table.keys[number])
        else:
            owner = self.in_table(table, parent)
            found = MISSING if owner is MISSING else self.follow(owner, table.hows[number], table.keys[number])
        self._found[~number] = found
        return found

    def root(self, how: str, key: Any) -> Any:
        if how == "module":
            return sys.modules.get(key, MISSING)
        thread, depth, file, function, line = key
        frames = self.frames(thread)
        if depth >= len(frames):
            return MISSING
        code = frames[depth].f_code
        same = (code.co_filename, code.co_name, code.co_firstlineno) == (file, function, line)
        return frames[depth] if same else MISSING

    def frames(self, thread: int) -> List[types.FrameType]:
        """Of a thread, its first one first."""
        found = self._frames.get(thread)
        if found is None:
            frame = sys._current_frames().get(thread)
            found = []
            while frame is not None and len(found) < 10 * MOST_FRAMES:
                found.append(frame)
                frame = frame.f_back
            found = self._frames[thread] = found[::-1]
        return found

    def follow(self, owner: Any, how: str, key: Any) -> Any:
        try:
            return self._follow(owner, how, key)
        except Exception:
            return MISSING  # it is another object by now, or it changes while we look

    def _follow(self, owner: Any, how: str, key: Any) -> Any:
        if how == "global":
            return _module_dict(owner).get(key, MISSING)
        if how == "local":
            return self.locals(owner).get(key, MISSING)
        if how == "generator":
            return self.locals(owner.gi_frame).get(key, MISSING)
        if how == "attribute":
            dict_of = self.shape(owner).dict_of
            return MISSING if dict_of is None else dict_of(owner).get(key, MISSING)
        if how == "slot":
            slots = dict(self.shape(owner).slots)
            return slots[key].__get__(owner)
        if how == "class":
            return _kinds._type_dict(owner)[key]
        if how == "item":
            return dict.get(owner, key, MISSING)
        if how == "index":
            return _item(owner, key)
        if how == "nth":
            return next(itertools.islice(dict.values(owner), key, None), MISSING)
        if how == "cell":
            return _cells(owner)[key].cell_contents
        if how == "default":
            return _defaults(owner)[key]
        if how == "thread-local":
            return _thread_dicts(owner)[key[0]][key[1]]
        if how == "self":
            return owner.__self__
        return MISSING

    def locals(self, frame: types.FrameType) -> Any:
        known = self._locals.get(id(frame))
        if known is not None:
            return known[1]
        found = frame.f_locals
        if COPIES_LOCALS and frame.f_code.co_flags & _CO_OPTIMIZED:
            self._copies.append(found)
        # With the frame: its address could be another's by the next question.
        self._locals[id(frame)] = frame, found
        return found

    def inner(self, item: Any) -> Iterator[Tuple[str, Any, Any]]:
        """What hangs on an object: how one gets there, and what it is."""
        shape = self.shape(item)
        if shape.container is not None or shape.tuple:
            yield from _items(item, shape)
        if shape.other is not None:
            yield from self._of_special(item, shape)
        if shape.dict_of is not None and self._may_open(item):
            for name, value in _copy(shape.dict_of(item)):
                if type(name) is str:
                    yield "attribute", name, value
        for name, descriptor in shape.slots:
            try:
                yield "slot", name, descriptor.__get__(item)
            except AttributeError:
                pass  # nothing was put there yet

    def _may_open(self, item: Any) -> bool:
        """Asking for a `__dict__` makes one: worth it only where something can hang on it."""
        if not MATERIALISES:
            return True
        if all(self.shape(inner).leaf for inner in gc.get_referents(item)):
            return False
        self._materialised[0] += 1
        return self._materialised[0] <= MOST_MATERIALISED

    def _of_special(self, item: Any, shape: Shape) -> Iterator[Tuple[str, Any, Any]]:
        other = shape.other
        if other is types.FunctionType:
            for name, cell in _cells(item).items():
                try:
                    yield "cell", name, cell.cell_contents
                except ValueError:
                    pass  # nothing in it yet
            for name, value in _defaults(item).items():
                yield "default", name, value
        elif other is types.MethodType:
            yield "self", None, item.__self__
        elif other is type:
            for name, value in _copy(_kinds._type_dict(item)):
                # What a static or class method wraps has the class's functions in it.
                if type(name) is str and not name.startswith("__"):
                    yield "class", name, value
        elif other is types.GeneratorType:
            frame = item.gi_frame
            if frame is not None and may_read_locals(frame, None):
                for name, value in _copy(self.locals(frame)):
                    yield "generator", name, value
        elif other is _kinds.THREAD_LOCAL:
            for number, names in enumerate(_thread_dicts(item)):
                for name, value in _copy(names):
                    yield "thread-local", (number, name), value


def module_globals(module: Any, most: int = MOST_GLOBALS) -> List[Tuple[str, Any]]:
    names = itertools.islice(_module_dict(module).items(), most)
    return [(name, value) for name, value in list(names) if type(name) is str]


def may_read_locals(frame: types.FrameType, above: Optional[types.FrameType]) -> bool:
    """Can its locals be read without anybody noticing? `above` is the frame that it called."""
    code = frame.f_code
    if not code.co_flags & _CO_OPTIMIZED:
        return False  # a module's or a class's: its names are found there
    if not COPIES_LOCALS:
        return True
    if frame.f_trace is not None or not _SEES_ITS_LOCALS.isdisjoint(code.co_names):
        return False
    return above is None or _TRACES.isdisjoint(above.f_code.co_varnames[:4])


def _module_dict(module: Any) -> Dict[str, Any]:
    return types.ModuleType.__getattribute__(module, "__dict__")


def _copy(names: Any) -> List[Tuple[Any, Any]]:
    return list(itertools.islice(names.items(), MOST_ATTRIBUTES))


def _items(item: Any, shape: Shape) -> Iterator[Tuple[str, Any, Any]]:
    base = shape.container
    if base is dict:
        for number, (key, value) in enumerate(list(itertools.islice(dict.items(item), MOST_DICT_ITEMS))):
            named = type(key) is int or type(key) is str and len(key) <= LONGEST_KEY
            yield ("item", key, value) if named else ("nth", number, value)
    elif base is list or shape.tuple or base is deque:
        values = (list if base is list else tuple if shape.tuple else deque).__iter__(item)
        for number, value in enumerate(list(itertools.islice(values, MOST_ITEMS))):
            yield "index", number, value
    # What is in a set is hashable: containers that grow are not.


def _item(owner: Any, index: int) -> Any:
    for base in (list, tuple, deque):
        if issubclass(type(owner), base):
            return base.__getitem__(owner, index)
    return MISSING


def _cells(function: Any) -> Dict[str, Any]:
    return dict(zip(function.__code__.co_freevars, function.__closure__ or ()))


def _defaults(function: Any) -> Dict[str, Any]:
    code, values = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    found = dict(zip(names[len(names) - len(values) :], values))
    found.update(function.__kwdefaults__ or {})
    return found


def _thread_dicts(local: Any) -> List[Dict[str, Any]]:
    """What each thread has in a `threading.local`."""
    for inner in gc.get_referents(local):
        if type(inner) is dict and inner and all(type(value) is dict for value in inner.values()):
            return list(inner.values())
    return []
