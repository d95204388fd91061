"""Nine kinds that never stop. Each is material, and goes on over several epochs where there are any."""
import mmap
import time

from tools import MB, Kind, block, child, log


class Leak(Kind):
    leak, alone = True, 0.0
    epochs = (4, 40)


class monitored_loss(Leak):
    """A second loss in torch that is only watched: added up with its graph, never run backwards, never detached."""

    family, torch = "graph kept", True

    def begin(self):
        import torch
        torch.set_num_threads(1)
        torch.manual_seed(self.job.seed)
        self.torch, self.width = torch, 128
        self.net = [torch.nn.Linear(self.width, self.width) for _ in range(self.rng.randint(2, 5))]
        self.optimizer = torch.optim.SGD([p for layer in self.net for p in layer.parameters()], lr=0.01)
        per_step = log(self.rng, 80, 330) * MB / self.job.steps
        self.rows = max(4, int(per_step / (4 * self.width * (len(self.net) + 1))))
        self.watched = 0

    def forward(self, rows):
        x = self.torch.randn(rows, self.width)
        for layer in self.net:
            x = self.torch.tanh(layer(x))
        return x.pow(2).mean()

    def step(self, i):
        self.optimizer.zero_grad()
        self.forward(32).backward()
        self.optimizer.step()
        self.watched = self.watched + self.forward(self.rows)
        self.kept += 4 * self.width * self.rows * (len(self.net) + 1)


class hooked_trials(Leak):
    """A sweep in one process: a callback that each trial registers holds its model, so that no trial is ever freed.
    Trials differ in size."""

    family = "stairs"

    def plan(self):
        trials = self.rng.uniform(10, 30)
        passes = min(self.rng.randint(1, 3), int(40 / trials))
        epoch = max(2, round(self.job.steps / trials / passes))
        self.trial = epoch * passes
        self.onset = self.trial + 1
        return epoch

    def begin(self):
        trials = self.job.steps / self.trial
        self.mean, self.models, self.state = self.growth() / trials, [], None

    def step(self, i):
        if (i - 1) % self.trial == 0:
            size = self.mean * self.rng.uniform(0.3, 1.7)
            self.state = None
            self.models.append(block(size))
            self.state = block(size * 0.5)  # its optimizer: freed
            self.kept += len(self.models[-1])
            self.job.say(f"trial {len(self.models)}")


class missed_cache(Leak):
    """A cache of prepared examples whose key has the random crop in it: no pass ever finds what the one before stored."""

    family = "store without an end"

    def begin(self):
        self.examples, self.store = self.rng.randint(1, 4), {}
        count = self.job.epoch_steps * self.examples
        sizes = [self.rng.lognormvariate(0, 0.6) for _ in range(count)]
        scale = self.growth() / self.job.steps * self.job.epoch_steps / sum(sizes)
        self.sizes = [size * scale for size in sizes]

    def step(self, i):
        for index in self.job.batch(i, self.examples):
            crop = self.rng.random()
            if (index, crop) not in self.store:
                self.store[index, crop] = block(self.sizes[index])
                self.kept += len(self.store[index, crop])


class augmented_ngrams(Leak):
    """Counts of n-grams of texts that are augmented anew in each pass: new ones become rarer, but never cease."""

    family, epochs = "store without an end", (4, 30)

    def begin(self):
        self.power, self.size = self.rng.uniform(0.7, 0.88), self.rng.randint(150, 900)
        self.count, self.table = self.growth(1, 4) // (self.size + 170), {}

    def step(self, i):
        wanted = int(self.count * (i / self.job.steps) ** self.power)
        while len(self.table) < wanted:
            number = len(self.table)
            self.table[f"gram {number}"] = bytes([number % 255 + 1]) * self.size
        self.kept = len(self.table) * (self.size + 170)


