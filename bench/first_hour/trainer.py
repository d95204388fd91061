"""A Trainer job that keeps nothing: its memory is flat after the start."""

import argparse
import tempfile
import time

import torch
from data import arguments, loader
from torch import nn
from torch.nn import functional
from tqdm import tqdm
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback


class Network(nn.Module):
    def __init__(self, pause):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 128), nn.ReLU(), nn.Linear(128, 10))
        self.pause = pause

    def forward(self, pictures, labels):
        time.sleep(self.pause)
        scores = self.layers(pictures)
        return {"loss": functional.cross_entropy(scores, labels), "logits": scores}


def collate(rows):
    return {
        "pictures": torch.stack([picture for picture, _ in rows]),
        "labels": torch.tensor([label for _, label in rows]),
    }


class EpochBar(TrainerCallback):
    def on_train_begin(self, args, state, control, **_):
        self.bar = tqdm(total=int(args.num_train_epochs), desc="epochs")

    def on_epoch_end(self, args, state, control, **_):
        self.bar.update()


def main():
    args = arguments(argparse.ArgumentParser(), epochs=60)
    torch.set_num_threads(1)
    batches = loader(args)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=Network(args.pause),
            args=TrainingArguments(
                output_dir=folder,
                num_train_epochs=args.epochs,
                per_device_train_batch_size=args.batch,
                dataloader_num_workers=batches.num_workers,
                dataloader_persistent_workers=batches.num_workers > 0,
                dataloader_drop_last=True,
                logging_steps=10,
                save_strategy="no",
                report_to=[],
                disable_tqdm=args.epoch_bar,
                use_cpu=True,
            ),
            train_dataset=batches.dataset,
            data_collator=collate,
            callbacks=[EpochBar()] if args.epoch_bar else [],
        )
        if args.epoch_bar:
            trainer.remove_callback(PrinterCallback)
        trainer.train()


if __name__ == "__main__":
    main()
