"""A trainer beside a real Inductor compile pool."""

import os
import time

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "3")

import torch
from torch._inductor.async_compile import AsyncCompile


def main():
    torch.set_num_threads(1)
    # The pool that torch.compile starts; no C compiler is needed to have it running.
    AsyncCompile.process_pool()
    AsyncCompile.warm_pool()
    AsyncCompile.wait_pool_ready()
    ballast = torch.ones(30_000_000)
    model = torch.nn.Linear(300, 300)
    for step in range(1, 41):
        (model(torch.ones(8, 300)).sum() + ballast[0]).backward()
        time.sleep(0.1)
        print(f"step {step}/40", flush=True)


if __name__ == "__main__":
    main()
