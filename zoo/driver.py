"""How a job looks from outside: its steps, epochs, output, pace, noise, evaluations and neighbours.

All of that is drawn from the seed, and is the same whatever the kind keeps. A kind is a function that is
given the `Job` and returns what happens in a step, or `Hooks`. It counts the bytes that it keeps by
`hold`, `drop` and `leak`, and the truth is made of these counts. Only for the end of growth the process is
looked at as well: what malloc keeps of the noise may still rise when the kind has all that it wants.
"""

import json
import math
import os
import random
import select
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import Callable, Optional

import memory

MB = memory.MB
# What may be touched anew per second for noise: jobs run side by side and must mostly sleep.
CHURN = 15 * MB
# A job's base and growth together; noise and spikes come on top.
ROOM = 400 * MB
KINDS = {}


@dataclass
class Kind:
    name: str
    family: str
    leak: bool
    trap: bool
    epochs: Optional[tuple]
    evals: bool
    saves: bool
    work: Callable


def kind(name, leak=False, trap=False, epochs=None, evals=False, saves=False):
    """Register a kind. `epochs` is the range of epochs in a run that it needs; None leaves that to the driver."""

    def register(work):
        assert name not in KINDS, name
        family = work.__module__.rsplit(".", 1)[-1].replace("_", "-")
        KINDS[name] = Kind(name, family, leak, trap, epochs, evals, saves, work)
        return work

    return register


@dataclass
class Hooks:
    """What a kind does after which event; each is called with the step."""

    step: Callable = lambda now: None
    epoch: Callable = lambda now: None
    eval: Callable = lambda now: None
    save: Callable = lambda now: None
    log: Callable = lambda now: None


