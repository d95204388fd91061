"""Guarded runs of a leaky fine-tune below a memory limit, every other one beside three busy loops.

Run it as root (it makes cgroups v1), with a Python that has torch, transformers and peft:

    cargo build --release -p lowtide
    python bench/guard/busy.py 20

A row is one run of examples/vision in a group of its own. It never saves by itself: an attempt that is
killed loses all of its steps. Steps repeated are counted in what the job wrote down itself, not in what
the guard says of it. What a run with a loss printed is kept, and its folder is named.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from guarding import Group, trace  # noqa: E402

TRAIN = ROOT / "examples" / "vision" / "train.py"
PROGRAM = os.environ.get("LOWTIDE_BIN") or ROOT / "target" / "release" / "lowtide"
# A loop ends with us, however we end.
LOOP = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    for _ in range(1_000_000): pass"
COLUMNS = ("run", "busy loops", "finished", "restarts", "OOM kills", "killed by us", "repeated", "seconds")


@contextlib.contextmanager
def busy(loops):
    started = [subprocess.Popen([sys.executable, "-c", LOOP, str(os.getpid())]) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in started:
            loop.kill()
            loop.wait()


def guarded(folder, chosen):
    group = Group(chosen.limit)
    runtime = tempfile.mkdtemp(prefix="lt-")
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOWTIDE_")}
    env.update(PYTHONPATH=str(ROOT / "python"), LOWTIDE_HOME=str(folder / "home"), XDG_RUNTIME_DIR=runtime)
    words = [
        PROGRAM, "run", "-o", folder / "recording", "--guard", "--resume-arg", "--resume {checkpoint}", "--",
        sys.executable, TRAIN, "--out", "out", "--trace", "trace", "--seed", "1", "--every", "100",
        "--leak", chosen.leak, "--steps", chosen.steps,
    ]
    began = time.monotonic()
    with (folder / "log").open("ab") as log:
        code = subprocess.run(
            [str(word) for word in words], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            preexec_fn=group.enter,
        ).returncode
    kills = group.oom_kills
    group.close()
    shutil.rmtree(runtime)
    said = (folder / "log").read_text(errors="replace")
    done = trace(folder / "trace")[0] if (folder / "trace").exists() else []
    return {
        "finished": "yes" if code == 0 and set(done) == set(range(1, chosen.steps + 1)) else "no (%d)" % code,
        "restarts": len(re.findall("guard: starting again from", said)),
        "OOM kills": kills,
        "killed by us": len(re.findall("guard: SIGKILL", said)),
        "repeated": len(done) - len(set(done)),
        "seconds": round(time.monotonic() - began),
    }


def line(values):
    print("| %s |" % " | ".join("%*s" % (len(name), value) for name, value in zip(COLUMNS, values)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int, nargs="?", default=20)
    parser.add_argument("--limit", type=float, default=900, help="of the group, in MB")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--leak", default="list")
    parser.add_argument("--loops", type=int, default=3, help="beside every other run")
    chosen = parser.parse_args()
    line(COLUMNS)
    line("-" * len(name) for name in COLUMNS)
    bad = 0
    for number in range(1, chosen.runs + 1):
        loops = chosen.loops if number % 2 == 0 else 0
        folder = Path(tempfile.mkdtemp(prefix="busy-%d-" % number))
        with busy(loops):
            row = {"run": number, "busy loops": loops, **guarded(folder, chosen)}
        line([row[name] for name in COLUMNS])
        if row["finished"] == "yes" and row["OOM kills"] == row["repeated"] == 0:
            shutil.rmtree(folder)
        else:
            bad += 1
            print("kept: %s" % folder, flush=True)
    print("%d of %d runs without a loss" % (chosen.runs - bad, chosen.runs))
    return 1 if bad else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
