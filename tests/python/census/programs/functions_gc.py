"""functools, weak references, cycles, finalisers, frozen and untracked objects."""
import functools
import gc
import operator
import sys
import types
import weakref
from functools import cached_property, lru_cache, partial, partialmethod, singledispatch, singledispatchmethod

# ---- frozen first: these live in the permanent generation
frozen_objs = [{"frozen": i, "list": [i, (i, str(i))]} for i in range(3000)]
class FrozenNode: pass
frozen_ring = [FrozenNode() for _ in range(500)]
for i, n in enumerate(frozen_ring): n.next = frozen_ring[i - 1]
gc.collect(); gc.freeze()
frozen_count = gc.get_freeze_count()
frozen_objs[0]["young"] = ["young object held by a frozen one"]
del frozen_ring[::2]

# ---- functions
def sig(a, b=[1], /, c=(2,), *args, d, e={"e": 1}, **kw) -> "ret": "doc"; return locals()
sig.attr = "function attribute"; sig.__dict__["odd key"] = sig
def bare(): pass
bare.__doc__ = None; bare.__qualname__ = "changed.<locals>.\u20ac"
made = [types.FunctionType(bare.__code__, {"g": i}, "made%d" % i) for i in range(200)]
lambdas = [lambda x, i=i: x + i for i in range(500)]
adders = [(lambda n: lambda x: x + n)(i) for i in range(500)]
methods = [types.MethodType(sig, o) for o in (1, "s", sig, frozen_objs)]
builtins_ = [len, [].append, {}.get, "x".join, dict.fromkeys, str.upper, "a".__add__, object.__new__, int.__add__, (5).__add__, type.__dict__["__name__"]]

partials = [partial(sig, i, d=i) for i in range(300)]
partials += [partial(partial(partial(int, base=2)), "101"), partial(print), partial(operator.mul, 2)]
partials[0].attr = "on a partial"
self_partial = partial(len); self_partial.__setstate__((len, (self_partial,), {}, {"me": self_partial}))


@lru_cache(maxsize=100)
def bounded(n): return {"n": n}
@lru_cache(maxsize=None)
def unbounded(n, *more, k=None): return [n, more]
@lru_cache(maxsize=0)
def uncached(n): return n
@lru_cache(maxsize=16, typed=True)
def typed(x): return x
for i in range(1000): bounded(i % 250); unbounded(i, str(i), k=i % 3); uncached(i)
for v in (1, 1.0, True, "1", b"1"): typed(v)


class Lazy:
    @cached_property
    def once(self): return [id(self)]
    @lru_cache(maxsize=50)
    def meth(self, x): return x, self
    half = partialmethod(operator.eq, 5)
    @functools.singledispatchmethod
    def disp(self, a): return "base"
    @disp.register(int)
    def _(self, a): return "int"


lazies = [Lazy() for _ in range(300)]
lazy_out = [z.once for z in lazies[::2]] + [z.meth(1) for z in lazies] + [lazies[0].disp(1), lazies[0].half()]


@singledispatch
def show(x): return "object"
@show.register(int)
def show_int(x): return "int"
@show.register(list)
def show_list(x): return "list"
shown = [show(v) for v in (1, [], "s", 2.5, True, None)]
keys = [functools.cmp_to_key(lambda a, b: a - b)(i) for i in range(50)]


@functools.wraps(sig)
def wrapper(*a, **k): return sig(*a, **k)


@functools.total_ordering
class Ordered:
    __slots__ = ("v",)
    def __eq__(self, o): return self.v == o.v
    def __lt__(self, o): return self.v < o.v


# ---- weak references
class Ref:
    def __init__(self, v): self.v = v
class RefSlots:
    __slots__ = ("v", "__weakref__")


log = []
strong = [Ref(i) for i in range(500)]
wkd = weakref.WeakKeyDictionary((r, r.v) for r in strong)
wvd = weakref.WeakValueDictionary((r.v, r) for r in strong)
wset = weakref.WeakSet(strong)
refs = [weakref.ref(r) for r in strong] + [weakref.ref(r, log.append) for r in strong] + [weakref.ref(r, lambda w, i=i: None) for i, r in enumerate(strong)]
del strong[100:200]                                 # their references are dead now
proxies = [weakref.proxy(r) for r in strong[:20]] + [weakref.proxy(bare, log.append)]
wms = [weakref.WeakMethod(z.meth) for z in lazies[:5]]
finals = [weakref.finalize(r, log.append, "fin") for r in strong[:20]]
for f in finals: f.atexit = False
class RefSub(weakref.ref):
    __slots__ = ("key", "extra")
ref_subs = [RefSub(r) for r in strong]
for i, r in enumerate(ref_subs): r.key = i
slot_obj = RefSlots(); slot_refs = [weakref.ref(slot_obj), weakref.ref(RefSlots), weakref.ref(sig), weakref.ref(sys)]


# ---- cycles and finalisers
class Fin:
    saved = []
    def __init__(self, n): self.n = n; self.me = self
    def __del__(self):
        if self.n % 2 and len(Fin.saved) < 50: Fin.saved.append(self)      # resurrected
class SlotNode:
    __slots__ = ("left", "right", "parent")
class GraphNode:
    def __init__(self, n): self.n, self.edges = n, []


fins = [Fin(i) for i in range(100)]
for i in range(100): Fin(i)
gc.collect()                                        # half of them come back
resurrected_once = Fin.saved
graph = [GraphNode(i) for i in range(5000)]
for i, g in enumerate(graph): g.edges += [graph[i * 7 % 5000], graph[i * 31 % 5000], g]


def tree(depth, parent=None):
    n = SlotNode(); n.parent = parent
    if depth: n.left = tree(depth - 1, n); n.right = tree(depth - 1, n) if depth % 3 else None
    return n


slot_tree = tree(13)
untracked = [(i, "atomic", 1.5) for i in range(2000)] + [{"a": i} for i in range(500)]
gc.collect(0)                                       # untracks what it may
class_cycle = type("ClassCycle", (), {}); class_cycle.inst = class_cycle(); class_cycle.inst.cls = class_cycle
shared_big = ("shared", [0] * 1000); holders = [{"big": shared_big, "i": i} for i in range(300)]
nones = [None] * 10_000; same = ["same"] * 10_000; immortal = [(), "", b"", 0, True, frozenset()]
resized = [bytearray(i) for i in range(0, 2000, 37)]; del resized[10:20]
gc.disable()
garbage_makers = [GraphNode(i) for i in range(200)]
for i, g in enumerate(garbage_makers): g.edges.append(garbage_makers[i - 1])
del garbage_makers, g                               # unreachable but still on the heap; gc is off
gc.callbacks.append(lambda phase, info: None)
