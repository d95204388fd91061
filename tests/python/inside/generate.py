"""Draws a program with loops and bars by a seed: `python generate.py SEED` prints it.

A program is put together of what real ones have: a preparation, one or two trainings of some kind (bars over all
steps, a bar an epoch, nested bars, a bar of examples, accumulation, a Trainer's state, a loader), evaluations,
pauses, threads beside it, objects that only look like loops, and a resumption. It logs what is true (`truth.py`).
The seed decides everything but the clock. Most need nothing but tqdm; every fourth trains with torch.
"""

import random
import re
import sys
from pathlib import Path
from textwrap import indent

HERE = Path(__file__).resolve().parent
# Seconds that the training takes, if a core is free.
LASTS = 7.0
# One with torch takes longer: a counter is held against what the optimizer does, for some seconds.
TRAINS = 16.0

HEADER = '''"""Seed {seed}: {about}."""
import gc, sys, threading, time
sys.path[:0] = [{here!r}, {standins!r}]
import random
from {tqdm} import tqdm, trange
from truth import Truth

truth = Truth()
chance = random.Random({seed})


def work():
    time.sleep({pause} * chance.uniform(*{jitter}))

'''

# What may run or lie beside a training.
BESIDE = {
    "kept bars": """
kept = []
for number in range(20):
    bar = tqdm(total=40)
    bar.update(number)
    bar.close()
    kept.append(bar)
""",
    "an abandoned bar": """
abandoned = tqdm(total=900, desc="old")
abandoned.update(333)
""",
    "classes of the same names": """
class TrainerState:
    global_step, max_steps, epoch, num_train_epochs = 0, 88888, 0.0, 2
    def __init__(self):
        self.global_step, self.max_steps = 0, 88888
class Bar:
    def __init__(self):
        self.n, self.total, self.disable, self.desc = 0, 66666, False, "fake"
Bar.__name__ = Bar.__qualname__ = "tqdm"
likes = TrainerState(), Bar()
truth.counter("likes", standing="wrong")
def count_likes():
    while True:
        time.sleep(0.013)
        likes[0].global_step += 1
        likes[1].n += 1
        truth.step("likes", likes[1].n)
threading.Thread(target=count_likes, daemon=True).start()
""",
    "a loaded state": """
from transformers.trainer_callback import TrainerState as Loaded
loaded = Loaded(global_step=4321, max_steps=9000, epoch=1.5, num_train_epochs=3)
""",
    "cycles": """
def hammer():
    while True:
        for _ in range(200):
            one = {"n": 1}
            one["one"] = [one]
        gc.collect(chance.choice((0, 0, 1)))
        time.sleep(0.01)
threading.Thread(target=hammer, daemon=True).start()
""",
    "a download": """
def download():
    got, bar = 0, tqdm(total=10**9, unit="B", unit_scale=True, desc="weights")
    truth.counter("bytes", total=10**9, standing="wrong")
    while got < 10**9:
        time.sleep(0.03)
        got += 262144
        bar.update(262144)
        truth.step("bytes", got, shown=bar.n)
threading.Thread(target=download, daemon=True).start()
""",
    "a heap": "heap = [[number] for number in range(100000)]\n",
    "disabled bars": """
off = [tqdm(total=50, disable=True) for _ in range(3)]
for bar in off:
    bar.update(7)
""",
}

PREPARATIONS = {
    "none": "",
    "a map": """
truth.counter("map", total=2500, ahead=1, standing="wrong")
for done in tqdm(range(2500), desc="Map", unit=" examples"):
    time.sleep(0.0005)
    truth.step("map", done + 1)
truth.end("map")
""",
    "tokenizing": """
truth.counter("map", total=300, ahead=1, standing="wrong")
for done in tqdm(range(300), desc="Tokenizing train dataset"):
    time.sleep(0.006)
    truth.step("map", done + 1)
truth.end("map")
""",
    # Nobody could tell this from a training.
    "a bare bar": """
truth.counter("map", total=150, ahead=1, standing="doubtful")
bar = tqdm(range(150))
for done in bar:
    truth.shown("map", bar.n)
    time.sleep(0.01)
    truth.step("map", done + 1)
truth.end("map")
""",
    "shards": """
truth.counter("map", total=12, ahead=1, standing="wrong")
for done in tqdm(range(12), desc="Loading checkpoint shards"):
    time.sleep(0.1)
    truth.step("map", done + 1)
truth.end("map")
""",
}

