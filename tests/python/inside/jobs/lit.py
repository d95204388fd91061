"""Lightning: epochs, max_steps, accumulation, validation inside training, without its bar."""

import sys

import torch
from tiny import Rows, Tiny, Truth, ceil

import lightning

EXAMPLES, BATCH = 50, 2


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = Tiny()

    def training_step(self, batch, _index):
        return self.model(**batch)["loss"]

    def validation_step(self, batch, _index):
        self.model(**batch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


class Own(lightning.Callback):
    """Writes the log; an optimizer step is what the accumulation leaves of the batches."""

    def __init__(self, accumulate, total, epoch):
        self.truth, self.accumulate = Truth(), accumulate
        self.batches, self.done, self.length = 0, 0, epoch
        self.truth.counter("optimizer", total=total, epoch=epoch)

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.batches += 1
        inside = batch_idx + 1
        if inside % self.accumulate == 0 or inside == ceil(EXAMPLES, BATCH):
            self.done += 1
            self.truth.step("optimizer", self.done)
            self.truth.epoch(self.done / self.length)

    def on_validation_start(self, *_):
        self.truth.phase("eval")

    def on_validation_end(self, *_):
        self.truth.phase("train")


def main(kind):
    given = {
        "epochs": {"max_epochs": 40},
        "max_steps": {"max_steps": 500},
        "accumulate": {"max_epochs": 80, "accumulate_grad_batches": 4},
        "validate": {"max_epochs": 40, "val_check_interval": 10},
        "bar": {"max_epochs": 40, "enable_progress_bar": True},
    }[kind]
    epoch = ceil(ceil(EXAMPLES, BATCH), given.get("accumulate_grad_batches", 1))
    trainer = lightning.Trainer(**{
        "accelerator": "cpu", "logger": False, "enable_checkpointing": False, "enable_progress_bar": False,
        "enable_model_summary": False, "num_sanity_val_steps": 0, **given,
        "callbacks": [Own(given.get("accumulate_grad_batches", 1), given.get("max_steps") or epoch * given["max_epochs"], epoch)],
    })
    loader = torch.utils.data.DataLoader(Rows(EXAMPLES), batch_size=BATCH)
    validation = torch.utils.data.DataLoader(Rows(8), batch_size=BATCH) if kind == "validate" else None
    trainer.fit(Module(), loader, validation)


if __name__ == "__main__":
    main(sys.argv[1])
