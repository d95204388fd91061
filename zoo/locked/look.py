"""How a job looks from outside, drawn by seed: its size, its pace, what it prints, its noise and its neighbours."""
import os
import random
import threading
import time

from tools import MB, block, child, end, log


class Look:
    def __init__(self, kind, seed, pace, torch, has_epochs, seconds=None):
        rng = self.rng = random.Random(f"{kind}/{seed}")
        if pace == "fast":
            self.seconds = rng.uniform(60, 120)
            self.steps = int(log(rng, 200, 350 if torch else 1200))
        else:
            self.seconds = log(rng, 600, 3600)
            self.steps = max(200, int(self.seconds / log(rng, 0.5 if torch else 0.1, 2.0)))
        self.seconds = seconds or self.seconds
        self.base = int(log(rng, 30, 200 if not torch else 60) * MB)
        self.load = rng.uniform(0.01, 0.03) * self.seconds
        self.load_spike = rng.random() < 0.3
        self.prints(rng, has_epochs)
        self.noise = rng.choice([0, 0, rng.uniform(0.01, 0.05), rng.uniform(0.1, 0.3)]) * self.base
        self.sigma = rng.choice([0.02, 0.1, 0.35])
        self.slow = rng.choice([None, None, (rng.uniform(0, 0.8), rng.uniform(1.5, 3))])
        self.pauses(rng)
        self.neighbour = rng.choice([None, None, None, "idle", "busy", "thread"])
        self.neighbour_size = int(log(rng, 4, 30) * MB)
        self.neighbour_seed = rng.random()  # drawn here: a thread that drew itself would race with the steps

    def prints(self, rng, has_epochs):
        """Over half of those that have epochs print them, and so half of all; half of the others print nothing at all."""
        self.step_style = self.epoch_style = None
        if has_epochs and rng.random() < 0.58:
            self.step_style, self.epoch_style = rng.choice([
                ("each", "fraction"), ("loss", "fraction"), ("each", "line"), ("loss", "line"), ("bar", "line"),
                ("bar", "line"), ("each", "fraction"), ("loss", "fraction"), ("epoch-bar", "bar"), ("bar", "dict"),
                (None, "line")])
        elif rng.random() < 0.5:
            self.step_style = rng.choice(["each", "loss", "bar"])
        self.every = rng.choice([5, 10, 20, 25])
        self.words = [w for w, s in (("steps", self.step_style), ("epochs", self.epoch_style)) if s]

    def pauses(self, rng):
        """Evaluations and saves: a spike of temporary memory, and time."""
        self.pause = {}
        for name, chance, size in (("eval", 0.4, (0.1, 0.6)), ("save", 0.35, (0.2, 0.8))):
            if rng.random() < chance:
                every = max(5, int(self.steps / log(rng, 4, 20)))
                self.pause[name] = (every, rng.uniform(*size) * self.base, rng.uniform(0.004, 0.012) * self.seconds,
                                    rng.random() < 0.6)

    def start(self):
        """Loads the base bit by bit, as a model is loaded, and starts the neighbour."""
        parts = 12
        if self.load_spike:
            spike = block(self.base * 0.5)
        self.model = []
        for _ in range(parts):
            self.model.append(block(self.base / parts))
            time.sleep(self.load / parts)
        spike = None  # noqa: F841 (the file that the weights were read from)
        self.children, self.over = [], threading.Event()
        if self.neighbour in ("idle", "busy"):
            self.children.append(child(self.be_neighbour))
        elif self.neighbour == "thread":
            threading.Thread(target=self.be_neighbour, daemon=True).start()
        self.weights = [self.rng.lognormvariate(0, self.sigma) for _ in range(self.steps)]
        if self.slow:
            first = int(self.slow[0] * self.steps)
            for i in range(first, min(self.steps, first + self.steps // 5)):
                self.weights[i] *= self.slow[1]
        paused = sum(length * (self.steps // every) for every, _, length, _ in self.pause.values())
        self.scale = max(0.3 * self.seconds, self.seconds - 2 * self.load - paused) / sum(self.weights)
        self.due = self.noisy_from = time.monotonic()
        self.begun = self.due

    def be_neighbour(self):
        rng = random.Random(self.neighbour_seed)
        kept = block(self.neighbour_size)
        while not self.over.is_set():
            if self.neighbour == "idle":
                time.sleep(5)
            else:
                buffer = block(rng.uniform(0.1, 0.5) * len(kept))
                self.over.wait(rng.uniform(0.2, 0.8))
                del buffer
                self.over.wait(rng.uniform(0.2, 0.8))

    def before(self, i):
        """The batch of this step: temporary. Large ones come seldom, so that the job mostly sleeps."""
        self.buffer = None
        now = time.monotonic()
        if self.noise and now >= self.noisy_from:
            size = self.rng.uniform(0.05, 1) * self.noise
            self.buffer = block(size)
            self.noisy_from = now + size / (30 * MB)

    def after(self, i, epoch_steps):
        """Sleeps to the end of the step, prints, pauses."""
        length = self.weights[i - 1] * self.scale
        self.due += length
        time.sleep(max(0, self.due - 0.3 * length - time.monotonic()))
        self.buffer = None
        time.sleep(max(0, self.due - time.monotonic()))
        self.tell(i, epoch_steps)
        for name, (every, size, length, printed) in self.pause.items():
            if i % every == 0:
                if printed:
                    self.say(f"eval loss {self.loss(i) * 1.1:.3f}" if name == "eval" else f"saving checkpoint {i}")
                kept = []
                for _ in range(5):
                    kept.append(block(size / 5))
                    time.sleep(length / 5)
                del kept
                self.due += length

    def loss(self, i):
        return 2.5 * (i + 5) ** -0.3 * self.rng.uniform(0.95, 1.05)

    def say(self, text):
        if self.words:
            print(text, flush=True)

    def bar(self, i, n, name=""):
        done, spent = i / n, time.monotonic() - self.begun
        clock = "{0[0]:02d}:{0[1]:02d}".format
        full = "#" * int(done * 10)
        return (f"{name}{done:4.0%}|{full:<10}| {i}/{n} [{clock(divmod(int(spent), 60))}<"
                f"{clock(divmod(int(spent / done - spent), 60))}, {i / max(spent, 1e-3):.2f}it/s, loss={self.loss(i):.3f}]")

    def tell(self, i, epoch_steps):
        if self.epoch_style == "line" and (i - 1) % epoch_steps == 0:
            print(f"Epoch {(i - 1) // epoch_steps + 1}/{-(-self.steps // epoch_steps)}", flush=True)
        tail = f" epoch {i / epoch_steps:.2f}" if self.epoch_style == "fraction" else ""
        if self.step_style == "each":
            print(f"step {i}/{self.steps}{tail}", flush=True)
        elif self.step_style == "loss" and i % self.every == 0:
            print(f"step {i} loss {self.loss(i):.3f}{tail}", flush=True)
        elif self.step_style == "bar":
            print(self.bar(i, self.steps), flush=True)
            if self.epoch_style == "dict" and i % self.every == 0:
                print({"loss": round(self.loss(i), 4), "epoch": round(i / epoch_steps, 2)}, flush=True)
        elif self.step_style == "epoch-bar":
            print(self.bar((i - 1) % epoch_steps + 1, epoch_steps, f"Epoch {(i - 1) // epoch_steps}: "), flush=True)

    def stop(self):
        self.over.set()
        end(self.children)