EVALUATE = '''
def evaluate():
    truth.phase("eval")
{body}
    truth.phase("train")

'''
EVALUATIONS = {
    "none": "    pass",
    "silent": "    time.sleep(0.4)",
    "a bar": """    truth.counter("evaluation", total={n}, ahead=1, standing="wrong")
    for done in tqdm(range({n}), desc={desc!r}, leave=False):
        time.sleep(0.012)
        truth.step("evaluation", done + 1)
    truth.end("evaluation")""",
}


def all_steps(draw, plan):
    """One bar over all steps, gone through or updated."""
    way = draw.choice(("iterated", "updated", "trange", "with", "set"))
    desc = draw.choice((None, "Training", "Steps", "train", "loss 0.31"))
    resumed = draw.choice((0, 0, 0, 4000))
    bar = "total={0} + {1}, initial={1}, desc={2!r}".format(plan.steps, resumed, desc)
    plan.about = "one bar (%s, %s)%s" % (way, desc, " resumed" if resumed else "")
    counter = 'truth.counter("batch", total={0} + {1}, start={1}, ahead=1)\n'.format(plan.steps, resumed)
    evaluate = "    if done % {0} == 0:\n        evaluate()\n".format(plan.length)
    if way in ("iterated", "trange"):
        made = "tqdm(range({0}), {1})" if way == "iterated" else "trange({0}, initial={2}, total={0} + {2})"
        return counter + (
            "done, bar = {3}, " + made + "\nfor _ in bar:\n"
            '    truth.shown("batch", bar.n)\n    work()\n    done += 1\n    truth.step("batch", done)\n' + evaluate
        ).format(plan.steps, bar, resumed, resumed)
    update = "bar.update()" if way != "set" else "bar.n = done\n    bar.refresh()"
    return counter + (
        "bar = tqdm({1})\nfor done in range({2} + 1, {2} + {0} + 1):\n    work()\n    {3}\n"
        '    truth.step("batch", done, shown=bar.n)\n' + evaluate
    ).format(plan.steps, bar, resumed, update) + "bar.close()\n"


def an_epoch(draw, plan):
    """A bar for every epoch, closed and made anew, or one that is set back."""
    way = draw.choice(("iterated", "updated", "reset"))
    desc = draw.choice((None, "Epoch %d", "Epoch %d/{0}".format(plan.epochs), "train", "epoch %d loss 1.25"))
    first = draw.choice((0, 1))
    begin = draw.choice((0, 0, 2))
    plan.about = "a bar an epoch (%s, %s, from %d)%s" % (way, desc, first, " resumed" if begin else "")
    text = "None" if desc is None else repr(desc) + (" %% (epoch + %d)" % first if "%d" in desc else "")
    head = (
        'truth.counter("batch", total={0}, epoch={1}, start={2}, ahead=1, restarts=True, {3})\n'
        "done = {2}\n"
    ).format((plan.epochs + begin) * plan.length, plan.length, begin * plan.length,
             "anew=True" if desc and "%d" in desc and way != "reset" else "looks_like=%d" % plan.length)
    loop = "for epoch in range(%d, %d):\n" % (begin, plan.epochs + begin)
    if way == "iterated":
        return head + loop + (
            "    bar = tqdm(range({0}), desc={1})\n    for _ in bar:\n"
            '        truth.shown("batch", epoch * {0} + bar.n)\n        work()\n        done += 1\n'
            '        truth.step("batch", done)\n    evaluate()\n'
        ).format(plan.length, text)
    made = "    bar = tqdm(total={0}, desc={1})\n" if way == "updated" else "    bar.reset()\n"
    return head + ("" if way == "updated" else "bar = tqdm(total=%d)\n" % plan.length) + loop + (
        made + "    for _ in range({0}):\n        work()\n        bar.update(1)\n        done += 1\n"
        '        truth.step("batch", done, shown=epoch * {0} + bar.n)\n' + ("    bar.close()\n" if way == "updated" else "")
        + "    evaluate()\n"
    ).format(plan.length, text)


