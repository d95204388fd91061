"""A training loop that notes its steps: `loop.py FILE SECONDS`.

One thread, some milliseconds a step. It ends when its input ends, or after SECONDS, and then writes three numbers for
every step: when it began (CLOCK_MONOTONIC, the same for all processes), how long it took, and its processor time.
"""
import array, sys, threading, time

import torch

torch.set_num_threads(1)
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
network = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(384, 384), torch.nn.ReLU()) for _ in range(4)))
optimizer = torch.optim.AdamW(network.parameters())
rows = torch.rand(64, 384)
steps, last = array.array("d"), time.monotonic() + float(sys.argv[2])
print("ready", flush=True)
while not ended.is_set() and time.monotonic() < last:
    began, processor = time.monotonic(), time.thread_time()
    optimizer.zero_grad()
    (network(rows) - rows).pow(2).mean().backward()
    optimizer.step()
    steps.extend((began, time.monotonic() - began, time.thread_time() - processor))
with open(sys.argv[1], "wb") as file:
    steps.tofile(file)
