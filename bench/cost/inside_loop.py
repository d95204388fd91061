"""A plain loop over torch's DataLoader, without a bar and without a Trainer: `inside_loop.py OBJECTS`.

It waits for its lines inside the loop, and for each does so many steps; what it prints is what `inside_job.py` prints.
"""
import statistics, sys, time

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
kept = [[number] for number in range(int(sys.argv[1]))]
model = torch.nn.Linear(32, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(torch.rand(4000, 32)), batch_size=8, shuffle=True)


def step(batch):
    total = 0
    for number in range(20_000):
        total += number * number
    optimizer.zero_grad()
    model(batch).pow(2).mean().backward()
    optimizer.step()


def train():
    took, left, began_all = [], 0, 0.0
    for epoch in range(1_000_000):
        for (batch,) in loader:
            if left == 0:
                if took:
                    processor = (time.process_time() - began_all) * 1e6 / len(took)
                    print(statistics.median(took), statistics.mean(took), processor, flush=True)
                line = sys.stdin.readline()
                if not line:
                    return
                took, left, began_all = [], int(line), time.process_time()
            began = time.perf_counter()
            step(batch)
            took.append((time.perf_counter() - began) * 1e6)
            left -= 1


print("ready", flush=True)
train()
