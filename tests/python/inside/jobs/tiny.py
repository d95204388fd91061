"""What all jobs here share: a model of some hundred weights, a pause in its forward pass, and data of one column."""

import os
import sys
import time
from pathlib import Path

# Before torch is imported: two cores carry eight jobs.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402
from truth import Truth  # noqa: E402,F401

torch.set_num_threads(1)
PAUSE = float(os.environ.get("INSIDE_PAUSE", "0.06"))


class Tiny(torch.nn.Module):
    """Takes and gives what Trainer wants, and sleeps as long as a small step takes."""

    def __init__(self, pause=PAUSE):
        super().__init__()
        self.linear = torch.nn.Linear(4, 1)
        self.pause = pause

    def forward(self, x=None, labels=None, **_):
        time.sleep(self.pause)
        loss = self.linear(x).pow(2).mean()
        return {"loss": loss, "logits": x}


class Rows(torch.utils.data.Dataset):
    def __init__(self, length):
        self.rows = [{"x": torch.ones(4), "labels": torch.ones(1)} for _ in range(length)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def training(model):
    """One optimizer step, for loops that are written by hand."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(x):
        loss = model(x=x)["loss"]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def ceil(a, b):
    return -(-a // b)
