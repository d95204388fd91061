"""Dicts, sets, lists, deques and their iterators with awkward histories."""
import atexit
import builtins
import collections
import heapq
import itertools
import types

big = {i: None for i in range(200_000)}                      # 200k int keys, one shared value
keys = list(big)                                             # the same int objects, used again below
str_dict = {"key%d" % i: i for i in range(3000)}
shrunk = {i: str(i) for i in keys[:20_000]}
for i in range(19_990): del shrunk[i]                         # big table, ten entries
shrunk_str = {"s%d" % i: i for i in range(5000)}
for i in range(5000):
    if i % 1000: del shrunk_str["s%d" % i]
reinserted = dict.fromkeys("abcdefgh", 0)
for k in "aceg": del reinserted[k]
for k in "geca": reinserted[k] = k.upper()
popped = {i: i for i in range(100)}
for _ in range(60): popped.popitem()
popped["new"] = "after popitem"
emptied = {i: i for i in range(1000)}
while emptied: emptied.popitem()
cleared = {i: i for i in range(1000)}; cleared.clear()
deleted_all = {"a": 1, "b": 2}; del deleted_all["a"], deleted_all["b"]
tuple_keys = {(i, str(i % 7), (i,)): [i] for i in range(2000)}
mixed = {1: "int", "1": "str", 1.5: "float", (1,): "tuple", None: "none", b"1": "bytes", frozenset([1]): "fs",
         int: "type", len: "func", Ellipsis: "...", 2 ** 70: "big", -1: "neg", -2: "neg2", complex(1, 2): "c"}
str_then_int = {"a": 1, "b": 2}; str_then_int[3] = "c"; del str_then_int[3]    # general table, only str keys
split_copy = type("O", (), {})(); split_copy.x = 1; split_copy.y = 2
split_copy = vars(split_copy).copy()
unicode_keys = {"\xe9": 1, "\u0416": 2, "\U0001f600": 3, "": 4, "a b\n": 5, "\x00": 6, "\udc80": 7}


class Collide:
    def __init__(self, v): self.v = v
    def __hash__(self): return 42
    def __eq__(self, o): return isinstance(o, Collide) and self.v == o.v


class Evil:
    def __hash__(self): return -2
    def __eq__(self, o): return self is o
    def __repr__(self): raise RuntimeError("no repr")


collide = {Collide(i): i for i in range(60)}
for i in range(0, 60, 3): del collide[Collide(i)]
collide_set = {Collide(i) for i in range(60)}
evil = {Evil(): Evil() for _ in range(50)}
sizes = [dict.fromkeys(keys[:n]) for n in (0, 1, 5, 6, 8, 10, 11, 127, 128, 129, 170, 171, 255, 256, 257, 43690, 65536)]
selfref = {}; selfref["me"] = selfref; selfref["vals"] = selfref.values()
nested = {}
for i in range(500): nested = {"in": nested, i: [nested]}
views = [d for s in (str_dict, mixed) for d in (s.keys(), s.values(), s.items())]

tomb = set(range(5000))
for i in range(0, 5000, 2): tomb.discard(i)
tomb_small = {1, 2, 3, 4}; tomb_small -= {2, 3}
popped_set = set("abcdefghijklmnop")
for _ in range(10): popped_set.pop()
set_emptied = set(range(1000)); [set_emptied.discard(i) for i in range(1000)]
set_zero = {0, False, 0.0, "", (), None, frozenset()}
set_sizes = [set(keys[:n]) for n in (0, 1, 4, 5, 8, 9, 50, 1000, 70_000)]
frozen = frozenset(frozenset([i, str(i)]) for i in range(1000))
set_cycle = Collide("c"); set_cycle.s = {set_cycle}

od = collections.OrderedDict((i, str(i)) for i in range(2000))
for i in range(0, 2000, 3): od.move_to_end(i, last=i % 2 == 0)
for i in range(100): od.popitem(last=i % 2 == 0)
del od[700]; od[700] = "again"
od_attr = collections.OrderedDict(a=1); od_attr.extra = od_attr
dd = collections.defaultdict(lambda: collections.defaultdict(set))
for i in range(1000): dd[i % 30][i % 7].add(i)
cnt = collections.Counter(i % 97 for i in range(10_000)); cnt.subtract({1: 500})

lists = [[None] * n for n in (0, 1, 3, 4, 1000)]
over = []
for i in range(1000): over.append(i)                         # over-allocated
shrunk_list = list(range(10_000)); del shrunk_list[5:]
shrunk_list2 = list(range(100)); shrunk_list2.clear()
lst_cycle = []; lst_cycle.append(lst_cycle); lst_cycle.append((lst_cycle,))
tup_cycle = ([],); tup_cycle[0].append(tup_cycle)
deep_list = []
for _ in range(20_000): deep_list = [deep_list]               # too deep to recurse over
deep_tuple = ()
for _ in range(3000): deep_tuple = (deep_tuple, None)
linked = None
for i in range(3000): linked = (i, linked)
heap = [(i * 7919 % 1009, str(i)) for i in range(1000)]; heapq.heapify(heap)
while_deep_del = collections.deque([deep_list], maxlen=1)


def half(it, n=3):
    return it, [next(it) for _ in range(n)]


src = list(range(50))
iters = [half(iter(x)) for x in (src, tuple(src), str_dict, str_dict.values(), str_dict.items(), tomb, frozen,
                                 "str\u20acing", "ascii", b"bytes", bytearray(b"ba123"), range(9), range(2**70, 2**70 + 9),
                                 od, od.items(), collections.deque(src), memoryview(b"mview"))]
iters += [half(reversed(x)) for x in (src, str_dict, str_dict.items(), od, collections.deque(src), range(9), "revstr")]
iters += [half(iter(iter(src).__next__, 40)), half(zip(src, "abcdef")), half(map(str, src)), half(filter(None, src)),
          half(enumerate(src, 2**65)), half(iter(type("Seq", (), {"__getitem__": lambda s, i: i})()))]
it = itertools
tees = list(it.tee(iter(src), 3)); atexit.register(tees.clear)      # 3.12.0 and .1 crash on a tee left at exit
[next(tees[0]) for _ in range(10)]; next(tees[1])
grp = it.groupby("aaabbbccc"); grp_first = next(grp)
tools = [half(x) for x in (it.count(2**70), it.count(1.5, .5), it.cycle("ab"), it.repeat(src, 10), it.chain(src, "xy"),
         it.chain.from_iterable([src, src]), it.compress(src, it.repeat(1)), it.dropwhile(bool, src), it.takewhile(str, src),
         it.filterfalse(bool, [0] * 5), it.islice(src, 2, 40, 3), it.starmap(pow, [(1, 2)] * 9), it.accumulate(src),
         it.product("abc", repeat=4), it.permutations(range(6), 3), it.combinations("abcdef", 2),
         it.combinations_with_replacement("abc", 3), it.zip_longest("ab", src, fillvalue=src))]
if hasattr(it, "pairwise"): tools.append(half(it.pairwise(src)))
if hasattr(it, "batched"): tools.append(half(it.batched(src, 4)))
done = [iter([]), iter({}), iter(set()), iter(())]; done_out = [list(x) for x in done]
stale = {1: 1, 2: 2}; stale_iter = iter(stale); next(stale_iter); stale[3] = 3       # would raise on next
misc = [slice(1, 2, src), range(10**30), Ellipsis, NotImplemented, types.MappingProxyType(str_dict),
        types.SimpleNamespace(a=1, **{"odd key": 2}), types.MappingProxyType(od)]
if hasattr(builtins, "frozendict"): misc.append(builtins.frozendict(a=1, b=[2]))
