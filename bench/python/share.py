"""What the callback takes of a short run: its own processor time inside the loop, and the run's length beside one
without it.

    PYTHONPATH=python python bench/python/share.py [--other FOLDER] [--rounds 3] [--seconds 30]

Each arm is a process of its own, turn by turn: none, this package, and with `--other` another version's `python`
folder. The callback's share is its thread's processor time of all that the thread used, which is steady on a busy
machine; the lengths are not, so look at their ratio over several rounds. All are watched, so that marks are sent.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Turns of an empty loop: about a millisecond.
TINY_STEP = 50_000


def clock_cost():
    """What asking for the thread's time adds to each event: the end of one system call and the begin of the next,
    together one, which is dear on some machines."""
    started = time.thread_time()
    for _ in range(1000):
        time.thread_time()
    return (time.thread_time() - started) / 1000


def measured(callback):
    """All events of the callback, with their time summed up."""
    spent, asking = {"own": 0.0}, clock_cost()
    for name in dir(type(callback)):
        if name.startswith("on_") or name in ("step", "begin", "end"):
            event = getattr(callback, name)

            def timed(*args, _event=event, **kwargs):
                started = time.thread_time()
                try:
                    return _event(*args, **kwargs)
                finally:
                    spent["own"] += max(0.0, time.thread_time() - started - asking)

            setattr(callback, name, timed)
    return spent


def tiny(seconds, with_callback):
    from lowtide.torch import Loop

    import transformers  # noqa: F401  (as many objects to count as a real job has)

    loop = Loop(lines=True) if with_callback else None
    spent = measured(loop) if loop else {"own": 0.0}
    steps = int(seconds * 1000)
    started, used = time.perf_counter(), time.thread_time()
    for _ in range(steps):
        for _ in range(TINY_STEP):
            pass
        if loop:
            loop.step()
    if loop:
        loop.end()
    return steps, time.perf_counter() - started, time.thread_time() - used, spent["own"]


def trainer(seconds, with_callback):
    import torch
    from transformers import Trainer, TrainingArguments

    from lowtide.hf import LowtideCallback

    torch.set_num_threads(1)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(12)))

        def forward(self, x=None, labels=None):
            return {"loss": (self.layers(x) - labels).square().mean()}

    rows = [{"x": torch.ones(512), "labels": torch.zeros(512)} for _ in range(800)]
    callback = LowtideCallback() if with_callback else None
    spent = measured(callback) if callback else {"own": 0.0}
    steps = int(seconds * 60)  # about 16 ms each
    with tempfile.TemporaryDirectory() as out:
        arguments = TrainingArguments(
            out, per_device_train_batch_size=16, max_steps=steps, report_to=[], use_cpu=True,
            save_strategy="no", disable_tqdm=True, logging_strategy="no", log_level="error",
        )
        job = Trainer(Net(), arguments, train_dataset=rows, callbacks=[callback] if callback else [])
        started, used = time.perf_counter(), time.thread_time()
        job.train()
        return steps, time.perf_counter() - started, time.thread_time() - used, spent["own"]


KINDS = {"tiny": tiny, "trainer": trainer}


def one(kind, package, seconds, with_callback, place):
    command = [sys.executable, __file__, "--one", kind, "--seconds", str(seconds)]
    command += ["--with"] if with_callback else []
    environment = {**os.environ, "PYTHONPATH": str(package), "LOWTIDE_DIR": place}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    said = sum(line.startswith("lowtide: ") for line in done.stderr.splitlines())
    return {**json.loads(done.stdout.splitlines()[-1]), "said": said}


def compare(arms, rounds, seconds):
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    from watcher import Watcher

    for kind in KINDS:
        found = {name: [] for name in arms}
        for _ in range(rounds):
            for name, package in arms.items():
                with tempfile.TemporaryDirectory() as folder:
                    watcher = Watcher(Path(folder) / "w")
                    run = one(kind, package or ROOT / "python", seconds, package is not None, str(watcher.folder))
                    watcher.close()
                found[name].append(run)
        for name, runs in found.items():
            shares = [100 * run["own"] / run["used"] for run in runs]
            ratios = [run["wall"] / base["wall"] for run, base in zip(runs, found["none"])]
            print(
                "%-8s %-6s %5d steps, %5.1f s; own time %5.2f %% (%.2f to %.2f); length %.3f of none (%.3f to %.3f); %d lines"
                % (kind, name, runs[0]["steps"], statistics.median(run["wall"] for run in runs),
                   statistics.median(shares), min(shares), max(shares),
                   statistics.median(ratios), min(ratios), max(ratios), runs[-1]["said"]),
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--other", type=Path, help="another version's python folder, for a comparison")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--one", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--with", action="store_true", dest="with_callback", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        steps, wall, used, own = KINDS[chosen.one](chosen.seconds, chosen.with_callback)
        print(json.dumps({"steps": steps, "wall": wall, "used": used, "own": own}))
    else:
        arms = {"none": None, "this": ROOT / "python"}
        if chosen.other:
            arms["other"] = chosen.other.resolve()
        compare(arms, chosen.rounds, chosen.seconds)