def nested(draw, plan):
    """Epochs outside, batches inside; the inner bar may be off, and then nothing tells batches."""
    off = draw.random() < 0.25
    outer = draw.choice(('trange({0})', 'tqdm(range({0}), desc="Epoch")', 'tqdm(range({0}), desc="Epochs", position=0)'))
    inner = draw.choice(("leave=False", "position=1, leave=False", 'desc="Batch"', 'desc="it", leave=False'))
    plan.about = "nested bars%s" % (", the inner one off" if off else "")
    return (
        'truth.counter("batch", total={2}, epoch={1}, ahead=1, anew=True, restarts=' + str(off) + ")\n"
        'truth.counter("epochs", total={0}, ahead=1, standing="wrong")\ndone = 0\n'
        "for epoch in " + outer + ":\n    bar = tqdm(range({1}), " + inner + (", disable=True" if off else "") + ")\n"
        "    for _ in bar:\n" + ("" if off else '        truth.shown("batch", epoch * {1} + bar.n)\n')
        + '        work()\n        done += 1\n        truth.step("batch", done)\n    evaluate()\n'
        '    truth.step("epochs", epoch + 1)\n'
    ).format(plan.epochs, plan.length, plan.epochs * plan.length)


def of_examples(draw, plan):
    """A bar of examples: a number of them a step, and fewer in the last one of an epoch."""
    batch = draw.choice((4, 8, 16, 32))
    unit = draw.choice(("it", "ex", "samples", " examples"))
    plan.about = "a bar of examples, %d a step, unit %s" % (batch, unit)
    return (
        'truth.counter("batch", total={0})\ntruth.counter("examples", total={0} * {1}, standing="wrong")\n'
        "bar = tqdm(total={0} * {1}, unit={2!r})\nfor done in range(1, {0} + 1):\n    work()\n    bar.update({1})\n"
        '    truth.step("batch", done)\n    truth.step("examples", done * {1}, shown=bar.n)\n'
    ).format(plan.steps, batch, unit)


def accumulated(draw, plan):
    """Batches are gone through, and every few of them are an optimizer step; the bar counts either."""
    every = draw.choice((2, 4, 5))
    counts = draw.choice(("batch", "optimizer"))
    epochs, length = plan.epochs, plan.length // every * every
    plan.about = "accumulation of %d, the bar counts %s" % (every, counts)
    total = epochs * length // (1 if counts == "batch" else every)
    return (
        'truth.counter("batch", total={0}, epoch={1})\ntruth.counter("optimizer", total={2}, epoch={3})\n'
        "bar, done = tqdm(total={4}), 0\nfor epoch in range({5}):\n    for number in range(1, {1} + 1):\n        work()\n"
        "        done += 1\n" + ("        bar.update()\n" if counts == "batch" else "")
        + '        truth.step("batch", done{7})\n        if number % {6} == 0:\n'
        + ("            bar.update()\n" if counts != "batch" else "")
        + '            truth.step("optimizer", done // {6}{8})\n    evaluate()\n'
    ).format(
        epochs * length, length, epochs * length // every, length // every, total, epochs, every,
        ", shown=bar.n" if counts == "batch" else "", ", shown=bar.n" if counts != "batch" else "",
    )


