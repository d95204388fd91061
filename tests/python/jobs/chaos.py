"""The job of `chaos`: steps whose memory does one known thing, a chain over all of them, a result at the end.

It can be asked to save and stop (`lowtide.guard()`) and resumes from what it saved. All it needs is Python.
"""

import argparse
import hashlib
import json
import os
import sys
import time

import lowtide
from steps import load, save, say

MEGABYTE = 1_000_000
STORM = 200  # processes, some at a time


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--epoch", type=int, required=True)
    parser.add_argument("--code", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.015)
    parser.add_argument("--storms", type=int, nargs="*", default=[])
    parser.add_argument("--marks", action="store_true")
    parser.add_argument("--resume")
    return parser.parse_args()


class Memory:
    """What this kind of job holds after so many steps of this attempt."""

    def __init__(self, kind, epoch):
        self.kind, self.epoch = kind, epoch
        self.kept, self.workers = [], None
        self.shared = "/dev/shm/of-the-job-%d" % os.getpid()

    def step(self, done):
        first_epoch = done <= self.epoch
        if self.kind == "leak" or (self.kind == "warm" and first_epoch):
            self.kept.append(bytearray(os.urandom(1) * 2 * MEGABYTE))
        elif self.kind == "teeth":
            if done % 10 == 0:
                self.kept.clear()
            self.kept.append(bytearray(os.urandom(1) * MEGABYTE))
        elif self.kind == "shm" and first_epoch:
            with open(self.shared, "ab") as file:
                file.write(os.urandom(1) * MEGABYTE)
        elif self.kind == "workers" and done % self.epoch == 1:
            self.close()
            self.workers = Workers(3)

    def close(self):
        if self.workers:
            self.workers.close()
        self.workers = None
        if os.path.exists(self.shared):
            os.unlink(self.shared)


class Workers:
    """Processes with some memory of their own that end with us, however we end."""

    def __init__(self, count):
        ours, self.pipe = os.pipe()
        self.pids = [os.fork() or self.work(ours) for _ in range(count)]
        os.close(ours)

    def work(self, pipe):
        os.close(self.pipe)
        memory = bytearray(os.urandom(1) * 3 * MEGABYTE)
        os.read(pipe, 1)
        os._exit(0 if memory else 1)

    def close(self):
        os.close(self.pipe)
        for pid in self.pids:
            os.waitpid(pid, 0)


def storm():
    """Processes by the dozen, each of which is over at once or forks once more."""
    alive = []
    for number in range(STORM):
        pid = os.fork()
        if pid == 0:
            if number % 7 == 0 and os.fork() == 0:
                os._exit(0)
            os._exit(0)
        alive.append(pid)
        if len(alive) > 20:
            os.waitpid(alive.pop(0), 0)
    for pid in alive:
        os.waitpid(pid, 0)


def main():
    chosen = options()
    step, state = load(chosen.resume) if chosen.resume else (0, "")
    begun = step
    memory = Memory(chosen.kind, chosen.epoch)
    if chosen.marks:
        lowtide.mark(step=step, total_steps=chosen.steps, phase="train", geometry={"epoch_steps": chosen.epoch})
    while step < chosen.steps:
        time.sleep(chosen.pause)
        step += 1
        memory.step(step - begun)
        if step in chosen.storms:
            storm()
        state = hashlib.sha256(("%s %d" % (state, step)).encode()).hexdigest()
        if step % chosen.epoch == 1:
            print("epoch %d" % (step // chosen.epoch + 1), flush=True)
        say("trace", "step %d/%d" % (step, chosen.steps))
        if chosen.marks:
            lowtide.mark(step=step, epoch=step / chosen.epoch)
            if lowtide.guard() and step < chosen.steps:
                path = save("out", step, state, False)
                # Where the clock was set, files show its time too.
                os.utime(path, ns=(time.time_ns(),) * 2)
                memory.close()
                return 0
    memory.close()
    with open("result", "w") as file:
        json.dump({"steps": step, "state": state}, file)
    return chosen.code


if __name__ == "__main__":
    sys.exit(main())
