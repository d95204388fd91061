"""Thirteen kinds whose growth ends or is given back by itself. Traps among them look like leaks for long."""
import math
import mmap
import os
import random
import statistics
import tempfile
from collections import deque

from tools import MB, Kind, block, child, log, pages


class cross_validation(Kind):
    """Cross-validation in one process: each fold's model and its out-of-fold predictions are kept for the ensemble,
    until the last fold; then only the blender is trained."""

    family, trap = "stages", True

    def plan(self):
        rng, steps = self.rng, self.job.steps
        self.folds, passes = rng.randint(4, 10), rng.randint(1, 4)
        epoch = max(3, round(steps * rng.uniform(0.35, 0.95) / self.folds / passes))
        self.fold = epoch * passes
        self.fills_in = self.fold * self.folds
        return epoch

    def begin(self):
        total = self.growth()
        self.size, self.live = total / self.folds, total * self.rng.uniform(0.05, 0.3)
        self.gives_back, self.done, self.model = self.rng.random() < 0.5, [], None

    def step(self, i):
        fold, place = divmod(i - 1, self.fold)
        if fold < self.folds and place == 0:
            self.model = block(self.live)
            self.job.say(f"fold {fold + 1}/{self.folds}")
        if fold < self.folds and place == self.fold - 1:
            self.model = None
            self.done.append(block(self.size * self.rng.uniform(0.8, 1.2)))
        if self.gives_back and i == min(self.job.steps, int(self.fills_in * 1.1)):
            self.done = []  # the ensemble has been distilled
        self.kept = sum(map(len, self.done))


