"""A program whose results are the same each time, unless somebody disturbs it.

    python unmoved.py ROUNDS

Each round (a fifth of a second, most of it waiting) trains a small net for some steps if torch is there, makes and frees
objects whose hashes, weak references and collections it knows, and waits in every call that a stop could end early. It prints a
line for each round and a digest of all. Nothing in it depends on addresses or on time.
"""

import gc
import hashlib
import os
import select
import signal
import socket
import sys
import threading
import time
import weakref

try:
    import torch
except ImportError:
    torch = None

WAIT = 0.02
SIGNALS = 3


class Key:
    """Its place in a table is its own choice, and many choose the same."""

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return self.number % 7

    def __eq__(self, other):
        return self.number == other.number


class Ring:
    def __init__(self, log, number):
        self.me, self.log, self.number = self, log, number

    def __del__(self):
        self.log.append(self.number)


def objects(turn):
    """Tables, weak references and collections."""
    table = {Key(number): number * turn for number in range(200)}
    for number in range(0, 200, 3):
        del table[Key(number)]
    order = [key.number for key in table]
    died, log = [], []
    rings = [Ring(log, number) for number in range(50)]
    weak = [weakref.ref(one, lambda _, nth=nth: died.append(nth)) for nth, one in enumerate(rings)]
    alive = sum(one() is not None for one in weak)
    del rings[:]
    collected = gc.collect()
    return [order, sum(table.values()), alive, sorted(died), sorted(log), collected, gc.garbage, gc.isenabled()]


def waits(heard):
    """Each has to wait for as long as it was asked to, or to give all that was sent."""
    began = time.monotonic()
    time.sleep(WAIT)
    slept = time.monotonic() - began >= WAIT
    began = time.monotonic()
    with select.epoll() as nothing:
        polled = nothing.poll(WAIT)
    waited = time.monotonic() - began >= WAIT
    read, write = os.pipe()
    ours, theirs = socket.socketpair()
    ours.settimeout(60)

    def send():
        for nth in range(4):
            time.sleep(WAIT / 4)
            os.write(write, b"%d" % nth * 1000)
            theirs.sendall(b"%d" % nth * 1000)
        os.close(write)
        theirs.close()

    sender = threading.Thread(target=send)
    sender.start()
    received = b"".join(iter(lambda: ours.recv(700), b""))
    piped = b"".join(iter(lambda: os.read(read, 700), b""))
    sender.join()
    ours.close()
    os.close(read)
    before = len(heard)
    for _ in range(SIGNALS):
        os.kill(os.getpid(), signal.SIGUSR1)
    never = threading.Event().wait(WAIT)
    pid = os.fork()
    if pid == 0:
        time.sleep(WAIT)
        os._exit(7)
    ended = os.waitpid(pid, 0)[1]
    return [slept, polled, waited, received, piped, len(heard) - before, never, ended]


class Training:
    def __init__(self):
        torch.manual_seed(7)
        torch.set_num_threads(1)
        self.model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 5))
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def steps(self):
        losses = []
        for _ in range(20):
            loss = torch.nn.functional.cross_entropy(self.model(torch.randn(16, 32)), torch.randint(0, 5, (16,)))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item().hex())
        return losses + [one.detach().numpy().tobytes() for one in self.model.parameters()]


def main(rounds):
    heard = []
    signal.signal(signal.SIGUSR1, lambda number, _: heard.append(number))
    # What is collected is counted, so nobody else may collect.
    gc.collect()
    gc.disable()
    training = Training() if torch else None
    digest = hashlib.sha256()
    print("with torch" if torch else "without torch", flush=True)
    for turn in range(rounds):
        parts = [objects(turn), waits(heard), training.steps() if training else None]
        each = [hashlib.sha256(repr(part).encode()).hexdigest()[:12] for part in parts]
        digest.update(repr(parts).encode())
        print(turn, *each, flush=True)
    print(digest.hexdigest(), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