def trainer_state(draw, plan):
    """A loop that keeps its place in a TrainerState, as the Trainer does, with a bar or without."""
    bar = draw.choice(("tqdm(total={0})", "tqdm(total={0}, disable=True)", "None"))
    begin = draw.choice((0, 0, 1)) * plan.length
    plan.about = "a state, bar %s%s" % (bar.format("N"), " resumed" if begin else "")
    return (
        "from transformers.trainer_callback import TrainerState\n"
        "state = TrainerState(max_steps={0}, num_train_epochs={1}, epoch={3} / {2}, global_step={3}, train_batch_size=2)\n"
        'truth.counter("optimizer", total={0}, epoch={2}, start={3}, anew=True)\nbar = ' + bar + "\n"
        + ("if bar is not None:\n    bar.update({3})\n" if begin else "") +
        "while state.global_step < state.max_steps:\n    work()\n    state.global_step += 1\n"
        '    truth.step("optimizer", state.global_step)\n    state.epoch = state.global_step / {2}\n'
        "    if bar is not None:\n        bar.update(1)\n"
        "    if state.global_step % {2} == 0:\n        evaluate()\n"
    ).format(plan.epochs * plan.length + begin, plan.epochs + begin // plan.length, plan.length, begin)


def two_at_once(draw, plan):
    """Two loops in threads, or one loop that updates two bars."""
    if draw.random() < 0.5:
        plan.about = "two loops in threads"
        return (
            "def one(name, total, factor):\n    truth.counter(name, total=total)\n    bar = tqdm(total=total, desc=name)\n"
            "    for done in range(1, total + 1):\n        time.sleep({1} * factor)\n        bar.update()\n"
            "        truth.step(name, done, shown=bar.n)\n    truth.end(name)\n"
            'both = [threading.Thread(target=one, args=given) for given in (("left", {0}, 1.0), ("right", {2}, 2.3))]\n'
            "for each in both:\n    each.start()\nfor each in both:\n    each.join()\n"
        ).format(plan.steps, plan.pause, int(plan.steps / 2.4))
    often = draw.choice((2, 3, 5))
    plan.about = "two bars in turns, %d to 1" % often
    return (
        'truth.counter("critic", total={0})\ntruth.counter("maker", total={0} // {1})\n'
        'critic, maker = tqdm(total={0}, desc="D"), tqdm(total={0} // {1}, desc="G")\n'
        "for done in range(1, {0} + 1):\n    work()\n    critic.update()\n"
        '    truth.step("critic", done, shown=critic.n)\n    if done % {1} == 0:\n        maker.update()\n'
        '        truth.step("maker", done // {1}, shown=maker.n)\n'
    ).format(plan.steps // often * often, often)


def endless(draw, plan):
    """A bar without a total, over a generator."""
    plan.about = "a bar without a total"
    return (
        'truth.counter("batch", ahead=1)\nbar = tqdm(number for number in range({0}))\nfor done in bar:\n'
        '    truth.shown("batch", bar.n)\n    work()\n    truth.step("batch", done + 1)\n'
    ).format(plan.steps)


def loader(draw, plan):
    """A real DataLoader: with a bar an epoch, with a bar over epochs, or without any."""
    way = draw.choice(("no bar", "a bar", "a bar over epochs"))
    validates = draw.random() < 0.5
    plan.torch, plan.about = True, "a loader, %s%s" % (way, ", validates" if validates else "")
    made = {
        "no bar": "for epoch in range({0}):\n    for batch in loader:\n",
        "a bar": "for epoch in range({0}):\n    bar = tqdm(loader)\n    for batch in bar:\n",
        "a bar over epochs": "for epoch in trange({0}):\n    for batch in loader:\n",
    }[way]
    return (
        "import torch\ntorch.set_num_threads(1)\n"
        "loader = torch.utils.data.DataLoader([torch.ones(2) for _ in range({1} * 2 - 1)], batch_size=2, shuffle=True)\n"
        "held_out = torch.utils.data.DataLoader([torch.ones(2) for _ in range(24)], batch_size=2)\n"
        "model, done = torch.nn.Linear(2, 1), 0\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.001)\n"
        'truth.counter("batch", total={0} * {1}, epoch={1}, ahead=1, restarts=True)\n'
        'truth.counter("epochs", total={0}, ahead=1, standing="wrong")\n' + made +
        ('        truth.shown("batch", epoch * {1} + bar.n)\n' if way == "a bar" else "")
        + "        model(batch).sum().backward()\n        optimizer.step()\n        work()\n        done += 1\n"
        '        truth.step("batch", done)\n    truth.step("epochs", epoch + 1)\n'
        + ((
            '    model.eval()\n    truth.counter("validation", total=12, ahead=1, standing="wrong")\n'
            "    for number, batch in enumerate(held_out):\n        model(batch)\n        time.sleep(0.02)\n"
            '        truth.step("validation", number + 1)\n    truth.end("validation")\n    model.train()\n'
        ) if validates else "")
    ).format(plan.epochs, plan.length)


# What the loops below have: a model, data, one step of training.
TRAINED = '''import torch
torch.set_num_threads(1)
model, done = torch.nn.Linear(2, 1), 0
optimizer = {optimizer}
rows = [torch.ones(2) for _ in range({rows})]
def loaded(examples):
    return torch.utils.data.DataLoader(rows[:examples], batch_size=2, shuffle=True)
def step(batch):
    nonlocal done
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
    done += 1
    work()
    truth.step("batch", done)
'''


def by_updates(draw, plan):
    """Loops whose steps only the optimizer knows: epochs that are left early, cut, of several loaders, of other lengths,
    and bars that are none of training."""
    way = draw.choice(("break", "zip", "two loaders", "shards", "curriculum", "scoring", "waiting", "slices", "while"))
    made = draw.choice(("SGD", "Adam", "AdamW", "SGD, momentum=0.9", "AdamW, fused=True"))
    kind, _, more = made.partition(", ")
    plan.torch, plan.about = True, "%s, %s" % (way, made)
    length, epochs, half = plan.length, plan.epochs, plan.length // 2
    lengths = {
        "break": half, "zip": half, "two loaders": length + half, "shards": 3 * (length // 3), "curriculum": None,
        "scoring": length, "waiting": length, "slices": length, "while": length,
    }[way]
    total = lengths * epochs if lengths else sum(half + 3 * epoch for epoch in range(epochs))
    body = {
        "break": "data = loaded(2 * {length})\nfor epoch in range({epochs}):\n    for nth, batch in enumerate(data):\n"
                 "        if nth >= {half}:\n            break\n        step(batch)\n",
        "zip": "data = loaded(2 * {length})\nfor epoch in range({epochs}):\n    for _, batch in zip(range({half}), data):\n"
               "        step(batch)\n",
        "two loaders": "one, other = loaded(2 * {length}), loaded(2 * {half})\nfor epoch in range({epochs}):\n"
                       "    for batch in one:\n        step(batch)\n    for batch in other:\n        step(batch)\n",
        "shards": "for epoch in range({epochs}):\n    for shard in range(3):\n"
                  "        for batch in loaded(2 * ({length} // 3)):\n            step(batch)\n",
        "curriculum": "for epoch in range({epochs}):\n    bar, before = tqdm(loaded(2 * ({half} + 3 * epoch)), desc='Epoch %d' % epoch), done\n"
                      "    for batch in bar:\n        truth.shown('batch', before + bar.n)\n        step(batch)\n",
        "scoring": "data = loaded(2 * {length})\nfor epoch in range({epochs}):\n    bar, before = tqdm(data), done\n"
                   "    for batch in bar:\n        truth.shown('batch', before + bar.n)\n        step(batch)\n"
                   "    truth.counter('scored', total={half}, ahead=1, standing='wrong')\n    with torch.no_grad():\n"
                   "        for nth, batch in enumerate(tqdm(loaded(2 * {half}), desc='scoring')):\n            model(batch)\n"
                   "            work()\n            truth.step('scored', nth + 1)\n    truth.end('scored')\n",
        "waiting": "def runs():\n    data = loaded(2 * {length})\n    for epoch in range({epochs}):\n        for batch in data:\n"
                   "            step(batch)\nthread = threading.Thread(target=runs)\nthread.start()\n"
                   "truth.counter('waited', total=100000, ahead=1, standing='wrong')\n"
                   "for nth in tqdm(range(100000), desc='waiting'):\n    time.sleep(0.1)\n    truth.step('waited', nth + 1)\n"
                   "    if not thread.is_alive():\n        break\ntruth.end('waited')\n",
        "slices": "truth.counter('epochs', total={epochs}, ahead=1, standing='wrong')\n"
                  "for epoch in tqdm(range({epochs})):\n    for first in range(0, 2 * {length}, 2):\n        step(torch.stack(rows[first:first + 2]))\n"
                  "    truth.step('epochs', epoch + 1)\n",
        "while": "data, epoch = loaded(2 * {length}), 0\nwhile epoch < {epochs}:\n    for batch in data:\n        step(batch)\n    epoch += 1\n",
    }[way]
    # In the first epoch nobody could tell that a loader will be left early, or followed by another one.
    sizes = {"curriculum": [half + 3 * epoch for epoch in range(epochs)], "two loaders": [length, half], "shards": [length // 3]}
    looks = [many * size for size in sizes.get(way, [length]) for many in (1, 3, epochs)]
    optimizer = "torch.optim.%s(model.parameters(), lr=0.001%s)" % (kind, more and ", " + more)
    rows = 2 * max(length, half + 3 * epochs)
    return (
        TRAINED.format(optimizer=optimizer, rows=rows)
        + "truth.counter('batch', total={0}, epoch={1}, ahead=1, looks_like={2})\n".format(total, lengths, looks)
        + body.format(length=length, epochs=epochs, half=half)
    )


KINDS = (all_steps, an_epoch, nested, of_examples, accumulated, trainer_state, two_at_once, endless)


class Plan:
    """What a seed decides, and the program that comes of it."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.seed, self.torch, self.about = seed, False, ""
        # Every fourth one trains: they cost an import of torch.
        make = {7: loader, 3: by_updates}.get(seed % 8) or draw.choice(KINDS)
        self.twice = draw.random() < 0.25
        self.pause = draw.choice((0.005, 0.01, 0.015, 0.02, 0.03))
        jitter = draw.choice(((1, 1), (0.7, 1.3), (0.2, 2.0)))
        lasts = (TRAINS if make in (loader, by_updates) else LASTS) / (2 if self.twice else 1)
        self.epochs = draw.choice((3, 4, 5))
        self.length = max(10, int(lasts / self.pause / self.epochs) + draw.randrange(-3, 4))
        self.steps = self.epochs * self.length
        preparation = draw.choice(("none", "none", "none", *sorted(PREPARATIONS)))
        evaluation = draw.choice(("none", "none", "silent", "a bar", "a bar"))
        desc = draw.choice(("Evaluating", "Validation", "eval", "val", "Testing"))
        beside = draw.sample(sorted(BESIDE), draw.choice((0, 0, 1, 1, 2, 3)))
        # Where the watcher comes: at once, or in the middle of it.
        self.attach = draw.choice((3, 3, self.length + 5, self.steps // 3))
        training = make(draw, self)
        said = [self.about, *beside]
        said += ["prepared by " + preparation] if preparation != "none" else []
        said += ["evaluation: " + evaluation] if evaluation != "none" else []
        said += ["twice"] if self.twice else []
        self.about = "; ".join(said)
        self.source = HEADER.format(
            seed=seed, about=self.about, here=str(HERE), standins=str(HERE / "standins"), pause=self.pause, jitter=jitter,
            tqdm=draw.choice(("tqdm", "tqdm", "tqdm.auto")),
        )
        self.source += "".join(BESIDE[name] for name in beside) + PREPARATIONS[preparation]
        self.source += EVALUATE.format(body=EVALUATIONS[evaluation].format(n=draw.randrange(15, 60), desc=desc))
        self.source += "def train():\n" + indent(training, "    ") + "\n\n"
        if draw.random() < 0.4:
            self.source += "before = time.monotonic() + 1.0\nwhile time.monotonic() < before:\n    time.sleep(0.1)\n"
        ends = '\nfor name in %r:\n    truth.end(name)\n' % (self.counters(),)
        self.source += ("train()" + ends) * (2 if self.twice else 1)

    def counters(self):
        """The names of the counters of the training, which are over with it."""
        body = self.source.rsplit("def train():", 1)[1]
        return sorted(set(re.findall(r"""truth\.counter\(["'](\w+)["']""", body)) - {"validation", "scored", "waited"})


def main():
    print(Plan(int(sys.argv[1])).source)


if __name__ == "__main__":
    main()
