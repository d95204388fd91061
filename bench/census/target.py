"""A process to take censuses of: `target.py plain|torch OBJECTS [FOLDER...]`, where FOLDERs hold the peers' packages.

It says "ready" and then answers a line of input with a line of JSON. A thread beside the one that answers sleeps a
millisecond at a time and notes its longest gap: what any other thread of this process would have noticed.

    begin     forget the longest gap and the peak of memory
    end       the longest gap since (s), how far RSS rose above what it was (bytes)
    PEER      as begin, the peer's own look at the heap, end; with the objects it saw and its seconds by clock and processor
"""
import ctypes, gc, json, os, sys, threading, time

kind, objects = sys.argv[1], int(sys.argv[2])
sys.path.extend(sys.argv[3:])


class Item:
    def __init__(self, number):
        self.name, self.parts = f"item {number}", [number]


def mixed(count):
    """So many objects: dicts, lists, tuples, instances, strings and numbers, twelve to a turn."""
    turns = []
    for number in range(count // 12):
        turns.append(({"id": f"row {number}", "of": [str(number), float(number)]}, Item(number), (number, [])))
    return turns


def model():
    """A small GPT2 and its optimizer after a step, and some thousand tensors that somebody holds."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.set_num_threads(1)
    network = GPT2LMHeadModel(GPT2Config(vocab_size=2000, n_positions=64, n_embd=128, n_layer=4, n_head=4))
    optimizer = torch.optim.AdamW(network.parameters())
    batch = torch.randint(0, 2000, (2, 32))
    network(input_ids=batch, labels=batch).loss.backward()
    optimizer.step()
    return network, optimizer, [torch.zeros(64, 64) for _ in range(4000)]


class Beat(threading.Thread):
    """The heartbeat. It evaluates something each time: pyheap waits for the function that does this."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest, self.last = 0.0, time.perf_counter()
        self.start()

    def run(self):
        nothing = compile("0", "beat", "eval")
        while True:
            time.sleep(0.001)
            eval(nothing)
            now = time.perf_counter()
            self.longest = max(self.longest, now - self.last)
            self.last = now


def memory(row):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(row))


def begin():
    # So that nobody works in what the one before has left.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    time.sleep(0.05)
    beat.longest = 0.0
    return memory("VmRSS")


def end(before):
    time.sleep(0.05)
    # The gap may still be open: pyheap works in the thread that it met.
    return {"gap": max(beat.longest, time.perf_counter() - beat.last), "grew": memory("VmHWM") - before}


def guppy():
    from guppy import hpy

    return lambda: hpy().heap().count


def pympler():
    from pympler import muppy, summary

    def look():
        seen = muppy.get_objects()
        summary.summarize(seen)
        return len(seen)

    return look


def objgraph():
    import objgraph

    # The number of lines costs nothing: it sorts them all.
    return lambda: sum(count for _, count in objgraph.most_common_types(limit=1_000_000))


def getsizeof():
    def look():
        by_type = {}
        for thing in gc.get_objects():
            count, size = by_type.get(type(thing), (0, 0))
            by_type[type(thing)] = count + 1, size + sys.getsizeof(thing)
        return sum(count for count, _ in by_type.values())

    return look


PEERS = {look.__name__: look for look in (getsizeof, objgraph, guppy, pympler)}


def asked(name):
    try:
        look = PEERS[name]()
    except ImportError as error:
        return {"missing": str(error)}
    before = begin()
    clock, processor = time.perf_counter(), time.thread_time()
    seen = look()
    took = {"objects": seen, "wall": time.perf_counter() - clock, "cpu": time.thread_time() - processor}
    return took | end(before)


kept = mixed(objects) if kind == "plain" else model()
beat, before = Beat(), 0
print("ready", flush=True)
for line in sys.stdin:
    word, answer = line.strip(), {}
    if word == "begin":
        before = begin()
    elif word == "end":
        answer = end(before)
    else:
        answer = asked(word)
    print(json.dumps(answer), flush=True)
# Without the farewells of libraries.
os._exit(0)
