"""Loops whose steps only the optimizer knows: what counts beside it is something else, or is elsewhere.

They last half a minute: a counter is held against the optimizer's updates for some seconds.
"""

import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "jobs"))
from tiny import Tiny, Truth  # noqa: E402

import torch  # noqa: E402
from torch.utils.data import DataLoader, IterableDataset  # noqa: E402
from tqdm import tqdm  # noqa: E402

PAUSE = 0.03
STEPS = 700


class Training:
    """A model, an optimizer, and a step that logs what it did."""

    def __init__(self, truth, made=torch.optim.AdamW, name="updates", counts=True, total=None, epoch=None, **more):
        self.truth, self.name, self.done = truth, name, 0
        self.model = Tiny(PAUSE)
        self.optimizer = made(self.model.parameters(), lr=0.01, **more)
        if counts:
            # One update may be seen before it is logged.
            truth.counter(name, total=total, epoch=epoch, ahead=1, anew=True)

    def step(self, x=None):
        self.optimizer.zero_grad()
        self.model(x=torch.ones(2, 4) if x is None else x)["loss"].backward()
        self.optimizer.step()
        self.done += 1
        self.truth.step(self.name, self.done)


def rows(length):
    return [torch.ones(4) for _ in range(length)]


def until_told(truth):
    """Nobody marks; a loop of an own kind, without a bar and without a loader."""
    one = Training(truth)
    while one.done < STEPS:
        one.step()


def fused(truth):
    """The kernel writes the parameters behind torch's back: their own counters stand still."""
    one = Training(truth, fused=True)
    while one.done < STEPS:
        one.step()


def plain_sgd(truth):
    """Nothing but the parameters tells: this optimizer keeps no state."""
    one = Training(truth, torch.optim.SGD)
    while one.done < STEPS:
        one.step()


def returns_early(truth):
    """An epoch is a function that returns in the middle of its loader, at a place of its own each time."""
    one, data = Training(truth), DataLoader(rows(400), batch_size=2)

    def epoch(nth):
        for count, batch in enumerate(data):
            if count > 30 + nth % 7:
                return
            one.step(batch)

    for nth in range(20):
        epoch(nth)


def stream(truth):
    """Data without a length, which ends after another number of batches each time."""
    one = Training(truth)

    class Stream(IterableDataset):
        length = 60

        def __iter__(self):
            Stream.length += 10
            return iter(rows(Stream.length))

    for _ in range(20):
        for batch in DataLoader(Stream(), batch_size=2):
            one.step(batch)


def statistics(truth):
    """The model and its optimizer are there, and a pass over the data computes a mean for half a minute."""
    kept = Training(truth, counts=False)
    truth.counter("read", total=800, ahead=1, standing="wrong")
    total = 0.0
    for done, batch in enumerate(tqdm(DataLoader(rows(1600), batch_size=2))):
        total += float(batch.sum())
        time.sleep(PAUSE)
        truth.step("read", done + 1)
    return kept, total


def searches(truth):
    """Trials, each with a model and an optimizer of its own, and all are kept; a bar counts the trials."""
    kept = []
    truth.counter("trials", total=4, ahead=1, standing="wrong")
    for trial in tqdm(range(4), desc="trials"):
        one = Training(truth, total=250, epoch=250)
        kept.append(one)
        for batch in DataLoader(rows(500), batch_size=2):
            one.step(batch)
        truth.end("updates")
        truth.step("trials", trial + 1)
    return kept


def watched_thread(truth):
    """Training is in a thread, and the first one shows that it waits."""
    one = Training(truth)
    runs = threading.Thread(target=lambda: [one.step() for _ in range(STEPS)])
    runs.start()
    truth.counter("waited", ahead=1, standing="wrong")
    for waited, _ in enumerate(tqdm(iter(runs.is_alive, False))):
        time.sleep(0.05)
        truth.step("waited", waited + 1)


def scores(truth):
    """Trains, and goes through a pool without a gradient, in turns; the model stays in training mode."""
    one = Training(truth, total=360, epoch=60)
    data, pool = DataLoader(rows(120), batch_size=2), DataLoader(rows(200), batch_size=2)
    for turn in range(6):
        for batch in tqdm(data, desc="turn %d" % turn):
            one.step(batch)
        truth.counter("scored", total=100, ahead=1, standing="wrong")
        with torch.no_grad():
            for done, batch in enumerate(tqdm(pool)):
                one.model(x=batch)
                truth.step("scored", done + 1)
        truth.end("scored")


def line_search(truth):
    """An optimizer that changes its parameters several times in a step."""
    one = Training(truth, torch.optim.LBFGS, max_iter=8)

    def closure():
        one.optimizer.zero_grad()
        loss = one.model(x=torch.rand(2, 4))["loss"]
        loss.backward()
        return loss

    while one.done < STEPS // 4:
        one.optimizer.step(closure)
        one.done += 1
        truth.step(one.name, one.done)


class Sharpness(torch.optim.Optimizer):
    """Goes uphill first, as SAM does, and lets another optimizer take the step from there: three changes in all."""

    def __init__(self, parameters, lr):
        self.inner = torch.optim.SGD(parameters, lr=lr)
        super().__init__(self.inner.param_groups, {"lr": lr})
        self.param_groups = self.inner.param_groups

    @torch.no_grad()
    def up(self, sign=1):
        for parameter in self.param_groups[0]["params"]:
            if parameter.grad is not None:
                parameter.add_(sign * 0.05)

    def step(self):
        self.up(-1)
        self.inner.step()


def sharpness(truth):
    one = Training(truth, Sharpness)
    while one.done < STEPS:
        one.optimizer.zero_grad()
        one.model(x=torch.ones(2, 4))["loss"].backward()
        one.optimizer.up()
        one.optimizer.step()
        one.done += 1
        truth.step(one.name, one.done)


KINDS = {
    "until_told": until_told, "fused": fused, "plain_sgd": plain_sgd, "returns_early": returns_early, "stream": stream,
    "statistics": statistics, "searches": searches, "watched_thread": watched_thread, "scores": scores,
    "line_search": line_search, "sharpness": sharpness,
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](Truth())
