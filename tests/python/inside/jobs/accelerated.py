"""Loops over accelerate: with accumulate() and without, with the usual bar over max_steps and without any."""

import sys

import torch
from tiny import Rows, Tiny, Truth, ceil

from accelerate import Accelerator

EXAMPLES, BATCH, EPOCHS = 50, 2, 40


def main(kind):
    accumulate = 4 if kind in ("accumulate", "accumulate_no_bar") else 1
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=accumulate)
    model = Tiny()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(Rows(EXAMPLES), batch_size=BATCH, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    batches = ceil(EXAMPLES, BATCH)
    epoch = ceil(batches, accumulate)
    truth = Truth()
    has_bar = not kind.endswith("no_bar")
    # Without a bar only batches and the accumulation are kept anywhere: which epoch it is, is not.
    truth.counter("optimizer", total=epoch * EPOCHS, epoch=epoch, restarts=not has_bar)
    # accelerate fetches a batch before it hands out the one before.
    truth.counter("batch", total=batches * EPOCHS, epoch=batches, ahead=2, restarts=True)
    if has_bar:
        from tqdm.auto import tqdm

        bar = tqdm(range(epoch * EPOCHS), desc="Steps")
    done = fetched = 0
    for _epoch in range(EPOCHS):
        for batch in loader:
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch)["loss"])
                optimizer.step()
                optimizer.zero_grad()
            fetched += 1
            truth.step("batch", fetched)
            if accelerator.sync_gradients:
                done += 1
                if has_bar:
                    bar.update(1)
                truth.step("optimizer", done, shown=bar.n if has_bar else None)
                truth.epoch(done / epoch)


if __name__ == "__main__":
    main(sys.argv[1])
