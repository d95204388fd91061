"""Loops by hand with a DataLoader and no bar, over every kind of dataset and sampler that people use."""

import sys

import torch
from tiny import Rows, Tiny, Truth, ceil, training
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, Subset, TensorDataset

EXAMPLES, BATCH, EPOCHS = 51, 2, 60


class Computed(torch.utils.data.Dataset):
    """A length that is code, in a class that keeps no list."""

    def __len__(self):
        return EXAMPLES // 3 * 3

    def __getitem__(self, index):
        return torch.ones(4)


class Stream(IterableDataset):
    def __iter__(self):
        for _ in range(EXAMPLES):
            yield torch.ones(4)


def make(kind):
    """The loader, and how many examples it hands out in an epoch."""
    ones = [torch.ones(4) for _ in range(EXAMPLES)]
    if kind == "list":
        return DataLoader(ones, batch_size=BATCH, shuffle=True), EXAMPLES
    if kind == "subset":
        return DataLoader(Subset(Rows(200), list(range(EXAMPLES))), batch_size=BATCH), EXAMPLES
    if kind == "tensors":
        return DataLoader(TensorDataset(torch.ones(EXAMPLES, 4)), batch_size=BATCH, shuffle=True), EXAMPLES
    if kind == "arrow":
        from datasets import Dataset

        data = Dataset.from_dict({"x": [[1.0] * 4] * EXAMPLES}).with_format("torch")
        return DataLoader(data, batch_size=BATCH), EXAMPLES
    if kind == "sampler":
        return DataLoader(ones, batch_size=BATCH, sampler=RandomSampler(ones, replacement=True, num_samples=31)), 31
    if kind == "drop_last":
        return DataLoader(ones, batch_size=BATCH, drop_last=True), EXAMPLES // BATCH * BATCH
    if kind == "computed":
        return DataLoader(Computed(), batch_size=BATCH), EXAMPLES
    if kind == "iterable":
        return DataLoader(Stream(), batch_size=BATCH), EXAMPLES
    if kind == "workers":
        return DataLoader(ones, batch_size=BATCH, num_workers=1, persistent_workers=True), EXAMPLES
    raise SystemExit(kind)


def main(kind):
    loader, examples = make(kind)
    epoch = ceil(examples, BATCH)
    train = training(Tiny())
    truth = Truth()
    truth.counter("batch", total=epoch * EPOCHS, epoch=epoch, ahead=1, restarts=True)
    done = 0
    for _epoch in range(EPOCHS):
        for batch in loader:
            while isinstance(batch, (dict, list)):
                batch = batch["x"] if isinstance(batch, dict) else batch[0]
            train(batch)
            done += 1
            truth.step("batch", done)
            truth.epoch(done / epoch)


if __name__ == "__main__":
    main(sys.argv[1])
