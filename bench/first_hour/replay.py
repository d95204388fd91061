"""A Lightning job with a replay buffer of 300 batches: it fills, and then holds what it holds."""

import argparse
import logging
import time
from collections import deque

import lightning
import torch
from data import arguments, loader
from lightning.pytorch.callbacks import Callback
from torch import nn
from torch.nn import functional
from tqdm import tqdm

HELD = 300


class Agent(lightning.LightningModule):
    def __init__(self, pause):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 64), nn.ReLU(), nn.Linear(64, 10))
        self.replay = deque(maxlen=HELD)
        self.pause = pause

    def training_step(self, batch, number):
        pictures, labels = batch
        self.replay.append((pictures.clone(), labels.clone()))
        past, targets = self.replay[torch.randint(len(self.replay), ()).item()]
        time.sleep(self.pause)
        return functional.cross_entropy(self.layers(pictures), labels) + functional.cross_entropy(
            self.layers(past), targets
        )

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


class EpochBar(Callback):
    def on_train_start(self, trainer, module):
        self.bar = tqdm(total=trainer.max_epochs, desc="epochs")

    def on_train_epoch_end(self, trainer, module):
        self.bar.update()


def main():
    args = arguments(argparse.ArgumentParser(), epochs=60)
    torch.set_num_threads(1)
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    trainer = lightning.Trainer(
        max_epochs=args.epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=not args.epoch_bar,
        callbacks=[EpochBar()] if args.epoch_bar else [],
    )
    trainer.fit(Agent(args.pause), loader(args))


if __name__ == "__main__":
    main()
