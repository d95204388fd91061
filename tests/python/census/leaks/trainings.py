"""Trainings of examples/vision, each in a process that is forked from this one: what they import takes longer than they
do. One line of JSON with a training's arguments on the input; its pid is the answer.

A training that gets SIGUSR1 counts the steps of the graph that its sum of losses keeps, and adds a line with their
number to the file that GRAPH_STEPS names: the truth, as torch itself tells it.
"""

import gc
import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "examples" / "vision"))

import leaks  # noqa: E402
import train  # noqa: E402


def count_steps(_signal, _frame):
    [trainer] = [one for one in gc.get_objects() if isinstance(one, leaks.LeakyTrainer)]
    waiting, seen = [trainer.total.grad_fn], set()
    while waiting:
        step = waiting.pop()
        if step is not None and step not in seen:
            seen.add(step)
            waiting.extend(before for before, _ in step.next_functions)
    with open(os.environ["GRAPH_STEPS"], "a") as file:
        file.write("%d\n" % len(seen))


# Those that are over need nobody who waits for them.
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
for line in iter(sys.stdin.readline, ""):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, count_steps)
        sys.argv = ["train.py", *json.loads(line)]
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        train.main()
        os._exit(0)
    print(pid, flush=True)
