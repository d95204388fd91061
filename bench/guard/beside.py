"""The guard beside earlyoom and beside nothing, on a training run that leaks below a memory limit.

Run it as root (it makes cgroups v1), with earlyoom installed and a Python that has torch, transformers
and peft; examples/vision is the job, and saves every ten steps:

    cargo build --release -p lowtide
    python bench/guard/beside.py

A row is one run in a group of its own that 55 % of its growth fit into. "loop" is a shell loop that starts
a dead job again from its newest checkpoint. Steps lost are those that were done and were not in the last
checkpoint: they are done again by those who go on, and gone for those who do not. Time lost is the time
beyond the run without a limit.

earlyoom watches a whole machine, so it gets one: a pid namespace in which there is nothing but this job,
with a /proc/meminfo that shows the group's limit and use (as LXCFS shows them to a container). It cannot
see, let alone kill, any process outside of it. What it would do is first asked with --dryrun.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from guarding import Group, trace  # noqa: E402

TRAIN = ROOT / "examples" / "vision" / "train.py"
PROGRAM = os.environ.get("LOWTIDE_BIN") or ROOT / "target" / "release" / "lowtide"
# What earlyoom does by itself: SIGTERM below 10 % of memory, SIGKILL below 5 %; there is no swap.
EARLYOOM = ["earlyoom", "-m", "10,5", "-s", "100", "-r", "0"]
# The first process of its machine: shows the given meminfo, starts earlyoom beside the job, becomes the job.
INSIDE = 'mount --bind "$0" /proc/meminfo || exit 125; $EARLYOOM 2>"$0.earlyoom" & "$@"; code=$?; kill $!; exit $code'
MOST_ATTEMPTS = 20


class Meminfo:
    """A /proc/meminfo of a group, kept up to date."""

    def __init__(self, path, group, limit):
        self.path, self.group, self.limit = path, group, limit
        self.file = path.open("wb", buffering=0)
        self.over = threading.Event()
        self.write()
        self.thread = threading.Thread(target=self.keep, daemon=True)
        self.thread.start()

    def write(self):
        total = int(self.limit * 1e6) // 1024
        available = max(0, total - self.group.working_set // 1024)
        names = {"MemTotal": total, "MemFree": available, "MemAvailable": available, "Buffers": 0, "Cached": 0,
                 "SwapTotal": 0, "SwapFree": 0, "AnonPages": total - available}
        # Always as long as before, so that a reader never meets half of it.
        os.pwrite(self.file.fileno(), b"".join(b"%-15s %9d kB\n" % (name.encode() + b":", value) for name, value in names.items()), 0)

    def keep(self):
        while not self.over.wait(0.02):
            self.write()

    def close(self):
        self.over.set()
        self.thread.join()
        self.file.close()


def environment(folder):
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOWTIDE_")}
    env.update(PYTHONPATH=str(ROOT / "python"), LOWTIDE_HOME=str(folder / "home"), XDG_RUNTIME_DIR=tempfile.mkdtemp(prefix="lt-"))
    return env


def newest(folder):
    """The newest checkpoint that is complete, and its step."""
    saved = [path.parent for path in (folder / "out").glob("checkpoint-*/trainer_state.json")]
    steps = {int(path.name.split("-")[1]): path for path in saved}
    return (max(steps), steps[max(steps)]) if steps else (0, None)


def once(kind, folder, group, limit, words, dryrun=False):
    """One process from its start to its end: its code, and what earlyoom said."""
    job = [sys.executable, TRAIN, *words]
    env, heard = environment(folder), ""
    if kind == "lowtide":
        job = [PROGRAM, "run", "-o", folder / "recording", "--guard", "--resume-arg", "--resume {checkpoint}", "--", *job]
    meminfo = None
    if kind == "earlyoom":
        meminfo = Meminfo(folder / "meminfo", group, limit)
        env["EARLYOOM"] = " ".join([*EARLYOOM, "--dryrun"] if dryrun else EARLYOOM)
        job = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "sh", "-c", INSIDE, folder / "meminfo", *job]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [str(word) for word in job], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            preexec_fn=group.enter if group else None,
        )
        code = process.wait()
    if meminfo:
        meminfo.close()
        heard = (folder / "meminfo.earlyoom").read_text()
    return code, heard


def done_steps(folder):
    path = folder / "trace"
    return trace(path)[0] if path.exists() and path.stat().st_size else []


def run(name, kind, loop, work, limit, words, steps, dryrun=False):
    folder = Path(tempfile.mkdtemp(prefix=name.replace(" ", "-") + "-", dir=work))
    group = Group(limit)
    began, lost, killed, attempts, resume, dead = time.monotonic(), 0, "", 0, [], 0.0
    while True:
        attempts += 1
        code, heard = once(kind, folder, group, limit, [*words, *resume], dryrun)
        killed += heard
        done = done_steps(folder)
        if code == 0:
            break
        saved, path = newest(folder)
        lost += max(done, default=0) - saved
        if not loop or attempts == MOST_ATTEMPTS or path is None:
            break
        resume = ["--resume", str(path)]
    row = {
        "run": name, "finished": code == 0, "steps": max(done, default=0), "of": steps, "lost": lost,
        "seconds": time.monotonic() - began, "attempts": attempts, "oom_kills": group.oom_kills,
        "earlyoom": re.findall(r"sending (SIG\w+) to process (\d+)", killed),
    }
    if kind == "lowtide":
        log = (folder / "log").read_text(errors="replace")
        row["attempts"] += len(re.findall("guard: starting again from", log))
        row["lost"] = len(done) - len(set(done))
    group.close()
    return row


def measure(work, words):
    """The run without a limit: its level after the first steps, its peak, its time."""
    folder, group = Path(tempfile.mkdtemp(prefix="free-", dir=work)), Group(1e6)
    levels, over = [0, 0], threading.Event()

    def watch():
        while not over.wait(0.02):
            level = group.working_set / 1e6
            levels[0] = levels[0] or (level if len(done_steps(folder)) >= 3 else 0)
            levels[1] = max(levels[1], level)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    began = time.monotonic()
    code, _ = once("none", folder, group, 0, words)
    seconds = time.monotonic() - began
    over.set()
    watcher.join()
    group.close()
    assert code == 0, (folder / "log").read_text()[-2000:]
    return levels[0] + 0.55 * (levels[1] - levels[0]), seconds


def show(row, free):
    if row["finished"]:
        after = "%+.0f s" % (row["seconds"] - free)
    else:
        after = "all %.0f s" % row["seconds"]
    print("| %-16s | %-8s | %3d of %d | %5d | %10s | %8d | %9d |" % (
        row["run"], "yes" if row["finished"] else "no", row["steps"], row["of"], row["lost"], after, row["attempts"],
        row["oom_kills"],
    ), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--json", help="write the rows to this file, too")
    chosen = parser.parse_args()
    words = ["--out", "out", "--trace", "trace", "--threads", "1", "--seed", "1", "--leak", "list", "--every", "100",
             "--steps", str(chosen.steps), "--save-every", "10"]
    with tempfile.TemporaryDirectory(prefix="beside-") as work:
        limit, free = measure(work, words)
        print("limit %.0f MB; without a limit the run takes %.0f s" % (limit, free))
        asked = run("dry run", "earlyoom", False, work, limit, words, chosen.steps, dryrun=True)
        print("earlyoom --dryrun would have sent: %s" % (", ".join("%s to %s" % each for each in sorted(set(asked["earlyoom"]))) or "nothing"))
        print("\n| run              | finished | steps    | lost  | time lost  | attempts | OOM kills |\n|---|---|---|---|---|---|---|")
        rows = []
        for name, kind, loop in [
            ("no guard", "none", False), ("earlyoom", "earlyoom", False), ("no guard, loop", "none", True),
            ("earlyoom, loop", "earlyoom", True), ("lowtide --guard", "lowtide", False),
        ]:
            rows.append(run(name, kind, loop, work, limit, words, chosen.steps))
            show(rows[-1], free)
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
