"""What a container keeps, estimated from a few of its items. Nothing of the job's code runs for it.

A count of all that hangs on a list of a million records would hold the interpreter for a second. Items of one
container are mostly alike, so a few of them, looked into for a bounded number of objects, tell it well enough.
"""

import gc
import itertools
import sys
import types
from collections import deque
from typing import Any, Dict, List, NamedTuple, Set

from . import _kinds, _tensors

# Items that are looked into: the first, the last and some between.
SAMPLED = 12
# Objects below one item. A record of a log has some twenty.
MOST_BELOW = 48
# Items of an lru_cache that are worth a list of all of them, for a moment: half a millisecond.
MOST_CACHED = 20_000
# Types of built-in functions whose `__sizeof__` is their own: others are code of the job's.
_C_FUNCTIONS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.BuiltinFunctionType)
# Shared by all: they are not kept by who refers to them.
_SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.FrameType)


class Group(NamedTuple):
    name: str
    count: int
    bytes: int


class Kept(NamedTuple):
    """Bytes in this process's memory, and what they are, largest first."""

    bytes: int
    groups: List[Group]


def kept(item: Any) -> Kept:
    """A container's own bytes, and what its items are expected to take, had all of them been looked into."""
    own, number = size_of(item), _kinds.length(item) or 0
    names: Dict[str, List[float]] = {}
    sample = some_items(item)
    number = max(number, len(sample))
    seen: Set[int] = {id(item)}
    total = 0
    for one in sample:
        below = _below(one, seen)
        total += below
        entry = names.setdefault(group_name(one), [0, 0])
        entry[0] += 1
        entry[1] += below
    scale = number / len(sample) if sample else 0.0
    groups = [Group(name, round(count * scale), round(size * scale)) for name, (count, size) in names.items()]
    groups.sort(key=lambda group: group.bytes, reverse=True)
    return Kept(own + round(total * scale), groups[:3])


def some_items(item: Any, most: int = SAMPLED) -> List[Any]:
    """Items of a container: values of a dict."""
    kind, number = type(item), _kinds.length(item) or 0
    if issubclass(kind, list):
        step = max(1, number // most)
        found = list.__getitem__(item, slice(0, None, step))[: most - 1] + list.__getitem__(item, slice(-1, None))
        return found if number > 1 else found[:1]
    if issubclass(kind, dict):
        return _ends_of(dict.values(item), dict.__reversed__, item, number, most)
    if kind is _kinds.LRU_CACHE:
        return _cached(item, number, most)
    if issubclass(kind, deque):
        return _ends_of(deque.__iter__(item), deque.__reversed__, item, number, most)
    return list(itertools.islice(set.__iter__(item), most))


def _cached(cache: Any, number: int, most: int) -> List[Any]:
    """Results of an lru_cache, which gives them only all at once: not where there are too many."""
    if number == 0 or number > MOST_CACHED:
        return []
    if cache.cache_info().maxsize is None:
        tables = [one for one in gc.get_referents(cache) if type(one) is dict and len(one) == number]
        return list(itertools.islice(tables[0].values(), most)) if tables else []
    # Keys and results, one after the other, come first; their links' type and its own come between.
    found = [one for one in gc.get_referents(cache) if type(one) is not type]
    return found[: 2 * number][1 :: 2 * max(1, number // most)][:most]


def last_items(item: Any, most: int) -> List[Any]:
    """Those that were added last, as far as the container has an order."""
    kind = type(item)
    if issubclass(kind, list):
        return list.__getitem__(item, slice(-most, None))
    if issubclass(kind, dict):
        keys = list(itertools.islice(dict.__reversed__(item), most))
        return [dict.get(item, key) for key in keys if _is_plain(key)] or keys
    if issubclass(kind, deque):
        return list(itertools.islice(deque.__reversed__(item), most))
    if kind is _kinds.LRU_CACHE:
        return _cached(item, _kinds.length(item) or 0, most)
    return list(itertools.islice(set.__iter__(item), most))


def _ends_of(first: Any, backwards: Any, item: Any, number: int, most: int) -> List[Any]:
    if number <= most:
        return list(itertools.islice(first, most))
    found = list(itertools.islice(first, most // 2))
    for last in itertools.islice(backwards(item), most // 2):
        if issubclass(type(item), dict):
            # A key of the job's own class would be compared by its own code.
            last = dict.get(item, last) if _is_plain(last) else None
        if last is not None:
            found.append(last)
    return found


def _is_plain(key: Any) -> bool:
    return type(key) in (str, int, bytes, float) or type(key) is tuple and all(map(_is_plain, key))


def _below(item: Any, seen: Set[int]) -> int:
    """Bytes of an object and of what it refers to, as far as nothing else was counted there before."""
    waiting, total, looked = [item], 0, 0
    while waiting and looked < MOST_BELOW:
        one = waiting.pop()
        if id(one) in seen or type(one) in _SHARED or issubclass(type(one), (type, types.ModuleType)):
            continue
        seen.add(id(one))
        looked += 1
        total += size_of(one)
        data = _data_bytes(one)
        if data is not None:
            total += data
            continue
        number = _kinds.length(one)
        if number is None:
            if gc.is_tracked(one) or type(one) is tuple:
                waiting += gc.get_referents(one)[:MOST_BELOW]
        elif number <= MOST_BELOW:
            waiting += gc.get_referents(one)
        else:
            # One of many: by a few of its own.
            inner = some_items(one, 4)
            sizes = [size_of(each) + (_data_bytes(each) or 0) for each in inner]
            total += sum(sizes) * number // max(1, len(sizes))
    return total


def _data_bytes(item: Any) -> Any:
    """Of what lies behind an object in this process's memory; None where nothing is known to."""
    kind = type(item)
    torch = _tensors.loaded()
    if torch is not None and kind in (getattr(torch, "Tensor", None), getattr(torch, "nn", torch).__dict__.get("Parameter")):
        try:
            return item.numel() * item.element_size() if item.device.type == "cpu" else 0
        except Exception:
            return 0
    if _kinds.type_name(item).startswith("PIL."):
        return _tensors.decoded_size(item)
    return None


def group_name(item: Any) -> str:
    """`Tensor cpu float32 [3, 1344, 1344]`, `dict`, `train.Record`."""
    torch = _tensors.loaded()
    if torch is not None and type(item) is getattr(torch, "Tensor", None):
        try:
            dtype = str(item.dtype).replace("torch.", "")
            return "Tensor %s %s %s" % (item.device.type, dtype, list(item.shape))
        except Exception:
            return "Tensor"
    return _kinds.type_name(item)


def size_of(item: Any) -> int:
    """Its own bytes. A `__sizeof__` that is written in Python is not asked."""
    for base in _kinds._type_mro(type(item)):
        found = _kinds._type_dict(base).get("__sizeof__")
        if found is not None:
            if type(found) not in _C_FUNCTIONS:
                return object.__sizeof__(item)
            break
    try:
        return sys.getsizeof(item)
    except Exception:
        return 0
