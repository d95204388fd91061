"""Threads that wait, locks, queues, contextvars, a stopped asyncio loop with pending tasks."""
import asyncio
import atexit
import concurrent.futures
import contextvars
import queue
import sched
import selectors
import threading
import weakref

never = threading.Event()                     # no one sets it
ready = queue.Queue()
local = threading.local()
local.main = "main thread"; local.items = list(range(100))

class MyLocal(threading.local):
    cls_attr = "c"
    def __init__(self, start): self.start = start; self.seen = []

mylocal = MyLocal({"start": 1}); mylocal.seen.append("main")
var = contextvars.ContextVar("var", default=["default"])
var2 = contextvars.ContextVar("var \u20ac")
cond = threading.Condition()
cond_plain = threading.Condition(threading.Lock())
sem = threading.Semaphore(0)
barrier = threading.Barrier(10)
held = threading.Lock(); held.acquire()
rlock = threading.RLock(); rlock.acquire(); rlock.acquire()
empty_q = queue.Queue()
full_q = queue.Queue(2); full_q.put("a"); full_q.put(["b"])

def enter(kind, n):
    local.name = kind; local.payload = {"thread": n}
    mylocal.seen.append((kind, n)); var.set([kind, n])
    big_local = [kind] * 50
    ready.put((kind, n))
    return big_local

def w_event(n): here = enter("event", n); never.wait(); return here
def w_cond(n):
    here = enter("cond", n)
    with cond: cond.wait()
    return here
def w_cond2(n):
    here = enter("cond2", n)
    with cond_plain: cond_plain.wait_for(lambda: bool(here is None))
def w_sem(n): here = enter("sem", n); sem.acquire(); return here
def w_lock(n): here = enter("lock", n); held.acquire(); return here
def w_queue(n): here = enter("queue", n); return here, empty_q.get()
def w_put(n): here = enter("put", n); full_q.put(here)
def w_barrier(n): here = enter("barrier", n); barrier.wait()
def w_gen(n):
    def gen():
        inside = enter("gen", n)
        yield [1, 2, never.wait()]            # a running generator, values on its stack
        del inside
    return sum(len(x) for x in gen())
def w_handler(n):
    try: raise ValueError("being handled in thread %d" % n)
    except ValueError as e:
        here = enter("handler", n); never.wait(); raise RuntimeError(here) from e
def w_deep(n, depth=60): return w_deep(n, depth - 1) if depth else w_event(n)

class Worker(threading.Thread):
    def __init__(self, n): super().__init__(name="worker \u20ac%d" % n, daemon=True); self.n = n; self.result = []
    def run(self): self.result.append(enter("worker", self.n)); never.wait()

kinds = [w_event, w_cond, w_cond2, w_sem, w_lock, w_queue, w_put, w_barrier, w_gen, w_handler, w_deep]
threads = [threading.Thread(target=k, args=(i,), name="t-%s" % k.__name__, daemon=True) for i, k in enumerate(kinds)] + [Worker(n) for n in range(3)]
for t in threads: t.start()
arrived = [ready.get() for _ in threads]      # each thread reached its place, and waits while the rest is built
finished = [threading.Thread(target=len, args=("x",)) for _ in range(5)]
for t in finished: t.start(); t.join()
unstarted = [threading.Thread(target=print, args=(i,)) for i in range(5)]
timer = threading.Timer(1000, print)          # not started
queues = [queue.LifoQueue(), queue.PriorityQueue(), queue.SimpleQueue(), queue.Queue(5000)]
for i in range(2000):
    for q in queues: q.put((i * 7 % 1000, i, "item%d" % i))
for i in range(700): queues[2].get(); queues[3].get()
scheduler = sched.scheduler(); events = [scheduler.enter(1e6 + i, i % 3, print, (i,), {}) for i in range(50)]

# ---- contexts
ctxs = []
for i in range(200):
    c = contextvars.copy_context(); c.run(var.set, {"ctx": i}); c.run(var2.set, "v%d" % i); ctxs.append(c)
many_vars = [contextvars.ContextVar("cv%d" % i) for i in range(300)]      # a deep HAMT
tokens = [v.set([i]) for i, v in enumerate(many_vars)]
used_token = var2.set("temp"); var2.reset(used_token)
wide_ctx = contextvars.copy_context(); ctx_items = wide_ctx.items()

# ---- executors, shut down, results kept
pool = concurrent.futures.ThreadPoolExecutor(4, thread_name_prefix="pool")
futs = [pool.submit(pow, i, 3) for i in range(300)] + [pool.submit(int, "not a number")]
concurrent.futures.wait(futs); pool.shutdown()
pending_fut = concurrent.futures.Future(); pending_fut.add_done_callback(futs.append)
cancelled_fut = concurrent.futures.Future(); cancelled_fut.cancel()

# ---- asyncio, not running
loop = asyncio.new_event_loop()

async def leaf(n, ev):
    mine = {"leaf": n}; await ev.wait(); return mine
async def middle(n, ev): tag = "middle%d" % n; return tag, await leaf(n, ev)
async def gathers(ev): return await asyncio.gather(*(middle(i, ev) for i in range(5)))
async def getter(q):
    while True: got = await q.get(); q.task_done(); del got
async def sleeper(): await asyncio.sleep(10_000, result="never")
async def shielded(ev): await asyncio.shield(middle(99, ev))
async def timed(ev): await asyncio.wait_for(leaf(77, ev), 10_000)
async def agen(ev):
    yield 1
    await ev.wait()
async def over(ev): return [x async for x in agen(ev)]
async def locked(lk):
    async with lk: await asyncio.sleep(10_000)
async def fails(): raise KeyError("in task")
async def quick(i): return [i]

async def set_up():
    global a_event, a_queue, a_lock, tasks, done_tasks, bare_future, a_streams
    a_event, a_queue, a_lock = asyncio.Event(), asyncio.Queue(), asyncio.Lock()
    mk = asyncio.ensure_future
    tasks = [mk(middle(i, a_event)) for i in range(200)]
    tasks += [mk(c) for c in (gathers(a_event), getter(a_queue), sleeper(), shielded(a_event), timed(a_event), over(a_event), locked(a_lock), locked(a_lock))]
    done_tasks = [mk(quick(i)) for i in range(100)] + [mk(fails())]
    bare_future = loop.create_future(); bare_future.add_done_callback(print)
    a_queue.put_nowait("q")
    for _ in range(5): await asyncio.sleep(0)
    done_tasks.append(mk(sleeper())); await asyncio.sleep(0); done_tasks[-1].cancel()
    await asyncio.gather(*done_tasks, return_exceptions=True)

loop.run_until_complete(set_up())
tasks.append(loop.create_task(quick("not begun")))      # scheduled, never stepped
handle = loop.call_later(9999, print, "late"); soon = loop.call_soon(print, "soon")
all_tasks = weakref.WeakSet(tasks)
selector = selectors.DefaultSelector()

def tidy():                                   # end quietly, whatever is pending
    handle.cancel(); soon.cancel(); selector.close()
    every = asyncio.all_tasks(loop)
    for t in every: t.cancel()
    loop.run_until_complete(asyncio.gather(*every, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()

atexit.register(tidy)
