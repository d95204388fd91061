"""A trainer with a real DataLoader: 4 forked workers, a small model, steps printed."""

import time

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self):
        self.rows = [list(range(200)) for _ in range(2000)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.tensor(self.rows[index], dtype=torch.float32)


def main():
    torch.set_num_threads(1)
    model = torch.nn.Linear(200, 200)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    ballast = torch.ones(20_000_000)
    loader = DataLoader(Rows(), batch_size=8, num_workers=4)
    for step, batch in enumerate(loader, 1):
        loss = (model(batch) - batch).square().mean() + ballast[0] * 0
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}/250", flush=True)


if __name__ == "__main__":
    main()
