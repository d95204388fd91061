"""Classes and instances of every layout: slots, dataclasses, odd __dict__ histories."""
import abc
import enum
import sys
import types
import typing
from dataclasses import dataclass, field

@dataclass
class Plain:
    a: int
    b: str = "b"
    c: list = field(default_factory=list)

@dataclass(frozen=True, order=True)
class Frozen:
    key: tuple
    value: float = 1.5

if sys.version_info >= (3, 10):
    @dataclass(slots=True)
    class Slotted:
        a: int
        b: object = None

    @dataclass(frozen=True, slots=True, kw_only=True)
    class FrozenSlotted:
        x: int
        y: "typing.Optional[FrozenSlotted]" = None
else:
    class Slotted:
        __slots__ = ("a", "b")

        def __init__(self, a, b=None):
            self.a, self.b = a, b

    class FrozenSlotted(Slotted):
        __slots__ = ()

        def __init__(self, x, y=None):
            super().__init__(x, y)

class S0: __slots__ = ()
class S1(S0): __slots__ = ("one",)
class S2(S1): __slots__ = ("two", "__weakref__")
class S3(S2): __slots__ = ["three", "__private", "_S3__other"]
class SDict(S3): pass                                   # gains a __dict__
class SDictSlot(SDict): __slots__ = ("late",)           # slot after a dict
class SOwnDict(S1): __slots__ = ("__dict__", "zz", "aa")
class SShadow(S1): __slots__ = ("one",)                 # same slot name twice
class SDoc: __slots__ = {"x": "doc of x", "y": "doc of y"}

class Mixin: pass
class Multi(Mixin, SShadow): __slots__ = ("m",)

class Meta(type):
    registry = {}

    def __new__(mcs, name, bases, ns, **kw):
        cls = super().__new__(mcs, name, bases, ns)
        cls.kw = kw
        mcs.registry[name] = cls
        return cls

    def __init__(cls, name, bases, ns, **kw): super().__init__(name, bases, ns)

    @property
    def shout(cls):
        return cls.__name__.upper()

class SubMeta(Meta, abc.ABCMeta): flag = object()
class WithMeta(metaclass=Meta, tag="t", level=3): body = [1, 2, 3]
class WithSubMeta(WithMeta, metaclass=SubMeta):
    @abc.abstractmethod
    def todo(self): ...

class Point(typing.NamedTuple):
    x: int
    y: float = 0.0
    tag: typing.Any = None

class Colour(enum.Enum): RED = 1; GREEN = "g"; BLUE = (1, 2); CRIMSON = 1

class Perm(enum.IntFlag): R = 4; W = 2; X = 1

class Opts(enum.Flag): A = enum.auto(); B = enum.auto(); AB = A | B

class Str(str, enum.Enum): ONE = "one"; TWO = "two\u20ac"

class Desc:
    def __set_name__(self, owner, name): self.name = name
    def __get__(self, obj, owner=None): return self if obj is None else (self.name, obj)

class Props:
    d = Desc()
    p = property(lambda self: 1, None, None, "doc")
    c = classmethod(lambda cls: cls)
    s = staticmethod(len)
    def meth(self): return self

class Wide:
    def __init__(self, n=60):
        for i in range(n):
            setattr(self, "attr_%02d" % i, i * 1000)

class Loose: pass

plain = [Plain(i, "s%d" % i, [i]) for i in range(1500)]
frozen = {Frozen((i, str(i))): i for i in range(500)}
slotted = [Slotted(i, (i,)) for i in range(1500)]
chain = None
for i in range(300):
    chain = FrozenSlotted(x=i, y=chain)
slots_unset = [c() for c in (S0, S1, S2, S3, SDict, SDictSlot, SOwnDict, SShadow, SDoc, Multi)]
slots_set = []
for c in (S3, SDict, SDictSlot):
    o = c(); o.one, o.two, o.three = 1, "two", [3]; slots_set.append(o)
slots_set[1].extra = slots_set; slots_set[2].late = "late"; slots_set[2].more = {"m": 1}
own = SOwnDict(); own.aa = own; own.q = b"q"; own.zz = None
shadow = SShadow(); shadow.one = "sub"; S1.one.__set__(shadow, "base")
multi = Multi(); multi.m = 1; multi.dictattr = 2
points = [Point(i, i / 3, None if i % 2 else "odd") for i in range(800)]
flags = [Perm(i) for i in range(8)] + [Opts.A, Opts.AB, Opts(0)] + list(Colour) + list(Str)
wide = [Wide(n) for n in (0, 1, 5, 29, 30, 31, 59, 60)] + [Wide() for _ in range(40)]
WideClass = type("WideClass", (), {"k%d" % i: i for i in range(60)})
odd = []
for i in range(400):                                   # attributes in odd orders
    o = Loose(); names = ["n%d" % ((i * 7 + j * 3) % 11) for j in range(6)]
    for n in names: setattr(o, n, (n, i))
    if i % 3 == 0: delattr(o, names[0]); setattr(o, names[0], "back")
    if i % 5 == 0: [delattr(o, n) for n in set(names)]
    if i % 7 == 0: o.__dict__["by dict"] = i; o.__dict__[i] = "int key"
    odd.append(o)
shared = {"shared": 1}
replaced = [Loose() for _ in range(6)]
replaced[0].__dict__ = shared; replaced[1].__dict__ = shared
replaced[2].x = 1; replaced[2].__dict__ = {}; replaced[2].y = 2
replaced[3].x = 1; del replaced[3].__dict__
replaced[4].__dict__ = type("D", (dict,), {})(sub=1)
replaced[5].x = 5; kept_dict = replaced[5].__dict__; replaced[5].__dict__ = replaced[4].__dict__
reclassed = Wide(3); reclassed.__class__ = Loose
orphan_dict = Loose(); orphan_dict.o = "survives"; orphan_dict = vars(orphan_dict)
deep = object
for i in range(120):
    deep = type("Deep%d" % i, (deep,), {"level%d" % i: i, "__slots__": ("s%d" % i,) if i % 2 else ()})
deep_obj = deep(); deep_obj.s1 = "low"; deep_obj.s119 = "high"
many = [types.new_class("Many%d" % i, (Loose,), {}, lambda ns, i=i: ns.update(i=i)) for i in range(150)]
many_objs = [c() for c in many]
local_name = type("not an identifier \u20ac", (), {"__module__": None, "__qualname__": "q.<x>"})()
bound = [o.meth for o in [Props() for _ in range(50)]] + [Props.c, Props().c, Props.s, Props.__dict__["p"]]
