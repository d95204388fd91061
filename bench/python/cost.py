"""What the package costs the loop: marks without and with a watcher, the callback's step, a Trainer.

    PYTHONPATH=python python bench/python/cost.py [--trainer]

Arms are interleaved, so that a busy machine slows them alike; the interval is the 95 % bootstrap
of the median difference.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lowtide
from lowtide import _marks


def each(function, count):
    # CPU time: none of the calls waits, and on a busy machine the clock would count the others.
    start = time.process_time()
    for number in range(count):
        function(number)
    return (time.process_time() - start) / count


def interval(values):
    draws = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), draws[50], draws[1949]


def show(name, values, unit=1e6, suffix="us"):
    middle, low, high = (unit * value for value in interval(values))
    print("%-44s %9.3f %s  [%.3f, %.3f]" % (name, middle, suffix, low, high))


def marks():
    rounds = [each(lambda n: lowtide.mark(step=n), 100_000) for _ in range(15)]
    show("mark, no watcher", rounds)
    show("guard, no watcher", [each(lambda n: lowtide.guard(), 100_000) for _ in range(15)])
    start = time.perf_counter()
    for number in range(10_000_000):
        lowtide.mark(step=number)
    print("%-44s %9.2f s" % ("10 million marks, no watcher", time.perf_counter() - start))


def watched():
    """With a watcher in a process of its own, that reads all."""
    reader = """
import sys; sys.path.insert(0, sys.argv[2])
from pathlib import Path; from watcher import Watcher
made = Watcher(Path(sys.argv[1])); print("ready", flush=True); sys.stdin.read()
"""
    tests = str(Path(__file__).resolve().parents[2] / "tests" / "python")
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "w")
        command = [sys.executable, "-c", reader, place, tests]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            os.environ["LOWTIDE_DIR"] = place
            _marks._after_fork()
            _marks.MIN_GAP_S = 0.0  # each mark is sent, as in a loop of slow steps
            show("mark, watched (sent)", [each(lambda n: lowtide.mark(step=n), 1000) for _ in range(15)])
            show("guard, watched", [each(lambda n: lowtide.guard(), 100_000) for _ in range(15)])
            show("callback, one step without counting", [callback_step() for _ in range(15)])
            process.stdin.close()
        del os.environ["LOWTIDE_DIR"]
        _marks._after_fork()


def callback_step(count=1000):
    """All events of one optimizer step with four substeps, as the Trainer calls them."""
    from types import SimpleNamespace

    from lowtide.hf import LowtideCallback

    callback = LowtideCallback(every=0, lines=False)
    state = SimpleNamespace(global_step=0, epoch=0.0, max_steps=count, is_world_process_zero=True)
    state = type("State", (), vars(state))()
    arguments = SimpleNamespace(train_batch_size=2, gradient_accumulation_steps=4, world_size=1)
    control = SimpleNamespace(should_evaluate=False, should_save=False, should_training_stop=False)
    callback.on_train_begin(arguments, state, control, train_dataloader=list(range(332)))

    def step(number):
        callback.on_step_begin(arguments, state, control)
        for _ in range(3):
            callback.on_substep_end(arguments, state, control)
        state.global_step = number + 1
        state.epoch = number / 83
        callback.on_step_end(arguments, state, control)

    cost = each(step, count)
    callback.on_train_end(arguments, state, control)
    return cost


def trainer(pairs=10):
    """The same short training with and without the callback, turn by turn."""
    import torch
    from transformers import Trainer, TrainingArguments

    from lowtide.hf import LowtideCallback

    torch.set_num_threads(1)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(6)))

        def forward(self, x=None, labels=None):
            return {"loss": (self.layers(x) - labels).square().mean()}

    rows = [{"x": torch.ones(256), "labels": torch.zeros(256)} for _ in range(800)]

    def run(callbacks):
        with tempfile.TemporaryDirectory() as out:
            arguments = TrainingArguments(
                out, per_device_train_batch_size=8, max_steps=100, report_to=[], use_cpu=True,
                save_strategy="no", disable_tqdm=True, logging_strategy="no", log_level="error",
            )
            job = Trainer(Net(), arguments, train_dataset=rows, callbacks=callbacks)
            start = time.perf_counter()
            job.train()
            return time.perf_counter() - start

    run([])
    differences, plain = [], []
    for _ in range(pairs):
        without = run([])
        differences.append((run([LowtideCallback(every=0, lines=False)]) - without) / 100)
        plain.append(without / 100)
    show("Trainer, one step without the callback", plain)
    show("Trainer, difference of the callback", differences)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trainer", action="store_true", help="also a real Trainer (needs transformers)")
    parser.add_argument("--only-trainer", action="store_true", help="nothing but the Trainer")
    chosen = parser.parse_args()
    if not chosen.only_trainer:
        marks()
        watched()
    if chosen.trainer or chosen.only_trainer:
        trainer()