class piled_workers(Leak):
    """Loaders made anew for each epoch with persistent workers: the old workers are never told to go, and each keeps what
    it has prefetched."""

    family, epochs = "processes", (7, 18)

    def begin(self):
        passes = self.job.steps / self.job.epoch_steps
        self.workers = self.rng.choice([1, 1, 2])
        self.size = self.growth(0.7, 4, 300) / passes / self.workers
        self.onset = self.job.epoch_steps + 1

    def work(self):
        kept = []
        for _ in range(6):
            kept.append(block(self.size / 6))
            time.sleep(self.job.look.seconds / 400)
        while kept:
            time.sleep(60)

    def step(self, i):
        if self.job.epoch(i)[1] == 0:
            for _ in range(self.workers):
                self.pids.append(child(self.work))
                self.kept += int(self.size)


class truncated_episodes(Leak):
    """Reinforcement learning: steps are gathered per episode and handed over when it ends. Those that are cut off by the
    time limit are never handed over, and stay."""

    family, epochs = "lost entries", None

    def begin(self):
        rng = self.rng
        self.envs, self.cut = rng.randint(4, 16), rng.uniform(0.1, 0.4)
        self.ends = 1 / log(rng, 5, 30)  # chance to end at a step
        self.size = self.growth() / (self.job.steps * self.envs * self.cut)
        self.running, self.name = {}, 0
        self.open = {env: self.fresh() for env in range(self.envs)}

    def fresh(self):
        self.name += 1
        self.running[self.name] = []
        return self.name

    def step(self, i):
        for env, name in self.open.items():
            self.running[name].append(block(self.size))
            if self.rng.random() < self.ends:
                if self.rng.random() < self.cut:
                    self.kept += sum(map(len, self.running[name]))
                else:
                    del self.running[name]
                self.open[env] = self.fresh()


class forgotten_profiler(Leak):
    """A profiler that is started in the middle of the run to look at a slow epoch, and never stopped: it keeps every event."""

    family, epochs = "begins late", (7, 40)

    def begin(self):
        self.onset = int(self.job.steps * self.rng.uniform(0.2, 0.5))
        self.size = self.rng.randint(200, 2000)
        self.each = self.growth() / (self.job.steps - self.onset) / (self.size + 200)
        self.events = []

    def step(self, i):
        if i >= self.onset:
            wanted = self.each * (i - self.onset + 1)
            while len(self.events) < wanted:
                self.events.append((f"op{i}", time.monotonic(), bytes([i % 255 + 1]) * self.size))
            self.kept = len(self.events) * (self.size + 200)


class hard_batches(Leak):
    """Batches come in shared memory; those with a high loss are put aside to look at them later, and nobody ever does."""

    family, epochs = "shared memory", (4, 30)

    def begin(self):
        self.share = self.rng.uniform(0.15, 1)
        self.size = self.growth() / self.job.steps / self.share
        self.aside = []

    def step(self, i):
        size = int(self.size * self.rng.uniform(0.5, 1.5))
        batch = mmap.mmap(-1, max(mmap.PAGESIZE, size))
        batch.write(b"x" * len(batch))
        if self.rng.random() < self.share:
            self.aside.append(batch)
            self.kept += len(batch)
        else:
            batch.close()


class copied_history(Leak):
    """Each checkpoint's state holds a copy of the whole log history so far, and all states are kept: ever larger stairs."""

    family = "stairs"

    def begin(self):
        self.every = max(3, round(self.job.steps / self.rng.uniform(12, 40)))
        saves = self.job.steps // self.every
        share = self.growth(1, 4) / (self.job.steps + self.every * saves * (saves + 1) / 2)
        self.size, self.history, self.states = max(64, int(share)), [], []
        self.onset = self.every

    def step(self, i):
        self.history.append(bytes([i % 255 + 1]) * self.size)
        self.kept += self.size
        if i % self.every == 0:
            self.states.append(b"".join(self.history))
            self.kept += len(self.states[-1])
            self.job.say(f"saving checkpoint {i}")


KINDS = [monitored_loss, hooked_trials, missed_cache, augmented_ngrams, piled_workers, truncated_episodes,
         forgotten_profiler, hard_batches, copied_history]
