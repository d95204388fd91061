"""A loop that saves as its author likes, in a folder that its command does not name.

It knows nothing of lowtide unless `--hook` is given: it prints its steps, saves every so often (or only at the end,
or never), and goes on from what `--continue` names. The state is a chain of hashes over all steps.
"""

import argparse
import hashlib
import os
import sys
import time
import zipfile


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--leak", type=float, default=0, help="MB kept in each step")
    parser.add_argument("--pause", type=float, default=0.02)
    parser.add_argument("--every", type=int, default=0, help="saves after so many steps")
    parser.add_argument("--at-the-end", action="store_true", help="saves when all steps are done")
    parser.add_argument("--hook", action="store_true", help="asks lowtide's guard, and saves when it says so")
    parser.add_argument("--tell", action="store_true", help="with --hook: says where it saves and how it goes on")
    parser.add_argument("--trace", required=True)
    parser.add_argument("--continue", dest="from_path")
    return parser.parse_args()


def save(step, state):
    # Where is its own business.
    folder = os.environ.get("SAVES_IN", os.path.join("out", "run1", "ckpts"))
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(os.path.join(folder, "step_%d.pt" % step), "w") as file:
        file.writestr("state", "%d %s" % (step, state))


def load(path):
    with zipfile.ZipFile(path) as file:
        step, state = file.read("state").decode().split()
    return int(step), state


def main():
    chosen = options()
    trace = os.path.abspath(chosen.trace)
    if "RUNS_IN" in os.environ:
        os.makedirs(os.environ["RUNS_IN"], exist_ok=True)
        os.chdir(os.environ["RUNS_IN"])
    print("pid %d" % os.getpid(), flush=True)
    step, state = load(chosen.from_path) if chosen.from_path else (0, "")
    kept = []
    if chosen.hook:
        import lowtide
    told = {"saves": os.environ.get("SAVES_IN"), "resume": "--continue {checkpoint}"} if chosen.tell else {}
    while step < chosen.steps:
        kept.append(bytearray(os.urandom(1) * int(chosen.leak * 1e6)))
        time.sleep(chosen.pause)
        step += 1
        state = hashlib.sha256(("%s %d" % (state, step)).encode()).hexdigest()
        print("step %d/%d" % (step, chosen.steps), flush=True)
        with open(trace, "a") as file:
            file.write("step %d\n" % step)
        if chosen.hook:
            lowtide.mark(step=step, total_steps=chosen.steps)
        if chosen.hook and lowtide.guard(**told) and step < chosen.steps:
            save(step, state)
            return 0
        if chosen.every and step % chosen.every == 0:
            save(step, state)
    if chosen.at_the_end:
        save(step, state)
    with open(trace, "a") as file:
        file.write("done %s\n" % state)
    return 0


if __name__ == "__main__":
    sys.exit(main())
