"""A short torch loop with some weight to it."""

import sys
import time

import torch


def main():
    torch.set_num_threads(1)
    model = torch.nn.Linear(300, 300)
    ballast = torch.ones(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000)
    for step in range(1, 31):
        (model(torch.ones(8, 300)).sum() + ballast[0]).backward()
        time.sleep(0.1)
        print(f"step {step}/30", flush=True)


if __name__ == "__main__":
    main()
