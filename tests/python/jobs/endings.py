"""Small jobs whose memory grows and ends, or does not, by kind: `endings.py KIND --seconds 40`.

Each prints its steps and tells nothing else: not how long an epoch is, not how large a buffer. Only
`epochs` prints where in its epochs it is. `endings.py list` prints the kinds.
"""

import argparse
import collections
import gc
import json
import random
import time

import numpy as np

MB = 1_000_000

parser = argparse.ArgumentParser()
parser.add_argument("kind")
parser.add_argument("--steps", type=int, default=800)
parser.add_argument("--seconds", type=float, default=40.0)
parser.add_argument("--pace", metavar="FILE", help="write bytes per step there, as the job measured itself")
args = parser.parse_args()
pick = random.Random(1)
base = np.ones(40 * MB, np.uint8)


def anon():
    """What the kernel says that this process holds: allocators round sizes up."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))


def block(size):
    """Memory that is really there."""
    return np.ones(size, np.uint8)


def replay():
    """np.zeros, written in order: full after 80 % of the steps."""
    full = args.steps * 8 // 10
    buffer = np.zeros((full, 400_000), np.uint8)
    return lambda step: buffer[step - 1].fill(1) if step <= full else None


def ring():
    kept = collections.deque(maxlen=args.steps * 6 // 10)
    return lambda step: kept.append(block(400_000))


def drawn():
    """A cache that is filled by drawing with replacement."""
    kept = {}
    keys = args.steps // 2

    def step(_):
        key = pick.randrange(keys)
        if key not in kept:
            kept[key] = block(500_000)

    return step


def epoch():
    """Each example is kept when it is first seen; the first epoch is two thirds of the run."""
    kept = {}
    examples = args.steps * 2 // 3
    return lambda step: kept.setdefault(step % examples, block(400_000))


def expires():
    kept = collections.deque()

    def step(now):
        kept.append((now, block(500_000)))
        while kept[0][0] < now - args.steps // 4:
            kept.popleft()

    return step


def teeth():
    """Cycles that nobody collects but we, rarely."""
    gc.disable()

    def step(now):
        node = [block(500_000)]
        node.append(node)
        if now % (args.steps * 3 // 10) == 0:
            gc.collect()

    return step


def rollouts():
    kept = []

    def step(now):
        kept.append(block(500_000))
        if now % (args.steps * 7 // 16) == 0:
            kept.clear()

    return step


def bursts():
    """A buffer of rollouts: each takes much for a moment and leaves a little, until the oldest go."""
    kept = collections.deque(maxlen=args.steps // 40)
    passing = []

    def step(now):
        passing.clear()
        if now % 20 < 3:
            passing.append(block(60 * MB))
        if now % 20 == 3:
            kept.append(block(8 * MB))

    return step


def leak():
    kept = []
    return lambda step: kept.append(block(400_000))


def arrow():
    """A leak inside the arenas of Arrow's own pool: nothing new is mapped."""
    import pyarrow

    kept = []

    def step(_):
        buffer = pyarrow.allocate_buffer(400_000)
        np.frombuffer(buffer, np.uint8).fill(1)
        kept.append(buffer)

    return step


def epochs():
    """A leak that goes on over printed epochs."""
    return leak()


HARMLESS = [replay, ring, drawn, epoch, expires, teeth, rollouts, bursts]
LEAKS = [leak, arrow, epochs]

if args.kind == "list":
    names = {"harmless": [kind.__name__ for kind in HARMLESS], "leaks": [kind.__name__ for kind in LEAKS]}
    print(json.dumps(names))
    raise SystemExit
work = globals()[args.kind]()
half = args.steps // 2
for now in range(1, args.steps + 1):
    # What a busy machine holds up makes the run longer: to catch up would put corners into straight lines.
    due = time.monotonic() + args.seconds / args.steps
    work(now)
    if now == half:
        held = anon()
    base[now % 1000] += 1
    told = f" epoch {now * 6 / args.steps:.2f}" if args.kind == "epochs" else ""
    print(f"step {now}/{args.steps}{told}", flush=True)
    time.sleep(max(0.0, due - time.monotonic()))
if args.pace:
    with open(args.pace, "w") as file:
        file.write(str((anon() - held) / (args.steps - half)))
