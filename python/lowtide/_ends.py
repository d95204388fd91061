"""Facts that may end a container's growth, read off the container and its owner. No verdict: that is the watcher's.

The words are those of `End` in the program (`look/heap.rs`).
"""

import itertools
from collections import deque
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _kinds
from ._opened import MISSING, Opened, module_globals
from ._places import Place

# Attributes of an owner that say how long its container may become.
DECLARING = ("capacity", "buffer_size", "max_size", "maxsize", "maxlen", "max_len", "max_length", "max_entries")
# Keys of a dict that are compared with what lies beside it.
KEYS_TRIED = 32
# Containers beside a dict that are tried as the origin of its keys.
MOST_SIBLINGS = 64


def ends(place: Place, item: Any, opened: Opened, grows: Callable[[Place], bool]) -> List[Dict[str, Any]]:
    """`grows` tells whether what is at a place grows itself: then it ends nothing."""
    found: List[Dict[str, Any]] = []
    length = _kinds.length(item) or 0
    owner = MISSING if place.parent is None else opened.at(place.parent)
    if issubclass(type(item), deque):
        most = deque.maxlen.__get__(item)  # type: ignore[attr-defined]
        if most is not None:
            found.append({"kind": "max-len", "of": "deque", "at": most})
    if type(item) is _kinds.LRU_CACHE:
        most = item.cache_info().maxsize
        if most is not None:
            found.append({"kind": "cache-size", "at": most})
    if owner is MISSING or found:
        return found
    beside = _beside(place, owner, opened)
    if place.how in ("attribute", "slot"):
        found += _declared(owner, beside, length)
    if not found and issubclass(type(item), dict):
        keys = _keys_of(place, item, length, beside, grows)
        if keys is not None:
            found.append(keys)
    return found


def _declared(owner: Any, beside: List[Tuple[str, Any]], length: int) -> List[Dict[str, Any]]:
    for name, value in beside:
        if name.lstrip("_") in DECLARING and type(value) is int and value >= max(length, 1):
            if _kinds.type_name(owner).startswith("queue.") and name == "maxsize":
                return [{"kind": "queue-size", "at": value}]
            return [{"kind": "declared", "attribute": name, "at": value}]
    return []


def _beside(place: Place, owner: Any, opened: Opened) -> List[Tuple[str, Any]]:
    """Names of the same owner."""
    try:
        if place.how == "global":
            return module_globals(owner)
        if place.how == "local":
            return list(opened.locals(owner).items())
        inner = opened.inner(owner)
        wanted = (place.how, "slot", "attribute")
        return [(str(key), value) for how, key, value in itertools.islice(inner, 500) if how in wanted]
    except Exception:
        return []


def _keys_of(
    place: Place, item: Any, length: int, beside: List[Tuple[str, Any]], grows: Callable[[Place], bool]
) -> Optional[Dict[str, Any]]:
    """The container beside it that its keys come from: its items, or their numbers."""
    keys = list(itertools.islice(dict.__iter__(item), KEYS_TRIED))
    # Keys that were added last tell more: numbers that only go up outgrow everything in the end.
    keys += list(itertools.islice(dict.__reversed__(item), KEYS_TRIED))
    if length < 2 or not all(type(key) in (int, str) for key in keys):
        return None
    numbers = all(type(key) is int for key in keys)
    best: Optional[Tuple[int, str]] = None
    for name, other in itertools.islice((one for one in beside if _kinds.length(one[1]) is not None), MOST_SIBLINGS):
        there = _kinds.length(other) or 0
        if other is item or there < length:
            continue
        if numbers and issubclass(type(other), (list, deque)):
            fits = 0 <= min(keys) and max(keys) < there
        elif type(other) in (dict, set):
            fits = all(key in other for key in keys)
        else:
            fits = False
        sibling = Place(place.parent, place.how, name, place.owner_type)
        if fits and (best is None or there < best[0]) and not grows(sibling):
            best = there, sibling.name()
    return None if best is None else {"kind": "keys", "of": best[1], "at": best[0]}
