"""Programs with transformers or torch that are hard to read: Trainers made twice, resumed, loaded, subclassed, in threads.

They last half a minute: the first pass over half a million objects takes its time, and what comes after it counts.
"""

import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "jobs"))
from tiny import Rows, Tiny, Truth, training  # noqa: E402
from trainer import Own, arguments  # noqa: E402

import torch  # noqa: E402
from transformers import Trainer, TrainerState, TrainingArguments  # noqa: E402

PAUSE = 0.03
# An epoch of 25 steps.
EXAMPLES, LENGTH = 50, 25


def make(truth, steps, **more):
    given = {**arguments("max_steps"), "max_steps": steps, **more}
    return Trainer(
        model=Tiny(PAUSE), args=TrainingArguments(**given), train_dataset=Rows(EXAMPLES), eval_dataset=Rows(60),
        callbacks=[Own(truth, steps, LENGTH)],
    )


def made_twice(truth):
    for steps in (260, 370):
        make(truth, steps).train()


def kept(truth):
    """As a search for hyper-parameters: every trial has a Trainer, and all are kept."""
    trials = []
    for steps in (160, 270, 210):
        trials.append(make(truth, steps))
        trials[-1].train()


def trained_twice(truth):
    trainer = make(truth, 320)
    trainer.train()
    trainer.train()


def resumed(truth):
    with tempfile.TemporaryDirectory() as folder:
        first = make(truth, 40, save_strategy="steps", save_steps=40, output_dir=folder)
        first.train()
        make(truth, 640, output_dir=folder).train(resume_from_checkpoint=folder + "/checkpoint-40")


def loaded(truth):
    """A state that was loaded from a file, to be looked at: it is no loop. A bar counts."""
    from tqdm import tqdm

    with tempfile.TemporaryDirectory() as folder:
        TrainerState(global_step=1234, max_steps=5000, epoch=2.5, num_train_epochs=10).save_to_json(folder + "/s.json")
        state = TrainerState.load_from_json(folder + "/s.json")
    truth.counter("batch", total=750, ahead=1)
    train = training(Tiny(PAUSE))
    bar = tqdm(range(750))
    for done in bar:
        truth.shown("batch", bar.n)
        train(torch.ones(2, 4))
        truth.step("batch", done + 1)
    return state


def only_loaded(truth):
    """A state from a file, and a program that works on without any loop that counts."""
    state = TrainerState(global_step=1234, max_steps=5000, epoch=2.5, num_train_epochs=10)
    truth.counter("own", total=750)
    for done in range(750):
        time.sleep(PAUSE)
        truth.step("own", done + 1)
    return state


class Mine(TrainerState):
    pass


def subclass(truth):
    """A loop by hand that keeps its place in a subclass of TrainerState."""
    state = Mine(max_steps=750, num_train_epochs=30)
    truth.counter("optimizer", total=750, epoch=25)
    for done in range(1, 751):
        time.sleep(PAUSE)
        state.global_step = done
        state.epoch = done / 25
        truth.step("optimizer", done)


def thread(truth):
    """The Trainer runs in a thread, and the first one evaluates beside it with a loader of its own."""
    trainer = make(truth, 640)
    runs = threading.Thread(target=trainer.train)
    runs.start()
    truth.counter("scored", ahead=1, standing="wrong")
    model, scored = Tiny(0.02).eval(), 0
    while runs.is_alive():
        for batch in torch.utils.data.DataLoader(Rows(40), batch_size=2):
            model(**batch)
            scored += 1
            truth.step("scored", scored)


def two_trainers(truth):
    """Two at once, in threads: either may be told, but not now one and now the other."""

    class Named(Own):
        def __init__(self, name, total):
            super().__init__(truth, total, LENGTH)
            self.name = name

        def on_train_begin(self, args, state, control, **_):
            truth.counter(self.name, total=self.total, epoch=self.length)

        def on_step_end(self, args, state, control, **_):
            self.done += 1
            truth.step(self.name, self.done)

        def on_train_end(self, args, state, control, **_):
            truth.end(self.name)

    def one(name, steps, pause):
        given = {**arguments("max_steps"), "max_steps": steps, "disable_tqdm": True}
        Trainer(model=Tiny(pause), args=TrainingArguments(**given), train_dataset=Rows(EXAMPLES),
                callbacks=[Named(name, steps)]).train()

    threads = [threading.Thread(target=one, args=given) for given in (("left", 500, 0.04), ("right", 340, 0.065))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def evaluates(truth):
    """Evaluates first, for some seconds, and then trains with evaluations in between."""
    trainer = make(truth, 400, eval_strategy="steps", eval_steps=30)
    truth.counter("before", standing="wrong", ahead=1)
    trainer.evaluate(eval_dataset=Rows(500))
    truth.end("before")
    trainer.train()


def two_loaders(truth):
    """By hand, without a bar: a loader to train and one to validate, in turns."""
    model = Tiny(PAUSE)
    train = training(model)
    first = torch.utils.data.DataLoader(Rows(EXAMPLES), batch_size=2, shuffle=True)
    second = torch.utils.data.DataLoader(Rows(36), batch_size=2)
    truth.counter("batch", total=LENGTH * 20, epoch=LENGTH, ahead=1, restarts=True)
    done = 0
    for _epoch in range(20):
        model.train()
        for batch in first:
            train(batch["x"])
            done += 1
            truth.step("batch", done)
        model.eval()
        truth.phase("eval")
        truth.counter("validation", total=18, ahead=1, standing="wrong")
        for number, batch in enumerate(second):
            model(**batch)
            truth.step("validation", number + 1)
        truth.end("validation")
        truth.phase("train")


def gan(truth):
    """Two models, two optimizers, one loader: a step is a batch."""
    critic, maker = training(Tiny(PAUSE / 2)), training(Tiny(PAUSE / 2))
    loader = torch.utils.data.DataLoader(Rows(EXAMPLES), batch_size=2)
    truth.counter("batch", total=LENGTH * 28, epoch=LENGTH, ahead=1, restarts=True)
    done = 0
    for _epoch in range(28):
        for batch in loader:
            critic(batch["x"])
            maker(batch["x"])
            done += 1
            truth.step("batch", done)


def only_reads(truth):
    """Goes through a loader to compute a mean, trains nothing: no one can tell, but the number is that of batches."""
    truth.counter("batch", epoch=LENGTH * 30, ahead=1, standing="doubtful")
    for done, batch in enumerate(torch.utils.data.DataLoader(Rows(EXAMPLES * 30), batch_size=2)):
        time.sleep(PAUSE)
        truth.step("batch", done + 1)


KINDS = {
    "made_twice": made_twice, "kept": kept, "trained_twice": trained_twice, "resumed": resumed, "loaded": loaded,
    "only_loaded": only_loaded, "subclass": subclass, "thread": thread, "two_trainers": two_trainers,
    "evaluates": evaluates, "two_loaders": two_loaders, "gan": gan, "only_reads": only_reads,
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](Truth())
