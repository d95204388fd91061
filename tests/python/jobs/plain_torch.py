"""A hand-written PyTorch loop that leaks its batches, and saves and stops when lowtide's guard asks."""

import argparse
import hashlib

import torch

import lowtide


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--trace", required=True)
    parser.add_argument("--resume")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(1000, 500), torch.nn.ReLU(), torch.nn.Linear(500, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step, kept = 0, []
    if chosen.resume:
        state = torch.load(chosen.resume)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        step = state["step"]
    lowtide.mark(step=step, total_steps=chosen.steps, phase="train")
    while step < chosen.steps:
        batch = torch.randn(1000, 1000)
        kept.append(batch)  # the leak: 4 MB a step
        loss = model(batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        with open(chosen.trace, "a") as file:
            file.write("step %d\n" % step)
        lowtide.mark(step=step)
        if lowtide.guard() and step < chosen.steps:
            with lowtide.phase("save"):
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save({**state, "random": torch.get_rng_state(), "step": step}, "state-%d.pt" % step)
            return
    digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))
    with open(chosen.trace, "a") as file:
        file.write("weights %s\n" % digest.hexdigest())


if __name__ == "__main__":
    main()
