"""Subclasses of the built-in containers and scalars, with attributes and slots of their own."""
import array
import builtins
import collections
import datetime
import decimal
import fractions
import random
import types

BASES = [list, dict, set, tuple, str, int, float, bytes, frozenset, bytearray, complex,
         collections.deque, collections.OrderedDict, collections.defaultdict, collections.Counter,
         decimal.Decimal, fractions.Fraction, datetime.datetime, datetime.timedelta, random.Random,
         types.SimpleNamespace, types.ModuleType, Exception, OSError, KeyError, BaseException,
         collections.ChainMap, collections.UserDict, array.array, object, property, staticmethod]
if hasattr(builtins, "frozendict"):
    BASES.append(builtins.frozendict)
ARGS = {list: ([1, 2, 3],), dict: ({"a": 1},), set: ({1, 2},), tuple: ((1, "t", None),), str: ("text",),
        int: (12345678901234567890,), float: (2.5,), bytes: (b"bytes",), frozenset: ("xyz",),
        bytearray: (b"ba",), complex: (1, 2), collections.deque: ("deque", 10),
        collections.OrderedDict: ([("k", 1), ("l", 2)],), collections.defaultdict: (list, {"d": []}),
        collections.Counter: ("abracadabra",), decimal.Decimal: ("3.14159",), fractions.Fraction: (3, 7),
        datetime.datetime: (2020, 2, 29), datetime.timedelta: (3, 4), types.ModuleType: ("modsub",),
        OSError: (2, "no", "file"), array.array: ("d", [1.0, 2.0]), property: (len,), staticmethod: (len,)}

plain, attributed, empty_slots, slotted, slot_and_dict, refused = {}, {}, {}, {}, {}, []
for base in BASES:
    args = ARGS.get(base, ())
    name = base.__name__.title()
    for store, ns in ((plain, {}), (attributed, {"cls_attr": [name]}), (empty_slots, {"__slots__": ()}),
                      (slotted, {"__slots__": ("first", "second")}),
                      (slot_and_dict, {"__slots__": ("first", "__dict__")})):
        try:
            cls = type("My" + name, (base,), dict(ns))
        except TypeError as e:              # nonempty slots on int, bytes, tuple
            refused.append((name, str(e)))
            continue
        try:
            obj = cls(*args)
        except AttributeError as e:         # a slotted property has no place for __doc__
            refused.append((name, str(e)))
            continue
        store[name] = obj
        if store is attributed:
            obj.mine = "attribute of " + name
            obj.me = obj
        elif store is slotted:
            obj.first = (name, 1)
        elif store is slot_and_dict:
            obj.first = [name]
            obj.dyn = {"in": "dict"}


class TagList(list):
    def __init__(self, *a):
        super().__init__(*a)
        self.tag = len(self)


class TagDict(dict):
    __slots__ = ("tag",)
    def __missing__(self, key): return key


class TagSet(set):
    __slots__ = ("tag", "other")


class TagTuple(tuple):
    def __new__(cls, *items):
        self = super().__new__(cls, items)
        self.total = len(items)
        return self


class TagStr(str):
    __slots__ = ("lang", "origin")


class TagInt(int):
    unit = "m"


class TagInt2(TagInt):
    def __init__(self, v): self.note = "n%d" % (v % 10)


class TagFloat(float): __slots__ = ("err",)
class TagBytes(bytes): pass
class LRU(collections.OrderedDict):
    def __init__(self, cap):
        super().__init__()
        self.cap = cap

    def put(self, k, v):
        self[k] = v
        self.move_to_end(k, last=bool(k % 3))
        while len(self) > self.cap:
            self.popitem(last=False)


class Tree(collections.defaultdict):
    def __init__(self, depth=0):
        super().__init__(lambda: Tree(depth + 1))
        self.depth = depth


tag_lists = [TagList(range(i % 9)) for i in range(800)]
tag_dicts = []
for i in range(600):
    d = TagDict(("k%d" % j, j) for j in range(i % 12))
    if i % 2: d.tag = i
    tag_dicts.append(d)
tag_sets = [TagSet(range(i)) for i in range(60)]
for i, s in enumerate(tag_sets):
    s.tag = tag_sets[i - 1]
tag_tuples = [TagTuple(*range(i % 6)) for i in range(700)]
tag_strs = []
for i in range(600):
    s = TagStr("".join(chr(c) for c in (65 + i % 26, (0xe9, 0x416, 0x1f600)[i % 3])) * (i % 20))
    s.lang = "en"
    if i % 4: s.origin = tag_strs
    tag_strs.append(s)
tag_ints = [TagInt(10 ** (i % 60)) for i in range(300)] + [TagInt2(-(1 << i)) for i in range(200)]
zeros = [TagInt(0), TagInt2(0), TagFloat(), TagBytes(), TagStr(), TagList(), TagTuple(), TagDict(), TagSet()]
tag_floats = [TagFloat(i / 7) for i in range(300)]
for f in tag_floats[::2]: f.err = 1e-9
tag_bytes = [TagBytes(bytes(range(i))) for i in range(100)]
for b in tag_bytes[::3]: b.name = "bytes%d" % len(b)
lru = LRU(100)
for i in range(1000): lru.put(i, str(i))
tree = Tree()
for i in range(500): tree[i % 5][i % 7][i % 11][i] = i
keyed = {TagStr("a"): 1, "b": 2, TagInt(3): 3, TagTuple(1, 2): 4, TagFloat(1.5): 5, TagBytes(b"k"): 6}
names_only_subclass = {TagStr("key%d" % i): i for i in range(50)}
dq = collections.deque((str(i) for i in range(1000)), maxlen=333)   # wrapped around its blocks
dq.rotate(100); dq.appendleft("left"); dq.popleft(); dq.popleft()
dqs = [collections.deque(range(n)) for n in (0, 1, 31, 32, 63, 64, 65, 128, 129)]
sub_dq = type("Dq", (collections.deque,), {"__slots__": ("a", "b")})("xyz" * 50); sub_dq.b = sub_dq
chain = collections.ChainMap({"a": 1}, tree, collections.Counter("hello"))
user = [collections.UserList([1, 2]), collections.UserString("us"), collections.UserDict(a=1)]
multi = type("Multi", (TagList, collections.abc.Hashable), {"__hash__": object.__hash__})([1])
multi_layers = type("L3", (type("L2", (type("L1", (dict,), {"__slots__": ("a",)}),), {}),), {"__slots__": ("z",)})(q=1)
multi_layers.a = "slot a"; multi_layers.z = "slot z"; multi_layers.d = "dict d"
