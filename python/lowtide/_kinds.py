"""What an object is to the walk, told without running any code of the job.

`isinstance`, `getattr` and `len` may run code of whoever wrote the class (proxies, properties, `__len__`), in our
thread and in the middle of their step. So everything here asks the type alone, and uses the functions of the
built-in types on their subclasses. Fed with objects by `_opened` and `_survey`.
"""

import collections
import functools
import threading
import types
from typing import Any, Callable, Dict, Optional, Tuple

LRU_CACHE = type(functools.lru_cache(lambda: None))
CONTAINERS = (list, dict, set, collections.deque, LRU_CACHE)
# Opened on the way to containers, and none themselves: they do not grow.
_FIXED = (tuple, frozenset, types.MappingProxyType)
# Nothing of the job hangs on these, or nothing that has a name.
_LEAVES = (
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
    type(None),
    type(NotImplemented),
    type(...),
    range,
    slice,
    memoryview,
    types.CodeType,
    types.BuiltinFunctionType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.FrameType,
    types.TracebackType,
)

# These have no attributes; an lru_cache has, its function among them.
_BARE = (list, dict, set, collections.deque)
# The types that a class of the job's own is mostly made from; they have no attributes of the job's.
_PLAIN = (object, list, dict, set, tuple, frozenset, collections.deque)
THREAD_LOCAL = threading.local
_LENGTHS: Tuple[Tuple[type, Callable[[Any], int]], ...] = (
    (list, list.__len__),
    (dict, dict.__len__),
    (set, set.__len__),
    (collections.deque, collections.deque.__len__),
    (LRU_CACHE, lambda cache: cache.cache_info().currsize),
)

_type_dict: Callable[[type], Any] = type.__dict__["__dict__"].__get__  # what `vars(cls)` gives, whatever its metaclass
_type_mro: Callable[[type], Tuple[type, ...]] = type.__dict__["__mro__"].__get__
_type_name: Callable[[type], str] = type.__dict__["__name__"].__get__
_type_module: Callable[[type], Any] = type.__dict__["__module__"].__get__


class Shape:
    """What one type is to the walk. Kept for a moment only, as long as its type is sure to live."""

    __slots__ = ("container", "tuple", "dict_of", "slots", "leaf", "other")

    def __init__(self, kind: type) -> None:
        # The built-in type whose functions read it, for those that grow.
        self.container: Optional[type] = None
        self.tuple = False
        # Gives the `__dict__` of an instance, and the descriptors of its slots by name.
        self.dict_of: Optional[Callable[[Any], Dict[str, Any]]] = None
        self.slots: Tuple[Tuple[str, Any], ...] = ()
        self.other: Optional[type] = None
        self.leaf = kind in _LEAVES or issubclass(kind, (types.ModuleType, Exception)) or _is_ours(kind)
        if self.leaf:
            return
        for base in CONTAINERS:
            if issubclass(kind, base):
                self.container = base
        self.tuple = self.container is None and issubclass(kind, tuple)
        for special in (type, types.FunctionType, types.MethodType, types.GeneratorType, THREAD_LOCAL):
            if issubclass(kind, special):
                self.other = special
        if kind in _BARE or kind in _FIXED or self.other in (type, types.MethodType, types.GeneratorType):
            return
        if self.other is not THREAD_LOCAL:
            self._find_attributes(kind)
        self.leaf = not (self.container or self.tuple or self.other or self.dict_of or self.slots)

    def _find_attributes(self, kind: type) -> None:
        slots = []
        for base in _type_mro(kind):
            names = _type_dict(base)
            found = names.get("__dict__")
            if found is not None and base is not type and self.dict_of is None:
                # A property of this name is code of theirs: then we do not look.
                if type(found) is not types.GetSetDescriptorType:
                    return
                self.dict_of = found.__get__
            # Members of a built-in type are its own affair (a function's `__globals__` is no attribute).
            if base not in _PLAIN and self.other is None:
                slots += [(name, one) for name, one in names.items() if type(one) is types.MemberDescriptorType]
        self.slots = tuple(slots)


def _is_ours(kind: type) -> bool:
    module = _type_dict(kind).get("__module__")
    return type(module) is str and module.startswith("lowtide.")


def length(item: Any) -> Optional[int]:
    """Of a container, by the built-in type that it is."""
    for base, count in _LENGTHS:
        if issubclass(type(item), base):
            return count(item)
    return None


def type_name(item: Any) -> str:
    """`list`, `collections.deque`, `train.Metrics`."""
    kind = type(item)
    if kind is LRU_CACHE:
        return "lru_cache"
    name = _type_name(kind)
    try:
        module = _type_module(kind)
    except Exception:
        module = None
    if module == "builtins" or not isinstance(module, str):
        return name
    return "%s.%s" % (module, name)


def short_name(item: Any) -> str:
    return _type_name(type(item))
