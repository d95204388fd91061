"""A training loop without a framework: steps that can leak, checkpoints, a trace of what was done.

The state is a chain of hashes over all steps, so that a repeated, lost or reordered step shows in the
end. It talks to lowtide as a hand-written loop would: marks, phases, and `lowtide.guard()`.
"""

import argparse
import hashlib
import os
import signal
import sys
import time
import zipfile

import lowtide


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--leak", type=float, default=0, help="MB kept in each step")
    parser.add_argument("--from-step", type=int, default=0, help="the step at which the leak begins")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds that a step takes")
    parser.add_argument("--burst", type=int, default=1, help="pieces that a step leaks in, a pause after each")
    parser.add_argument("--save-every", type=int, default=0)
    parser.add_argument("--out", required=True)
    parser.add_argument("--resume")
    parser.add_argument("--trace")
    parser.add_argument("--deaf", action="store_true", help="never asks the guard, and ignores SIGTERM")
    parser.add_argument("--by-signal", action="store_true", help="saves and stops at SIGUSR1")
    parser.add_argument("--cut", default="", help="the attempt whose checkpoints are left half-written")
    parser.add_argument("--dies-on-resume", action="store_true", help="runs out of memory before its first new step")
    parser.add_argument("--stubborn", action="store_true", help="takes the second Ctrl-C to end it")
    return parser.parse_args()


def save(folder, step, state, cut):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "step-%d.pt" % step)
    with lowtide.phase("save"):
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("state", "%d %s" % (step, state))
            file.writestr("weights", b"w" * 200_000)
        if cut:
            os.truncate(path, os.path.getsize(path) - 10)
    return path


def load(path):
    with zipfile.ZipFile(path) as file:
        step, state = file.read("state").decode().split()
    return int(step), state


def say(trace, line):
    print(line, flush=True)
    if trace:
        with open(trace, "a") as file:
            file.write(line + "\n")


def first_interrupt(*_):
    print("interrupted once", flush=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def main():
    chosen = options()
    asked = []
    attempt = os.environ.get("LOWTIDE_ATTEMPT", "1")
    print("attempt %s, %d resumed, %s" % (attempt, sys.argv.count("--resume"), os.environ.get("ONLY_HERE")))
    print("pid %d" % os.getpid(), flush=True)
    if chosen.by_signal:
        signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
    if chosen.deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if chosen.stubborn:
        signal.signal(signal.SIGINT, first_interrupt)
    cut = chosen.cut == attempt
    step, state = 0, ""
    kept = []
    if chosen.resume:
        step, state = load(chosen.resume)
        if chosen.dies_on_resume:
            lowtide.mark(step=step, total_steps=chosen.steps, phase="train")
            while True:
                kept.append(bytearray(os.urandom(1) * 1_000_000))
    if not chosen.by_signal and not chosen.deaf:
        lowtide.mark(step=step, total_steps=chosen.steps, phase="train")
    while step < chosen.steps:
        for _ in range(chosen.burst):
            if step >= chosen.from_step:
                kept.append(bytearray(os.urandom(1) * int(chosen.leak * 1e6 / chosen.burst)))
            time.sleep(chosen.pause / chosen.burst)
        step += 1
        state = hashlib.sha256(("%s %d" % (state, step)).encode()).hexdigest()
        say(chosen.trace, "step %d/%d" % (step, chosen.steps))
        if not chosen.by_signal:
            lowtide.mark(step=step)
        stop = asked or (not chosen.deaf and lowtide.guard())
        if stop and step < chosen.steps:
            say(None, "saved %s" % save(chosen.out, step, state, cut))
            return 0
        if chosen.save_every and step % chosen.save_every == 0:
            save(chosen.out, step, state, cut)
    say(chosen.trace, "done %s" % state)
    return 0


if __name__ == "__main__":
    sys.exit(main())
