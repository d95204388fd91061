"""Generators, coroutines and async generators in all states; frames, tracebacks, cells."""
import atexit
import builtins
import contextlib
import sys
import types

def counter(n, label="lab"):
    local_list = [label] * 3
    for i in range(n):                       # range iterator on the stack
        got = yield i
        local_list.append(got)
    return local_list

def on_stack(a, b):
    big = {"k": a, "v": [1, 2, b, (yield "mid"), 5], **{"z": b}}      # values on the stack
    yield (a, str(b), [x for x in (yield "second") or ()], big)

def delegating(n):
    prefix = "outer%d" % n
    res = yield from (delegating(n - 1) if n else counter(5))
    return prefix, res

def in_with():
    with contextlib.ExitStack() as st, contextlib.suppress(KeyError):
        st.callback(print_nothing, "cb")
        try:
            raise ValueError("handled while suspended")
        except ValueError as exc:
            yield exc                       # exception state held by the generator

def in_finally():
    try:
        yield 1
    finally:
        spare = bytearray(64)
        yield spare

def print_nothing(*a): return a

@types.coroutine
def pause(v):
    got = yield v
    return got

async def coro(depth, payload):
    here = {"depth": depth}
    if depth:
        return here, await coro(depth - 1, payload)
    return payload, await pause(payload)

async def agen(n):
    seen = []
    for i in range(n):
        await pause("p%d" % i) if i == 2 else None
        seen.append(i)
        yield i

async def consumer(ag):
    return [x async for x in ag if x >= 0]

def closes(c):
    atexit.register(c.close)                # so that nothing is "never awaited" at exit
    return c

def step(c, v=None):
    try:
        return c.send(v)
    except StopIteration as e:
        return ("done", e.value)

gen_fresh = [counter(i) for i in range(300)]
gen_suspended = [counter(i + 2, "lab%d" % i) for i in range(1000)]
for i, g in enumerate(gen_suspended):
    for _ in range(i % 2 + 1): next(g)
gen_stack = [on_stack(object(), "b%d" % i) for i in range(200)]
stack_out = [next(g) for g in gen_stack] + [g.send(i) for i, g in enumerate(gen_stack[::2])]
gen_from = [delegating(i % 15) for i in range(100)]; from_out = [next(g) for g in gen_from]
gen_with = [in_with() for _ in range(20)]; with_out = [next(g) for g in gen_with]
gen_finally = [in_finally() for _ in range(20)]; fin_out = [(next(g), next(g)) for g in gen_finally]
gen_done = [counter(2) for _ in range(50)]; done_out = [list(g) for g in gen_done]
gen_closed = [counter(3) for _ in range(50)]
for i, g in enumerate(gen_closed):
    if i % 2: next(g)
    g.close()
gen_failed = [(1 // (x - 1) for x in range(5)) for _ in range(20)]
failed_with = []
for g in gen_failed:
    try: list(g)
    except ZeroDivisionError as e: failed_with.append(e)      # traceback of a finished generator
genexp = (x * y for x in range(10) for y in "abc" if x); next(genexp)
self_gen = counter(9); next(self_gen); self_gen.send(self_gen)    # cycle through the frame
co_fresh = [closes(coro(i, "fresh")) for i in range(20)]
co_susp = [closes(coro(i % 12, ["pay", i])) for i in range(200)]; co_out = [step(c) for c in co_susp]
co_done = [coro(2, i) for i in range(20)]; co_done_out = [(step(c), step(c, "go")) for c in co_done]
co_closed = coro(3, "closed"); step(co_closed); co_closed.close()
awaiter = closes(coro(1, "w").__await__()); step(awaiter)
ag_fresh = agen(3)
ag_susp = [agen(5) for _ in range(50)]; ag_out = []
for a in ag_susp:
    try: a.asend(None).send(None)
    except StopIteration as e: ag_out.append(e.value)
ag_consumers = [closes(consumer(agen(9))) for _ in range(20)]; cons_out = [step(c) for c in ag_consumers]
ag_done = agen(0)
try: ag_done.asend(None).send(None)
except StopAsyncIteration as e: ag_end = e
ag_asend = closes(agen(4).asend(None))
ag_aclose = closes(agen(4).aclose())

frame_here = sys._getframe()

def keep_frame(n, *args, kw=None, **rest):
    loc = [n, args]; del args
    return sys._getframe() if n == 0 else keep_frame(n - 1, loc, kw=rest, deeper=loc)

frames = [keep_frame(i) for i in range(30)]
frame_locals = [f.f_locals for f in frames]          # a proxy since 3.13
cleared = keep_frame(3); cleared.clear()

def boom(n):
    here = "boom%d" % n
    if not n: raise KeyError(here)
    try: boom(n - 1)
    except KeyError as e: raise RuntimeError(here) from (e if n % 2 else None)

errors = []
for n in range(25):
    try: boom(n)
    except Exception as e: e.extra = ["attr", n]; errors.append(e)
tracebacks = [e.__traceback__ for e in errors]
try: deep = (lambda f: f(f))(lambda f: f(f))
except RecursionError as e: recursion = e
if hasattr(builtins, "ExceptionGroup"):
    group = ExceptionGroup("eg", [ValueError(1), ExceptionGroup("in", errors[:5]), OSError(2, "x", "fn")])
    group.add_note("a note"); split = group.split(ValueError); rest = group.subgroup(lambda e: isinstance(e, OSError))

def make_cells(k):
    x = k; unset = lambda: later                      # an empty cell
    def inc(): nonlocal x; x += 1; return x
    def rec(m): return rec(m - 1) if m else inc
    if k < 0: later = 1
    return inc, rec, unset

closures = [make_cells(i) for i in range(500)]; nothing = [c[0]() for c in closures[::2]]
cells = [types.CellType(), types.CellType(1)] + [c for f in closures[0] for c in f.__closure__]
loop_cell = types.CellType(); loop_cell.cell_contents = loop_cell
