"""Two ranks on gloo, as torchrun starts them."""

import time

import torch
import torch.distributed as dist


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(500, 500))
    ballast = torch.ones(10_000_000)
    for step in range(1, 31):
        loss = model(torch.ones(4, 500)).sum() + ballast[0]
        loss.backward()
        time.sleep(0.1)
        if dist.get_rank() == 0:
            print(f"step {step}/30", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
