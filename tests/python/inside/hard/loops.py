"""Programs with bars that are hard to read: several loops, bars that are no steps, decoys, and ends in the middle.

Nothing but the standard library and tqdm. Each ends by itself after some ten seconds.
"""

import gc
import os
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tqdm import tqdm  # noqa: E402
from truth import Truth  # noqa: E402

PAUSE = 0.035
# Most programs make so many steps, in epochs of so many.
STEPS, LENGTH = 300, 50


def counted(truth, name, bar, start=0, pause=PAUSE, before=0):
    """Goes through a bar, and logs what it holds and what is done; `before` are the steps of earlier epochs."""
    done = before + start
    for _ in bar:
        truth.shown(name, before + bar.n)
        time.sleep(pause)
        done += 1
        truth.step(name, done)
    return done


def two_threads(truth):
    """Two loops at the same time: either may be told, but not now one and now the other."""

    def loop(name, total, pause):
        truth.counter(name, total=total, ahead=1)
        counted(truth, name, tqdm(range(total), desc=name), pause=pause)
        truth.end(name)

    threads = [threading.Thread(target=loop, args=given) for given in (("left", 250, 0.04), ("right", 700, 0.014))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def one_after_another(truth):
    """Two trainings of different lengths. Without a word on the bars they might be epochs that differ."""
    for total in (120, 170):
        truth.counter("batch", total=total, ahead=1)
        counted(truth, "batch", tqdm(range(total)))
        truth.end("batch")


def gan(truth):
    """Two bars that are updated in turns, one five times as often."""
    truth.counter("critic", total=STEPS * 5)
    truth.counter("generator", total=STEPS)
    critic, generator = tqdm(total=STEPS * 5, desc="D"), tqdm(total=STEPS, desc="G")
    for done in range(1, STEPS + 1):
        for part in range(1, 6):
            time.sleep(PAUSE / 6)
            critic.update()
            truth.step("critic", (done - 1) * 5 + part, shown=critic.n)
        time.sleep(PAUSE / 6)
        generator.update()
        truth.step("generator", done, shown=generator.n)


def remade(truth, desc=None, explicit=False):
    """A bar for every epoch; nothing but its description could tell which epoch it is."""
    truth.counter("batch", total=STEPS, epoch=LENGTH, ahead=1, restarts=True, looks_like=None if desc else LENGTH)
    done = 0
    for epoch in range(STEPS // LENGTH):
        if explicit:
            bar = tqdm(total=LENGTH, desc=desc and desc % (epoch + 1))
            for _ in range(LENGTH):
                time.sleep(PAUSE)
                bar.update(1)
                done += 1
                truth.step("batch", done, shown=epoch * LENGTH + bar.n)
            bar.close()
        else:
            done = counted(truth, "batch", tqdm(range(LENGTH), desc=desc and desc % (epoch + 1)), before=done)


def nested(truth, inner_disabled=False):
    truth.counter("batch", total=STEPS, epoch=LENGTH, ahead=1, restarts=inner_disabled)
    truth.counter("epochs", total=STEPS // LENGTH, ahead=1, standing="wrong")
    done = 0
    for epoch in tqdm(range(STEPS // LENGTH), desc="Epoch"):
        if inner_disabled:
            for _ in tqdm(range(LENGTH), disable=True):
                time.sleep(PAUSE)
                done += 1
                truth.step("batch", done)
        else:
            done = counted(truth, "batch", tqdm(range(LENGTH), leave=False), before=done)
        truth.step("epochs", epoch + 1)


def disabled(truth):
    """A disabled bar counts nothing: its n stays what it was."""
    truth.counter("batch", total=STEPS, ahead=1)
    with tqdm(total=STEPS, disable=True) as bar:
        for done in range(STEPS):
            time.sleep(PAUSE)
            bar.update(1)
            truth.step("batch", done + 1)


def evaluated(truth):
    """Evaluations with a bar of their own inside one bar over all steps."""
    truth.counter("batch", total=STEPS)
    bar = tqdm(total=STEPS, desc="Training")
    for done in range(1, STEPS + 1):
        time.sleep(PAUSE)
        bar.update(1)
        truth.step("batch", done, shown=bar.n)
        if done % 60 == 0:
            truth.counter("evaluation", total=40, ahead=1, standing="wrong")
            counted(truth, "evaluation", tqdm(range(40), desc="Evaluating", leave=False), pause=0.02)
            truth.end("evaluation")


def evaluated_each_epoch(truth):
    """A bar for the training and one for the evaluation of every epoch: no bar lasts."""
    truth.counter("batch", total=STEPS, epoch=LENGTH, ahead=1, restarts=True)
    done = 0
    for epoch in range(STEPS // LENGTH):
        done = counted(truth, "batch", tqdm(range(LENGTH), desc="Train %d" % epoch), before=done)
        truth.counter("evaluation", total=30, ahead=1, standing="wrong")
        counted(truth, "evaluation", tqdm(range(30), desc="Validation"), pause=0.02)
        truth.end("evaluation")


def prepared(truth):
    """Data is prepared before the training, with a bar that says what it counts."""
    truth.counter("map", total=4000, ahead=1, standing="wrong")
    counted(truth, "map", tqdm(range(4000), desc="Map", unit=" examples"), pause=0.001)
    truth.end("map")
    truth.counter("batch", total=200, ahead=1)
    counted(truth, "batch", tqdm(range(200), desc="Training"))


def downloaded(truth, trains=True):
    """Bytes that come in, beside a training or alone."""
    size = 400_000_000
    truth.counter("bytes", total=size, standing="wrong")
    stop = threading.Event()

    def download():
        bar, got = tqdm(total=size, unit="B", unit_scale=True, unit_divisor=1024, desc="model.safetensors"), 0
        while got < size and not stop.is_set():
            time.sleep(0.02)
            bar.update(700_000)
            got += 700_000
            truth.step("bytes", got, shown=bar.n)

    thread = threading.Thread(target=download)
    thread.start()
    if trains:
        truth.counter("batch", total=STEPS, ahead=1)
        counted(truth, "batch", tqdm(range(STEPS)))
        stop.set()
    thread.join()


def examples(truth, **more):
    """The bar counts examples, eight a step."""
    truth.counter("batch", total=STEPS)
    truth.counter("examples", total=STEPS * 8, standing="wrong")
    bar = tqdm(total=STEPS * 8, **more)
    for done in range(1, STEPS + 1):
        time.sleep(PAUSE)
        bar.update(8)
        truth.step("batch", done)
        truth.step("examples", done * 8, shown=bar.n)


def resumed(truth):
    truth.counter("batch", total=5000, ahead=1, start=4700)
    counted(truth, "batch", tqdm(range(300), initial=4700, total=5000), start=4700)


def decoys(truth):
    """Classes of the same names in other modules, which count something else."""
    other = type(sys)("other")
    exec(
        "class tqdm:\n    def __init__(self):\n        self.n, self.total, self.disable = 0, 77777, False\n"
        "class TrainerState:\n    def __init__(self):\n"
        "        self.global_step, self.max_steps, self.epoch, self.num_train_epochs = 0, 99999, 0.0, 3\n",
        other.__dict__,
    )
    bar_like, state_like = other.tqdm(), other.TrainerState()
    truth.counter("bar-like", total=77777, standing="wrong")
    truth.counter("state-like", total=99999, standing="wrong")
    truth.counter("batch", total=STEPS)
    bar = tqdm(total=STEPS)
    for done in range(1, STEPS + 1):
        time.sleep(PAUSE)
        bar_like.n += 3
        state_like.global_step += 2
        bar.update()
        truth.step("batch", done, shown=bar.n)
        truth.step("bar-like", bar_like.n)
        truth.step("state-like", state_like.global_step)


def only_decoys(truth):
    """No bar at all: what looks like one is of another module, named as the real one is."""
    made = type("tqdm", (), {"__module__": "tqdm.std"})()
    made.n, made.total, made.disable, made.desc = 0, 5000, False, "x"
    truth.counter("bar-like", total=5000, standing="doubtful")
    for done in range(1, STEPS + 1):
        time.sleep(PAUSE)
        made.n = done * 7
        truth.step("bar-like", made.n)


def collected(truth):
    """Threads that make cycles and collect them, as fast as they can, beside the loop."""
    stop = threading.Event()

    def hammer():
        while not stop.is_set():
            kept = []
            for _ in range(300):
                one = {"n": 3, "total": 9}
                one["self"] = [one]
                kept.append(one)
            gc.collect(0)
            time.sleep(0.004)

    threads = [threading.Thread(target=hammer) for _ in range(2)]
    for thread in threads:
        thread.start()
    truth.counter("batch", total=STEPS, ahead=1)
    counted(truth, "batch", tqdm(range(STEPS)))
    stop.set()


def dies(truth):
    truth.counter("batch", total=1000, ahead=1)
    for done in tqdm(range(1000)):
        time.sleep(PAUSE)
        truth.step("batch", done + 1)
        if done == 220:
            os.kill(os.getpid(), signal.SIGKILL)


def becomes(truth):
    """Becomes another program in the middle, which has no bar."""
    truth.counter("batch", total=1000, ahead=1)
    for done in tqdm(range(1000)):
        time.sleep(PAUSE)
        truth.step("batch", done + 1)
        if done == 140:
            truth.end("batch")
            os.execv(sys.executable, [sys.executable, "-c", "import time\nfor _ in range(100): time.sleep(0.05)"])


def becomes_itself(truth):
    """Becomes the same program once more, with another loop, in the same process."""
    truth.counter("batch", total=1000, ahead=1)
    for done in tqdm(range(1000)):
        time.sleep(PAUSE)
        truth.step("batch", done + 1)
        if done == 140:
            truth.end("batch")
            os.execv(sys.executable, [sys.executable, "-W", "ignore", __file__, "resumed"])


def many_bars(truth):
    """A hundred closed bars that are kept, and one that runs."""
    kept = []
    for number in range(100):
        bar = tqdm(total=number + 5)
        bar.update(number)
        bar.close()
        kept.append(bar)
    truth.counter("batch", total=STEPS, ahead=1)
    counted(truth, "batch", tqdm(range(STEPS)))


def pauses(truth):
    """Stands still for two seconds now and then, as a save does."""
    truth.counter("batch", total=STEPS)
    bar = tqdm(total=STEPS)
    for done in range(1, STEPS + 1):
        time.sleep(2 if done % 100 == 0 else PAUSE)
        bar.update()
        truth.step("batch", done, shown=bar.n)


def reset(truth):
    """One bar that is set back at every epoch by reset()."""
    truth.counter("batch", total=STEPS, epoch=LENGTH, restarts=True, looks_like=LENGTH)
    bar, done = tqdm(total=LENGTH), 0
    for epoch in range(STEPS // LENGTH):
        bar.reset()
        for _ in range(LENGTH):
            time.sleep(PAUSE)
            bar.update()
            done += 1
            truth.step("batch", done, shown=epoch * LENGTH + bar.n)


def uneven(truth):
    """Bars of different lengths without a description: epochs that differ, or a training each."""
    for length in (40, 70, 30, 55, 65, 40):
        truth.counter("batch", ahead=1, looks_like=length)
        counted(truth, "batch", tqdm(range(length)))
        truth.end("batch")


def frozen(truth):
    """Everything is moved out of the collector's sight after the bar was made, as some do before they fork."""
    truth.counter("batch", total=STEPS, ahead=1)
    bar = tqdm(range(STEPS))
    gc.freeze()
    gc.disable()
    counted(truth, "batch", bar)


def own_class(truth):
    """A bar of a class of our own, with one more counter that is none."""

    class Bar(tqdm):
        def update(self, n=1):
            self.global_step = getattr(self, "global_step", 0) + 5
            return super().update(n)

    truth.counter("batch", total=STEPS)
    bar = Bar(total=STEPS)
    for done in range(1, STEPS + 1):
        time.sleep(PAUSE)
        bar.update()
        truth.step("batch", done, shown=bar.n)


def three_levels(truth):
    """Folds, epochs, batches: a bar each. All batches count; those of a fold alone might be meant, too."""
    folds, epochs, length = 3, 3, 30
    truth.counter("batch", total=folds * epochs * length, epoch=length, ahead=1)
    truth.counter("epochs", total=epochs, ahead=1, standing="wrong")
    done = 0
    for _fold in tqdm(range(folds), desc="Fold"):
        truth.counter("of-a-fold", total=epochs * length, epoch=length, ahead=1, anew=True, standing="doubtful")
        inside = 0
        for _epoch in tqdm(range(epochs), desc="Epoch", leave=False):
            bar = tqdm(range(length), leave=False)
            begun = done, inside
            for _ in bar:
                truth.shown("batch", begun[0] + bar.n)
                truth.shown("of-a-fold", begun[1] + bar.n)
                time.sleep(PAUSE)
                done, inside = done + 1, inside + 1
                truth.step("batch", done)
                truth.step("of-a-fold", inside)


def float_total(truth):
    """`total=1e6`, as people write it."""
    truth.counter("batch", total=STEPS)
    bar = tqdm(total=float(STEPS))
    for done in range(1, STEPS + 1):
        time.sleep(PAUSE)
        bar.update()
        truth.step("batch", done, shown=bar.n)


def float_count(truth):
    """A bar that counts epochs in fractions."""
    truth.counter("batch", total=STEPS, epoch=LENGTH)
    bar = tqdm(total=STEPS / LENGTH, unit="epoch")
    for done in range(1, STEPS + 1):
        time.sleep(PAUSE)
        bar.update(1 / LENGTH)
        truth.step("batch", done)


def auto(truth):
    """The bar that libraries use."""
    from tqdm.auto import tqdm as other

    truth.counter("batch", total=STEPS, ahead=1)
    counted(truth, "batch", other(range(STEPS)))


KINDS = {
    "frozen": frozen,
    "own_class": own_class,
    "three_levels": three_levels,
    "float_total": float_total,
    "float_count": float_count,
    "auto": auto,
    "two_threads": two_threads,
    "one_after_another": one_after_another,
    "gan": gan,
    "remade": remade,
    "remade_described": lambda truth: remade(truth, "Epoch %d"),
    "remade_of": lambda truth: remade(truth, "Epoch %d/6"),
    "remade_update": lambda truth: remade(truth, None, True),
    "nested": nested,
    "nested_disabled": lambda truth: nested(truth, True),
    "disabled": disabled,
    "evaluated": evaluated,
    "evaluated_each_epoch": evaluated_each_epoch,
    "prepared": prepared,
    "downloaded": downloaded,
    "only_downloaded": lambda truth: downloaded(truth, False),
    "examples": examples,
    "examples_unit": lambda truth: examples(truth, unit="ex"),
    "resumed": resumed,
    "decoys": decoys,
    "only_decoys": only_decoys,
    "collected": collected,
    "dies": dies,
    "becomes": becomes,
    "becomes_itself": becomes_itself,
    "many_bars": many_bars,
    "pauses": pauses,
    "reset": reset,
    "uneven": uneven,
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](Truth())
