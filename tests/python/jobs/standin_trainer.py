"""Trains like transformers' Trainer, with the standard library alone: for interpreters that have no torch.

The classes lie in modules with the names of the real ones, with the real attributes, and count as the real ones do:
what reads them from outside finds no difference. The log is `inside/truth.py`'s, counted apart from the state.
"""

import argparse
import math
import sys
import time
import types

from truth import Truth

STATE = '''
from dataclasses import dataclass
from typing import Optional

@dataclass
class TrainerState:
    epoch: float = 0
    global_step: int = 0
    max_steps: int = 0
    logging_steps: int = 500
    eval_steps: int = 500
    save_steps: int = 500
    train_batch_size: Optional[int] = None
    num_train_epochs: int = 0
    num_input_tokens_seen: int = 0
    total_flos: float = 0
    log_history: Optional[list] = None
    best_metric: Optional[float] = None
    best_global_step: Optional[int] = None
    best_model_checkpoint: Optional[str] = None
    is_local_process_zero: bool = True
    is_world_process_zero: bool = True
    is_hyper_param_search: bool = False
    trial_name: Optional[str] = None
    trial_params: Optional[dict] = None
    stateful_callbacks: Optional[list] = None

    def __post_init__(self):
        if self.log_history is None:
            self.log_history = []
        if self.stateful_callbacks is None:
            self.stateful_callbacks = {}

@dataclass
class TrainerControl:
    should_training_stop: bool = False
    should_epoch_stop: bool = False
    should_save: bool = False
    should_evaluate: bool = False
    should_log: bool = False
'''

ARGUMENTS = '''
from dataclasses import dataclass

@dataclass
class TrainingArguments:
    output_dir: str = "trainer_output"
    per_device_train_batch_size: int = 8
    num_train_epochs: float = 3.0
    max_steps: int = -1
    learning_rate: float = 5e-5
    gradient_accumulation_steps: int = 1
    logging_steps: float = 500
    eval_steps: float = None
    save_steps: float = 500
    seed: int = 42
'''

TRAINER = '''
import math

from transformers.trainer_callback import TrainerControl, TrainerState

class Trainer:
    def __init__(self, args, batches, train, after_step, evaluate):
        self.args = args
        self.batches, self.train_batch, self.after_step, self.evaluate = batches, train, after_step, evaluate
        self.state, self.control = TrainerState(), TrainerControl()

    def train(self):
        args = self.args
        accumulate = args.gradient_accumulation_steps
        length = math.ceil(self.batches / accumulate)
        if args.max_steps > 0:
            max_steps, epochs = args.max_steps, math.ceil(args.max_steps / length)
        else:
            max_steps, epochs = math.ceil(args.num_train_epochs * length), math.ceil(args.num_train_epochs)
        # The real one begins every training with a state of its own, too.
        self.state = TrainerState(train_batch_size=args.per_device_train_batch_size)
        self.state.max_steps, self.state.num_train_epochs = max_steps, epochs
        for epoch in range(epochs):
            for step in range(self.batches):
                self.train_batch()
                if (step + 1) % accumulate and step + 1 != self.batches:
                    continue
                self.state.global_step += 1
                self.state.epoch = epoch + (step + 1) / self.batches
                self.after_step()
                if args.eval_steps and self.state.global_step % args.eval_steps == 0:
                    self.evaluate()
                if self.state.global_step >= max_steps:
                    return
'''


def module(name, source):
    made = types.ModuleType(name)
    sys.modules[name] = made
    exec(compile(source, name.replace(".", "/") + ".py", "exec"), made.__dict__)
    return made


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.05, help="of a batch")
    parser.add_argument("--steps", type=int, default=25, help="batches of an epoch")
    parser.add_argument("--epochs", type=float, default=100)
    parser.add_argument("--max-steps", type=int, default=-1)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--evaluate-every", type=int, help="in steps; it takes ten batches' time")
    parser.add_argument("--log", help="default: $INSIDE_LOG")
    return parser.parse_args()


def main():
    given = options()
    module("transformers", "")
    module("transformers.trainer_callback", STATE)
    arguments = module("transformers.training_args", ARGUMENTS).TrainingArguments(
        num_train_epochs=given.epochs, max_steps=given.max_steps, gradient_accumulation_steps=given.accumulate,
        eval_steps=given.evaluate_every,
    )
    truth = Truth(given.log)
    length = math.ceil(given.steps / given.accumulate)
    total = given.max_steps if given.max_steps > 0 else math.ceil(given.epochs * length)
    done = []

    def after_step():
        done.append(None)
        truth.step("optimizer", len(done))
        truth.epoch(len(done) / length)

    def evaluate():
        truth.phase("eval")
        time.sleep(10 * given.seconds)
        truth.phase("train")

    trainer = module("transformers.trainer", TRAINER).Trainer(
        arguments, given.steps, lambda: time.sleep(given.seconds), after_step, evaluate
    )
    truth.counter("optimizer", total=total, epoch=length)
    truth.phase("train")
    trainer.train()
    truth.end("optimizer")


if __name__ == "__main__":
    main()