class Job:
    def __init__(self, kind, seed, pace, seconds):
        self.began = time.monotonic()
        self.kind, self.seed, self.pace = kind, seed, pace
        look = self.look = random.Random(f"{kind.name}/{seed}")
        self.pick = random.Random(f"{kind.name}/{seed}/kept")
        if pace == "fast":
            drawn = look.uniform(60, 120)
            self.seconds = seconds or drawn
            self.steps = int(spread(look, 200, 1200))
        else:
            drawn = look.uniform(1500, 2700)
            self.seconds = seconds or drawn
            self.steps = max(100, int(self.seconds / spread(look, 0.1, 2.0)))
        self.step_seconds = self.seconds / self.steps
        self.epoch_steps = self._epochs(look)
        self.batch_size = look.choice([1, 1, 2, 4, 8])
        self.prints = look.choice(["each", "each", "some", "some", "bar", "none"])
        if look.random() < 0.1:
            self.prints = "none"
        self.tells = look.choice(["fraction", "line", "nothing"]) if self.epoch_steps else "nothing"
        if self.prints == "none" or (self.tells == "fraction" and self.prints == "bar"):
            self.tells = "nothing"
        self.print_every = look.choice([5, 10, 20, 50]) if self.prints == "some" else 1
        self.says_events = self.prints != "none" and look.random() < 0.6
        self.log_every = look.choice([1, 2, 5, 10])
        self.eval_every = self._events(look, kind.evals)
        self.save_every = self._events(look, kind.saves)
        self.base = int(spread(look, 30 * MB, 200 * MB))
        self.spike = look.uniform(0.05, 0.5) * self.base
        self.noise = look.choice([0.0, 0.01, 0.03, 0.1, 0.3])
        self.neighbour = look.choice(["", "", "", "idle", "busy", "thread"])
        self.uneven = look.choice([0.0, 0.1, 0.4])
        self.parts = look.random() < 0.4
        if look.random() < 0.3:
            memory.fix_threshold()
        # The kind's own account.
        self.held = self.leaked = 0
        self.onset = self.fills_in = self.ceiling = self.settled_at = None
        # Whether this process keeps all and gives nothing back: else its floor says nothing about the end of growth.
        self.steady = True
        self.history, self.times, self.private = [0], [0.0], [0]
        self._order, self._pass = [], -1

    def _epochs(self, look):
        share = look.random()
        if self.kind.epochs:
            low, high = self.kind.epochs
            count = spread(look, low, high)
        elif share < 0.2:
            return None
        elif share < 0.35:
            return self.steps
        else:
            count = spread(look, 2, 40)
        return max(2, round(self.steps / count))

    def _events(self, look, needed):
        every = max(2, int(self.steps / spread(look, 4, 30)))
        return every if needed or look.random() < 0.35 else None

    # What kinds draw.

    def draw(self, low, high):
        """Log-uniform."""
        return spread(self.pick, low, high)

    def growth(self, low=0.5, high=4.0):
        """Bytes by which the run is to grow in all: so many times its base, as far as there is room."""
        return min(self.base * self.draw(low, high), ROOM - self.base)

    def capacity(self, low=0.05, high=3.0):
        """A number of steps, in relation to the run: some are beyond its end."""
        return max(3, round(self.steps * self.draw(low, high)))

    def within(self, steps):
        """How many of so many steps the run sees."""
        return max(1, min(steps, self.steps))

    @property
    def examples(self):
        return self.epoch_steps * self.batch_size

    def batch(self, now):
        """The examples of a step; each pass over them is shuffled anew."""
        number, place = divmod(now - 1, self.epoch_steps)
        if number != self._pass:
            self._pass, self._order = number, list(range(self.examples))
            self.pick.shuffle(self._order)
        return self._order[place * self.batch_size : (place + 1) * self.batch_size]

    def ends_epoch(self, now):
        return bool(self.epoch_steps) and now % self.epoch_steps == 0

    # What kinds count.

    def hold(self, size):
        self.held += int(size)

    def drop(self, size):
        self.held -= int(size)

    def leak(self, size):
        self.leaked += int(size)
        if self.onset is None:
            self.onset = len(self.history)

    def settle(self):
        """For growth whose end is an event, not an amount: it has ended by this step."""
        if self.settled_at is None:
            self.settled_at = len(self.history)

    # The run.

    def run(self, truth_file):
        self.neighbours()
        self.load()
        hooks = self.kind.work(self)
        if not isinstance(hooks, Hooks):
            hooks = Hooks(step=hooks)
        noise = Noise(self)
        for now in range(1, self.steps + 1):
            due = time.monotonic() + self.step_length(now)
            if self.tells == "line" and (now - 1) % self.epoch_steps == 0:
                self.say(f"Epoch {(now - 1) // self.epoch_steps + 1}/{math.ceil(self.steps / self.epoch_steps)}")
            noise.step()
            hooks.step(now)
            if now % self.log_every == 0:
                hooks.log(now)
            self.history.append(self.held)
            self.times.append(time.monotonic() - self.began)
            self.private.append(memory.private())
            self.tell(now)
            time.sleep(max(0.0, due - time.monotonic()))
            if self.eval_every and now % self.eval_every == 0:
                self.event(f"eval loss {self.look.random():.3f}", hooks.eval, now)
            if self.save_every and now % self.save_every == 0:
                self.event(f"saving checkpoint at step {now}", hooks.save, now)
            if self.ends_epoch(now):
                hooks.epoch(now)
            self.history[-1] = max(self.history[-1], self.held)
            if now % max(1, self.steps // 10) == 0 or now == self.steps:
                write(truth_file, self.truth(now))

    def step_length(self, now):
        # Pace differs by parts of the run: at an even pace nothing could tell what grows with steps from what grows with time.
        part = (1.25, 0.75)[(now - 1) * 6 // self.steps % 2] if self.parts else 1.0
        return self.step_seconds * part * self.look.uniform(1 - self.uneven, 1 + self.uneven)

    def load(self):
        """The base comes in a few pieces, as weights and data sets do."""
        self._base = []
        for _ in range(4):
            self._base.append(memory.block(self.base / 4))
            time.sleep(min(0.3, self.seconds / 200))

    def say(self, line):
        print(line, flush=True)

    def tell(self, now):
        if self.prints == "none" or now % self.print_every:
            return
        told = f" epoch {now / self.epoch_steps:.2f}" if self.tells == "fraction" else ""
        if self.prints == "each":
            self.say(f"step {now}/{self.steps}{told}")
        elif self.prints == "some":
            self.say(f"step {now} loss {math.exp(-now / self.steps) + self.look.random() / 10:.3f}{told}")
        else:
            spent = self.times[-1]
            left = spent / now * (self.steps - now)
            bar = "█" * (now * 10 // self.steps)
            clock = "{:02d}:{:02d}<{:02d}:{:02d}".format(*divmod(int(spent), 60), *divmod(int(left), 60))
            self.say(f"{now * 100 // self.steps:3d}%|{bar:<10}| {now}/{self.steps} [{clock}, {now / spent:5.2f}it/s]")

    def event(self, line, hook, now):
        """An evaluation or a save: more memory for a moment, and what the kind leaves of it."""
        passing = memory.mapped(self.spike)
        time.sleep(min(8.0, self.step_seconds * self.look.uniform(0.5, 3)))
        hook(now)
        del passing
        if self.says_events:
            self.say(line)

    def neighbours(self):
        # Before anything is loaded, or a forked one would share the base.
        if self.neighbour in ("idle", "busy"):
            busy, look = self.neighbour == "busy", random.Random(self.seed)

            def live(told):
                while not select.select([told], [], [], look.uniform(0.5, 3))[0]:
                    if busy:
                        passing = memory.mapped(look.uniform(1, 20) * MB)
                        time.sleep(look.uniform(0.05, 0.5))
                        del passing

            self._neighbour = Child(live)
        elif self.neighbour == "thread":
            look = random.Random(self.seed)

            def run():
                while True:
                    passing = [memory.block(look.uniform(0.01, 2) * MB) for _ in range(4)]
                    time.sleep(look.uniform(0.2, 1.0))
                    del passing
                    time.sleep(look.uniform(0.2, 1.0))

            threading.Thread(target=run, daemon=True).start()

    # The truth.

    def truth(self, now):
        leak = self.kind.leak
        settles = None if leak else self.settles()
        high = max(self.history)
        before = max(self.history[: max(1, now - now // 10) + 1])
        grew = high - before > 0.01 * (self.base + high)
        if self.steady:
            tenth = max(1, now // 10)
            grew = grew and min(self.private[-tenth:]) > 1.005 * min(self.private[-2 * tenth : -tenth])
        late = settles is None or settles > 0.95 * now
        # Straight growth to the very end comes near its ceiling earlier than that.
        if self.ceiling is not None and high - max(self.history[: now - now // 20 + 1]) > 0.01 * (self.base + high):
            late = True
        onset = self.onset if leak else None
        prints = (["steps"] if self.prints != "none" else []) + (["epochs"] if self.tells != "nothing" else [])
        return {
            "kind": self.kind.name,
            "family": self.kind.family,
            "seed": self.seed,
            "what": " ".join(self.kind.work.__doc__.split()),
            "leak": leak,
            "trap": self.kind.trap,
            "steps": now,
            "epoch_steps": self.epoch_steps,
            "prints": prints,
            "onset": onset,
            "settles": settles,
            "onset_seconds": self.clock(onset),
            "settles_seconds": self.clock(settles),
            "ends_growing": leak or (late and grew),
            "fills_in": None if leak or self.fills_in is None else round(self.fills_in),
            "rate": round(self.leaked / (now - onset + 1)) if onset else None,
            "pace": self.pace,
            "base": self.base,
            "held": self.held + self.leaked,
        }

    def settles(self):
        """The step from which on what is still to come is below 2 % of the process."""
        if self.ceiling is None:
            return self.settled_at
        enough = self.ceiling - 0.02 * (self.base + self.ceiling)
        step = next((step for step, held in enumerate(self.history) if held >= enough and step), None)
        if step is None or not self.steady:
            return step
        # The floors of the process in windows of which the first begins there.
        width = max(8, self.steps // 25)
        windows = [self.private[at : at + width] for at in range(step, len(self.private), width)]
        floors = [min(window) for window in windows if len(window) * 2 > width]
        for number, floor in enumerate(floors):
            if max(floors[number:]) <= 1.03 * floor:
                return step + (number * width)
        return step

    def clock(self, step):
        return None if step is None else round(self.times[min(step, len(self.times) - 1)], 2)


class Noise:
    """Temporary buffers: one lives until the next is drawn."""

    def __init__(self, job):
        self.job, self.buffer = job, None
        # Malloc keeps the room of large buffers, and what the kind keeps then fills it: growth comes in stairs that are
        # the allocator's. Some cases have that, but it must not be a part of every family.
        own = random.Random(f"{job.kind.name}/{job.seed}/noise").random() < 2 / 3
        self.make = memory.mapped if job.noise >= 0.1 and own else memory.block

    def step(self):
        job = self.job
        size = job.noise * (job.base + job.held + job.leaked) * job.look.random()
        chance = CHURN * job.step_seconds / max(1.0, size)
        if size and job.look.random() < chance:
            self.buffer = None
            self.buffer = self.make(size)
        elif job.look.random() < 0.3:
            self.buffer = None


class Child:
    """A forked process that ends with its parent: `live` is given the end of a pipe and reads from it."""

    def __init__(self, live):
        told, self._tell = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(told)
            return
        try:
            # Else the pipes would stay open here when the parent has ended.
            os.close(self._tell)
            close_others(told)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            live(told)
        finally:
            os._exit(0)

    def send(self, line):
        os.write(self._tell, line.encode() + b"\n")


class Worker(Child):
    """A child that does a piece of work for every line that it is sent: `work(*numbers)`."""

    def __init__(self, work):
        def live(told):
            with os.fdopen(told) as lines:
                for line in lines:
                    work(*map(int, line.split()))

        super().__init__(live)

    def step(self, *numbers):
        self.send(" ".join(map(str, numbers)))


def close_others(told):
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number > 2 and number != told:
            try:
                os.close(number)
            except OSError:
                pass


def spread(pick, low, high):
    return math.exp(pick.uniform(math.log(low), math.log(high)))


def write(file, truth):
    if file:
        part = f"{file}.part"
        with open(part, "w") as out:
            json.dump(truth, out)
        os.replace(part, file)


def end():
    """Leave at once: what Python frees at its end, piece by piece, is no part of the run."""
    sys.stdout.flush()
    os._exit(0)
