"""Leaks of Python's own objects, one kind each, with what comes and goes beside them as in any program.

    python small.py KIND    # then on its input the number of steps to do; it answers each line with `at STEP`

Each step leaks PER_STEP records of RECORD bytes, and between two lines the process waits: counts are exact.
"""

import collections
import functools
import sys
import threading

PER_STEP = 3
RECORD = 20_000

# What a program has beside its leak: a window, and a batch that is another one with each step.
WINDOW = collections.deque(maxlen=50)
BATCH = []


class Record:
    def __init__(self, step):
        self.step = step
        self.pixels = bytes([step % 251]) * RECORD


def records(step):
    return [Record(step) for _ in range(PER_STEP)]


class Metrics:
    """An instance's attribute."""

    def __init__(self):
        self.rows = []

    def step(self, step):
        self.rows.extend(records(step))


class Run:
    """A log that nobody cuts: a list of dictionaries, each with its record."""

    def __init__(self):
        self.log_history = []

    def step(self, step):
        for record in records(step):
            self.log_history.append({"step": step, "loss": 1 / step, "record": record})


def closed_over():
    """A variable of a closure."""
    seen = {}

    def step(step):
        for number, record in enumerate(records(step)):
            seen[step, number] = record

    return step


@functools.lru_cache(maxsize=None)
def load(step, number):
    return Record(step)


def cached(step):
    for number in range(PER_STEP):
        load(step, number)


class Worker(threading.Thread):
    """A list that only a thread's function has."""

    def __init__(self):
        super().__init__(daemon=True)
        self.asked, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.at = 0
        self.start()

    def run(self):
        collected = []
        while True:
            self.asked.acquire()
            collected += records(self.at)
            self.done.release()

    def step(self, step):
        self.at = step
        self.asked.release()
        self.done.acquire()


class Moved:
    """A list that is another one with each step."""

    def __init__(self):
        self.history = []

    def step(self, step):
        self.history = self.history + records(step)


metrics = run = moved = None


def main(kind):
    global metrics, run, moved, BATCH
    if kind == "attribute":
        metrics = Metrics()
        do = metrics.step
    elif kind == "log-history":
        run = Run()
        do = run.step
    elif kind == "closure":
        do = closed_over()
    elif kind == "lru-cache":
        do = cached
    elif kind == "thread":
        do = Worker().step
    elif kind == "moved":
        moved = Moved()
        do = moved.step
    at = 0
    for line in sys.stdin:
        for _ in range(int(line)):
            at += 1
            do(at)
            WINDOW.append("step %d " % at * 100)
            BATCH = [bytearray(RECORD) for _ in range(at % 7)]
            circle = [bytearray(RECORD)]
            circle.append(circle)
        print("at", at, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
