"""Loops by hand with tqdm: over a loader, by update(), nested, trange; with torch or with nothing but tqdm."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tqdm import tqdm, trange  # noqa: E402
from truth import Truth  # noqa: E402

EPOCHS, LENGTH, PAUSE = 60, 25, 0.06


def loader():
    """A real loader and a real step for those jobs that train."""
    import torch
    from tiny import Rows, Tiny, training

    step = training(Tiny(PAUSE))
    return torch.utils.data.DataLoader(Rows(LENGTH * 2), batch_size=2), lambda batch: step(batch["x"])


def loader_bar(truth, desc=None):
    """A bar of its own for every epoch, over the loader."""
    batches, train = loader()
    # "Epoch 8" may be the eighth or the ninth: counting from where one comes in is allowed with it, too.
    truth.counter("batch", total=EPOCHS * LENGTH, epoch=LENGTH, ahead=1, restarts=True)
    done = 0
    for epoch in range(EPOCHS):
        bar = tqdm(batches, desc=desc and desc % epoch)
        for batch in bar:
            truth.shown("batch", epoch * LENGTH + bar.n)
            train(batch)
            done += 1
            truth.step("batch", done)
            truth.epoch(done / LENGTH)


def work():
    """A step. Where torch is there, only a bar that goes on with an optimizer's updates is one of training."""
    if "torch" not in sys.modules:
        return lambda: time.sleep(PAUSE)
    import torch
    from tiny import Tiny, training

    step = training(Tiny(PAUSE))
    return lambda: step(torch.ones(2, 4))


def update_bar(truth):
    step = work()
    truth.counter("batch", total=EPOCHS * LENGTH)
    with tqdm(total=EPOCHS * LENGTH) as bar:
        for done in range(1, EPOCHS * LENGTH + 1):
            step()
            bar.update()
            truth.step("batch", done, shown=bar.n)


def nested(truth):
    step = work()
    truth.counter("batch", total=EPOCHS * LENGTH, epoch=LENGTH, ahead=1)
    # The outer bar counts epochs: that is no step, while the inner one moves.
    truth.counter("epochs", total=EPOCHS, standing="wrong", ahead=1)
    done = 0
    outer = tqdm(range(EPOCHS), desc="Epochs")
    for epoch in outer:
        bar = tqdm(range(LENGTH), desc="Batches", leave=False)
        for _ in bar:
            truth.shown("batch", epoch * LENGTH + bar.n)
            step()
            done += 1
            truth.step("batch", done)
            truth.epoch(done / LENGTH)
        truth.step("epochs", epoch + 1)


def ranged(truth):
    step = work()
    truth.counter("batch", total=EPOCHS * LENGTH, ahead=1)
    bar = trange(EPOCHS * LENGTH)
    for done in bar:
        truth.shown("batch", bar.n)
        step()
        truth.step("batch", done + 1)


KINDS = {
    "loader": loader_bar,
    "described": lambda truth: loader_bar(truth, "Epoch %d"),
    "update": update_bar,
    "nested": nested,
    "trange": ranged,
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](Truth())
