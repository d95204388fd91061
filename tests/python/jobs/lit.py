"""A Lightning run that leaks its batches, with lowtide's callback.

After a resume in the middle of an epoch Lightning begins the epoch's data anew (a plain DataLoader has
no state to save), so all batches are alike here: what is left to compare is all but the data's order.
"""

import argparse
import hashlib
import logging
import warnings

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lowtide.lightning import LowtideCallback

KEPT = []


class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1000, 500)

    def training_step(self, batch, index):
        KEPT.append(batch.clone())  # the leak: 4 MB a step
        return self.layer(batch).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        return torch.linspace(0.0, 1.0, 1000)


class Trace(Callback):
    def __init__(self, path):
        self.path = path

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        self.say("step %d" % trainer.global_step)

    def on_train_end(self, trainer, module):
        if trainer.global_step >= trainer.max_steps:
            digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in module.parameters()))
            self.say("weights %s" % digest.hexdigest())

    def say(self, line):
        with open(self.path, "a") as file:
            file.write(line + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--trace", required=True)
    parser.add_argument("--resume")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("lightning").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    trainer = Trainer(
        max_steps=chosen.steps, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
        enable_checkpointing=False, enable_model_summary=False,
        callbacks=[Trace(chosen.trace), LowtideCallback(every=0)],
    )
    loader = torch.utils.data.DataLoader(Data(), batch_size=1000, shuffle=False)
    trainer.fit(Model(), loader, ckpt_path=chosen.resume)


if __name__ == "__main__":
    main()
