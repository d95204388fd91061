"""A training loop as people write it first: a DataLoader with persistent workers, and a bar over epochs.

The dataset keeps what it reads, so that each worker grows and the trainer does not. Nothing else is printed: no step,
no length of an epoch.
"""

import argparse
import time

import torch
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=40)
parser.add_argument("--kilobytes", type=int, default=400, help="kept with each example")
args = parser.parse_args()

EXAMPLES, BATCH, WORKERS, SECONDS = 16, 2, 2, 0.05


class Keeps(Dataset):
    def __init__(self):
        self.seen = []

    def __len__(self):
        return EXAMPLES

    def __getitem__(self, index):
        time.sleep(SECONDS)
        self.seen.append(bytearray(b"x" * (args.kilobytes << 10)))
        return torch.rand(64)


def main():
    torch.set_num_threads(1)
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loader = DataLoader(Keeps(), batch_size=BATCH, num_workers=WORKERS, persistent_workers=True)
    for _ in tqdm(range(args.epochs)):
        for batch in loader:
            optimizer.zero_grad()
            model(batch).pow(2).mean().backward()
            optimizer.step()


if __name__ == "__main__":
    main()
