"""Leaks on demand, each of a known size, for `--leak`. Nothing of this belongs in a real script.

Each leak counts what it keeps, and `train.py` prints at the end how much that was in each step,
so that a verdict's rate can be compared with the truth.
"""

import ctypes
import os

import torch
from data import OnDemand
from collate import Collator
from transformers import Trainer, TrainerCallback

NAMES = ("collator", "list", "graph", "graph-aux", "native", "log-history", "recompile", "worker")

NATIVE_BYTES = 8_000_000
NATIVE_PIECE = 50_000
# A list of floats: 8 bytes for each place, and 32 for each number (24, rounded up by the allocator).
HISTORY_NUMBERS = 100_000
HISTORY_BYTES = HISTORY_NUMBERS * (8 + 32)
WORKER_BYTES = 1_000_000
# The auxiliary metric looks at the last tokens only: the size of its graph is then the same in
# every step.
AUX_TOKENS = 32
RECOMPILES_A_STEP = 3

# Where the leaks end up. A module's list lives as long as the process.
KEPT = []


class Count:
    """Bytes kept since the training began."""

    def __init__(self):
        self.bytes = 0

    def add(self, amount):
        self.bytes += amount


class LeakyCollator(Collator):
    """Remembers each decoded picture, "for debugging"."""

    def __init__(self, processor, count):
        super().__init__(processor)
        self.count = count
        self.seen = []

    def __call__(self, rows):
        batch = super().__call__(rows)
        for row in rows:
            picture = row["image"]
            picture.load()
            self.seen.append(picture)
            self.count.add(picture.width * picture.height * 4)
        return batch


class LeakyWorkerData(OnDemand):
    """Leaks in whichever process reads it: with workers, the trainer stays flat."""

    def __getitem__(self, index):
        KEPT.append(os.urandom(1) * WORKER_BYTES)
        return super().__getitem__(index)


class LeakyTrainer(Trainer):
    """The leaks that sit in the loss: graphs and processed tensors."""

    def __init__(self, *args, leak=None, count=None, **options):
        super().__init__(*args, **options)
        self.leak, self.count = leak, count
        self.total = 0.0

    def compute_loss(self, model, inputs, return_outputs=False, **options):
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **options)
        if model.training:
            if self.leak == "graph":
                self.total = self.total + loss
            elif self.leak == "graph-aux":
                self.keep_metric(outputs.logits)
            elif self.leak == "list":
                KEPT.append(inputs["pixel_values"])
                self.count.add(inputs["pixel_values"].untyped_storage().nbytes())
        return (loss, outputs) if return_outputs else loss

    def keep_metric(self, logits):
        """The entropy of the last tokens, with all that its graph saved for a backward that never comes."""
        saved = {}

        def pack(tensor):
            saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        # A copy first: a view would keep the whole of the logits.
        tail = logits[:, -AUX_TOKENS:, :].clone()
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            chances = tail.log_softmax(-1)
            KEPT.append(-(chances.exp() * chances).sum(-1).mean())
        self.count.add(sum(saved.values()))


class StepLeak(TrainerCallback):
    """The leaks that happen once a step."""

    def __init__(self, leak, count):
        self.leak, self.count = leak, count
        self.libc = ctypes.CDLL(None)
        self.libc.malloc.restype = ctypes.c_void_p
        self.width = 8

    def on_step_end(self, args, state, control, **kwargs):
        if self.leak == "native":
            for _ in range(NATIVE_BYTES // NATIVE_PIECE):
                piece = self.libc.malloc(ctypes.c_size_t(NATIVE_PIECE))
                ctypes.memset(piece, 1, NATIVE_PIECE)
            self.count.add(NATIVE_BYTES)
        elif self.leak == "recompile":
            self.recompile()

    def on_log(self, args, state, control, logs=None, **kwargs):
        if self.leak == "log-history" and state.log_history and "loss" in (logs or {}):
            state.log_history[-1]["token_losses"] = [number / 7 for number in range(HISTORY_NUMBERS)]
            self.count.add(HISTORY_BYTES)

    def recompile(self):
        """A function compiled for one shape after the other: each leaves its code and guards."""
        torch._dynamo.config.cache_size_limit = torch._dynamo.config.accumulated_cache_size_limit = 1_000_000
        for _ in range(RECOMPILES_A_STEP):
            self.width += 1
            _compiled()(torch.ones(2, self.width), torch.ones(self.width, 3)).sum()


_COMPILED = []


def _compiled():
    if not _COMPILED:
        def block(left, right):
            for _ in range(20):
                left = torch.tanh(left * 1.5) + left.sin()
            return left @ right

        _COMPILED.append(torch.compile(block, dynamic=False, backend="aot_eager"))
    return _COMPILED[0]