class ascending_grid(Kind):
    """A grid search in one process, small models first: each trial is larger than the one before and replaces it;
    with the next learning rate it begins again with the smallest."""

    family, trap = "stages", True

    def plan(self):
        rng, steps = self.rng, self.job.steps
        self.sizes, passes = rng.randint(5, 12), rng.randint(1, 3)
        epoch = max(2, steps // 40, round(steps * log(rng, 0.2, 1.0) / self.sizes / passes))
        self.trial = epoch * passes
        self.fills_in = (self.sizes - 1) * self.trial + 2
        return epoch

    def begin(self):
        total, low = self.growth(), self.rng.uniform(0.05, 0.25)
        ratio = (1 / low) ** (1 / (self.sizes - 1))
        self.bytes = [total * low * ratio ** k for k in range(self.sizes)]
        self.model = self.state = b""

    def step(self, i):
        trial, place = divmod(i - 1, self.trial)
        size = self.bytes[trial % self.sizes]
        if place == 0:
            self.model = self.state = b""
            self.model = block(size / 3)
            self.job.say(f"trial {trial + 1}")
        elif place == 1:
            self.state = block(size * 2 / 3)  # the optimizer's, at its first step
        self.kept = len(self.model) + len(self.state)


class labelled_pool(Kind):
    """Active learning: each round scores the unlabelled data, has some labelled, and decodes them into the pool to train
    on, until the budget of labels is spent."""

    family, epochs = "stages", None

    def begin(self):
        rng, steps = self.rng, self.job.steps
        rounds = rng.randint(5, 16)
        self.round = max(4, round(steps * log(rng, 0.3, 1.5) / rounds))
        self.riser = max(1, int(self.round * rng.uniform(0.1, 0.5)))
        shares = [rng.uniform(0.6, 1.4) for _ in range(rounds)]
        total = self.growth()
        self.sizes = [total * share / sum(shares) for share in shares]
        self.fills_in = self.round * (rounds - 1) + self.riser
        self.pool, self.scores = [], None

    def step(self, i):
        number, place = divmod(i - 1, self.round)
        if number < len(self.sizes):
            if place == 0:
                self.scores = block(self.job.base * 0.15)
                self.job.say(f"round {number + 1}: {100 * number} labelled")
            if place == 1:
                self.scores = None
            if place < self.riser:
                self.pool.append(block(self.sizes[number] / self.riser))
                self.kept += len(self.pool[-1])


class vocabulary(Kind):
    """A vocabulary that grows with every new word of the first pass, ever slower, and a table of embeddings that is
    copied to one twice as large when it is full."""

    family, epochs, alone = "coverage", (2, 20), 0.15

    def begin(self):
        rng, total = self.rng, self.growth(most=260)
        self.power, self.word = rng.uniform(0.5, 0.75), rng.randint(60, 400)
        self.words, self.table, self.rows = {}, b"", 0
        self.all = int(0.5 * total / (self.word + 150))
        self.row = 0.35 * total / self.all  # its table ends up to twice as large as it must be
        self.fills_in = self.job.epoch_steps

    def step(self, i):
        seen = int(self.all * min(1, i / self.job.epoch_steps) ** self.power)
        while len(self.words) < seen:
            number = len(self.words)
            self.words[f"word{number}"] = bytes([number % 255 + 1]) * self.word
        if seen > self.rows:
            rows = max(self.rows, self.all // 50)
            while rows < seen:
                rows *= 2
            fresh = block(rows * self.row)
            self.table, self.rows = fresh, rows
        self.kept = len(self.words) * (self.word + 150) + len(self.table)


class mapped_shards(Kind):
    """Shards on disk that are memory-mapped and read by example: file pages pile up in the first pass, but they belong
    to the page cache, and nothing else grows."""

    family, alone = "file pages", 0.2

    def begin(self):
        rng, total = self.rng, self.growth(most=300)
        self.reopens = rng.random() < 0.4
        self.examples = rng.randint(1, 4)
        self.count = self.job.epoch_steps * self.examples
        self.size = max(mmap.PAGESIZE, total // self.count)
        self.file = tempfile.TemporaryFile()
        self.file.truncate(self.size * self.count)
        self.open()
        self.batch = None

    def open(self):
        self.map = mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ)

    def step(self, i):
        epoch, place = self.job.epoch(i)
        if place == 0 and epoch and self.reopens:
            self.map.close()
            self.open()
        for index in self.job.batch(i, self.examples):
            at = index * self.size
            self.batch = self.map[at:at + self.size]

    def settles(self):
        return 0  # what can be reclaimed is no growth


class unfreezing(Kind):
    """Gradual unfreezing: a frozen torch network whose layers become trainable one after the other; each brings
    gradients and the two moments of Adam, until all are."""

    family, torch = "stages", True

    def plan(self):
        rng, steps = self.rng, self.job.steps
        self.layers, passes = rng.randint(4, 8), rng.randint(1, 3)
        epoch = max(3, round(steps * log(rng, 0.35, 1.3) / (self.layers - 1) / passes))
        self.stage = epoch * passes
        self.fills_in = (self.layers - 1) * self.stage + 1
        return epoch

    def begin(self):
        import torch
        torch.set_num_threads(1)
        torch.manual_seed(self.job.seed)
        self.torch = torch
        self.width = int(math.sqrt(log(self.rng, 60, 170) * MB / 3 / self.layers / 4))
        self.net = [torch.nn.Linear(self.width, self.width) for _ in range(self.layers)]
        for layer in self.net:
            layer.requires_grad_(False)
        self.optimizer = None

    def step(self, i):
        torch = self.torch
        stage, place = divmod(i - 1, self.stage)
        if place == 0 and stage < self.layers:
            layer = self.net[self.layers - 1 - stage].requires_grad_(True)
            if self.optimizer is None:
                self.optimizer = torch.optim.Adam(layer.parameters(), foreach=False)
            else:
                self.optimizer.add_param_group({"params": list(layer.parameters())})
            self.job.say(f"training {stage + 1} of {self.layers} layers")
            self.kept = 3 * 4 * self.width ** 2 * (stage + 1)
        x = torch.randn(2, self.width)
        for layer in self.net:
            x = torch.tanh(layer(x))
        x.pow(2).mean().backward()
        if i % 2 == 0:  # gradients of two batches
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=False)
        elif place == 0:
            self.optimizer.step()


class seldom_reset(Kind):
    """A metric that needs all predictions (average precision): they pile up over several epochs, because it is computed
    and reset at every k-th validation only."""

    family, trap = "given back", True

    def plan(self):
        rng, steps = self.rng, self.job.steps
        passes = rng.randint(2, 8)
        epoch = max(3, round(steps * log(rng, 0.12, 0.8) / passes))
        self.fills_in = self.period = epoch * passes
        return epoch

    def begin(self):
        self.size, self.predictions = self.growth(most=250) / self.period, []

    def step(self, i):
        self.predictions.append(block(self.size * self.rng.uniform(0.7, 1.3)))
        self.kept += len(self.predictions[-1])
        if i % self.period == 0:
            joined = b"".join(self.predictions)
            self.job.say(f"average precision {len(joined) % 1000 / 1000}")
            self.predictions, self.kept = [], 0


class through_time(Kind):
    """Truncated backpropagation through time in torch: the graph is carried on for a window of many steps, then run
    backwards and dropped."""

    family, trap, torch = "given back", True, True

    def begin(self):
        import torch
        torch.set_num_threads(1)
        torch.manual_seed(self.job.seed)
        rng, self.torch, self.width = self.rng, torch, 192
        self.window = max(8, int(log(rng, 8, self.job.steps / 3)))
        self.rows = max(16, int(log(rng, 30, 160) * MB / self.window / (3 * 4 * self.width)))
        self.cell = torch.nn.Linear(2 * self.width, self.width)
        self.optimizer = torch.optim.SGD(self.cell.parameters(), lr=0.01)
        self.fills_in = self.window
        self.restart()

    def restart(self):
        self.state, self.losses, self.kept = self.torch.zeros(self.rows, self.width), [], 0

    def step(self, i):
        torch = self.torch
        x = torch.randn(self.rows, self.width)
        self.state = torch.tanh(self.cell(torch.cat([self.state, x], 1)))
        self.losses.append((self.state[:, 0] - 0.5).pow(2).mean())
        self.kept += self.rows * self.width * 4 * 3  # both halves of the input, and the new state
        if i % self.window == 0:
            sum(self.losses).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.restart()


class short_first(Kind):
    """Batches sorted by length, the shortest first: the working memory of a step climbs through each pass, and begins
    again from below with the next."""

    family, trap, epochs, alone = "given back", True, (2, 12), 0.15

    def begin(self):
        self.total = self.growth()
        self.piece = max(MB // 4, self.total // 150)
        self.spread, self.wobble = self.rng.uniform(0.3, 0.8), self.rng.uniform(0, 0.06)
        self.pieces, self.fills_in = [], self.job.epoch_steps
        self.normal = statistics.NormalDist()

    def step(self, i):
        epoch, place = self.job.epoch(i)
        if place == 0:
            self.pieces = []
        share = min(0.995, max(0.005, (place + 0.5) / self.job.epoch_steps))
        length = math.exp(self.spread * (self.normal.inv_cdf(share) - self.normal.inv_cdf(0.995)))
        length *= 1 - self.rng.uniform(0, self.wobble)
        count = int(self.total * length / self.piece)
        del self.pieces[count:]
        while len(self.pieces) < count:
            self.pieces.append(block(self.piece))
        self.kept = len(self.pieces) * self.piece


class node_histories(Kind):
    """Training on a sampled graph: a node's historical embedding is stored when a batch first touches it, as a seed or as
    somebody's neighbour. Seldom seen neighbours come passes later."""

    family, epochs, alone = "coverage", (2, 25), 0.1

    def begin(self):
        rng = self.rng
        nodes, self.fan = 3000, rng.randint(1, 3)
        weights = [1 / (k + 10) ** 0.8 for k in range(nodes)]
        self.near = [rng.choices(range(nodes), weights, k=rng.randint(3, 14)) for _ in range(nodes)]
        self.train = rng.sample(range(nodes), int(nodes * rng.uniform(0.35, 0.8)))
        reached = set(self.train).union(*(self.near[n] for n in self.train))
        self.size = self.growth() / len(reached)
        self.stored, i, seen = {}, 0, set()
        while len(seen) < 0.95 * len(reached):  # the rest is no growth that anybody would care for
            i += 1
            seen.update(self.touched(i))
        self.fills_in = i

    def touched(self, i):
        epoch, place = self.job.epoch(i)
        rng = random.Random(f"{self.job.seed}/{i}")
        order = random.Random(f"{self.job.seed}/{epoch}").sample(self.train, len(self.train)) \
            if place == 0 else self.order
        self.order = order
        first, last = (len(order) * (place + k) // self.job.epoch_steps for k in (0, 1))
        for seed in order[first:last]:
            yield seed
            yield from rng.sample(self.near[seed], self.fan)

    def step(self, i):
        for node in self.touched(i):
            if node not in self.stored:
                self.stored[node] = block(self.size)
                self.kept += len(self.stored[node])


class worker_shuffle(Kind):
    """Streaming data through persistent workers: each fills a shuffle buffer of its own, at its own speed; when it is
    full, each new example takes the place of an old one."""

    family, epochs = "a store that fills", None

    def begin(self):
        rng, steps = self.rng, self.job.steps
        workers = rng.randint(2, 4)
        last = steps * log(rng, 0.15, 2.0)
        self.size = int(log(rng, 30, 250) * 1024)
        room = max(40, int(self.growth() / workers / self.size))
        speeds = [rng.uniform(1, 2.5) for _ in range(workers)]
        slowest = min(speeds)
        self.fills = [max(1, int(last * slowest / speed)) for speed in speeds]  # in steps
        self.room, self.fills_in, self.ends = room, max(self.fills), []
        self.pids = []
        for number in range(workers):
            read, write = os.pipe()
            self.ends.append(write)
            self.pids.append(child(lambda: self.work(read, number)))
            os.close(read)

    def work(self, read, number):
        rng, buffer, turns = random.Random(f"{self.job.seed}/{number}"), [], 0
        while os.read(read, 1):
            turns += 1
            wanted = self.room * turns / self.fills[number]
            while len(buffer) < min(self.room, wanted):
                buffer.append(block(self.size))
            if wanted > self.room:
                buffer[rng.randrange(self.room)] = block(self.size)

    def step(self, i):
        for write in self.ends:
            os.write(write, b"x")
        self.kept = int(sum(min(1, i / fill) for fill in self.fills) * self.room * self.size)


class longer_episodes(Kind):
    """Reinforcement learning: the better the agent, the longer its episodes. The episodes of an iteration are stored until
    the next ones are complete; they grow until episodes reach their limit."""

    family, epochs = "a store that fills", None

    def begin(self):
        rng, steps = self.rng, self.job.steps
        self.iteration = max(4, int(steps / rng.uniform(12, 40)))
        self.mid, self.slope = steps * rng.uniform(0.15, 0.85), steps * rng.uniform(0.04, 0.12)
        self.total, self.old, self.new, self.luck = self.growth(1, 4, 200), [], [], 1
        # From the first iteration on that begins after this step, episodes have the longest length (see level). Its store
        # and the next one's together are the most that there will be.
        self.limit = math.ceil((self.mid + 2.0 * self.slope) / self.iteration) * self.iteration
        self.fills_in = self.limit + 2 * self.iteration

    def level(self, i):
        return min(1, self.luck * 1.08 / (1 + math.exp(-(i - self.mid) / self.slope)) + 0.05)

    def step(self, i):
        place = (i - 1) % self.iteration
        if place == 0:
            self.luck = self.rng.uniform(0.93, 1) if i <= self.limit else 1
            self.level_now = self.level(i)
        self.new.append(block(self.total * self.level_now / self.iteration))
        if place == self.iteration - 1:
            self.old, self.new = self.new, []
            self.job.say(f"iteration {i // self.iteration} episode length {1000 * self.level_now:.0f}")
        self.kept = sum(map(len, self.old)) + sum(map(len, self.new))


class upload_backlog(Kind):
    """Pictures and tables that wait to be uploaded: in the first epochs more are logged than the line takes, and the queue
    grows straight on; later few are logged, and it drains."""

    family, trap, epochs, alone = "given back", True, (4, 40), 0.0

    def begin(self):
        rng, steps, epoch = self.rng, self.job.steps, self.job.epoch_steps
        self.fills_in = max(1, round(steps * log(rng, 0.15, 0.8) / epoch)) * epoch
        self.every = rng.randint(1, max(1, epoch // 3))
        drain = rng.uniform(0.2, 0.6)
        self.made = self.growth() / self.fills_in / (1 - drain)  # bytes a step
        self.drain = self.made * drain
        self.later = int(self.every * rng.uniform(1.5, 6) / drain)
        self.queue, self.credit = deque(), 0

    def step(self, i):
        every = self.every if i <= self.fills_in else self.later
        if i % every == 0:
            self.queue.append(pages(self.made * self.every * self.rng.uniform(0.7, 1.3)))
            self.kept += len(self.queue[-1])
        self.credit += self.drain
        while self.queue and len(self.queue[0]) <= self.credit:
            sent = len(self.queue.popleft())
            self.credit -= sent
            self.kept -= sent
        if not self.queue:
            self.credit = 0


KINDS = [cross_validation, ascending_grid, labelled_pool, vocabulary, mapped_shards, unfreezing, seldom_reset,
         through_time, short_first, node_histories, worker_shuffle, longer_episodes, upload_backlog]
