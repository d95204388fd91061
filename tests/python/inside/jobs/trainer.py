"""transformers' Trainer, and TRL's SFTTrainer: epochs, max_steps, accumulation with a remainder, evaluation, no bars."""

import sys

from tiny import Rows, Tiny, Truth, ceil
from transformers import Trainer, TrainerCallback, TrainingArguments

EXAMPLES, BATCH = 50, 2


class Own(TrainerCallback):
    """Writes the log, and changes nothing."""

    def __init__(self, truth, total, epoch):
        self.truth, self.total, self.length, self.done = truth, total, epoch, 0

    def on_train_begin(self, args, state, control, **_):
        self.done = state.global_step
        self.truth.counter("optimizer", total=self.total, epoch=self.length, start=self.done, anew=True)

    def on_step_end(self, args, state, control, **_):
        # Counted by ourselves: what is checked must not come from what is read.
        self.done += 1
        self.truth.step("optimizer", self.done)
        self.truth.epoch(self.done / self.length)

    def on_epoch_begin(self, args, state, control, **_):
        self.truth.phase("train")

    def on_train_end(self, args, state, control, **_):
        self.truth.end("optimizer")

    def on_prediction_step(self, args, state, control, **_):
        self.truth.phase("eval")

    def on_evaluate(self, args, state, control, **_):
        self.truth.phase("train")


def arguments(kind, **more):
    given = {
        "epochs": {"num_train_epochs": 40},
        "max_steps": {"max_steps": 500},
        "accumulate": {"num_train_epochs": 80, "gradient_accumulation_steps": 4},
        "evaluate": {"num_train_epochs": 40, "eval_strategy": "steps", "eval_steps": 20},
        "no_bar": {"num_train_epochs": 40, "disable_tqdm": True},
    }[kind]
    return {
        "output_dir": "/nonexistent", "per_device_train_batch_size": BATCH, "report_to": [], "save_strategy": "no",
        "use_cpu": True, "dataloader_num_workers": 0, "logging_steps": 1000, **given, **more,
    }


def lengths(given):
    batches = ceil(EXAMPLES, BATCH)
    # The last batches of an epoch that do not fill an accumulation are a step of their own.
    epoch = ceil(batches, given.get("gradient_accumulation_steps", 1))
    return given.get("max_steps") or epoch * given["num_train_epochs"], epoch


def plain(kind):
    given = arguments(kind)
    trainer = Trainer(
        model=Tiny(), args=TrainingArguments(**given), train_dataset=Rows(EXAMPLES), eval_dataset=Rows(6),
        callbacks=[Own(Truth(), *lengths(given))],
    )
    trainer.train()


def sft(kind):
    import torch
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
    from trl import SFTConfig, SFTTrainer
    import time
    from tiny import PAUSE

    words = Tokenizer(models.WordLevel({"a": 0, "b": 1, "<eos>": 2}, unk_token="a"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>", pad_token="<eos>", unk_token="a")
    model = GPT2LMHeadModel(GPT2Config(vocab_size=3, n_positions=16, n_embd=8, n_layer=1, n_head=1,
                                       bos_token_id=2, eos_token_id=2, pad_token_id=2))
    model.register_forward_pre_hook(lambda *_: time.sleep(PAUSE))
    torch.set_num_threads(1)
    given = arguments(kind)
    trainer = SFTTrainer(
        model=model, args=SFTConfig(max_length=8, bf16=False, **given), processing_class=tokenizer,
        train_dataset=Dataset.from_dict({"text": ["a b a b"] * EXAMPLES}),
        eval_dataset=Dataset.from_dict({"text": ["a b"] * 6}),
        callbacks=[Own(Truth(), *lengths(given))],
    )
    trainer.train()


if __name__ == "__main__":
    {"plain": plain, "sft": sft}[sys.argv[1]](sys.argv[2])
