#!/usr/bin/env python3
"""What it takes to read a long log: `lowtide judge` next to `cat` and `wc -l` on the same input.

    cargo build --release -p lowtide && bench/import/run.py [--mb 200] [--lowtide PATH]

Makes each kind of input once, reads it as a file and through a pipe, and prints seconds, peak memory and the
ratio to `wc -l`, all of one run on one machine.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import time


def steps(mb):
    """What most people print."""
    line = "2026-11-15 10:00:00,123 INFO Step {}: loss=1.2345 lr=2.0e-05, RAM: {} MB\n"
    return (line.format(n, 5000 + n % 977) for n in range(mb * 1_000_000 // 74))


def dictionaries(mb):
    line = "{{'loss': 1.2, 'grad_norm': 0.31, 'epoch': {:.4f}}}\n[mem] step {} rss={} MB\n"
    return (line.format(n / 5000, n, 5000 + n % 977) for n in range(mb * 1_000_000 // 74))


def arrays(mb):
    """Printed tensors between the sizes."""
    array = "tensor([" + ", ".join(f"{n / 7:.4f}" for n in range(1900)) + "])\n"
    return (f"step {n} RAM {5000 + n % 977} MB\n{array}" for n in range(mb * 1_000_000 // (len(array) + 24)))


def table(mb):
    yield "time_s,rss_mb\n"
    yield from (f"{n},{5000 + n % 977}\n" for n in range(mb * 1_000_000 // 13))


def wide(mb):
    """A table of 12,000 columns."""
    yield "step,rss_mb" + "".join(f",loss{n}" for n in range(12_000)) + "\n"
    rest = ",1.25" * 12_000 + "\n"
    yield from (f"{n},{5000 + n % 977}{rest}" for n in range(mb * 1_000_000 // len(rest)))


def objects(mb):
    line = '{{"step": {}, "rss_mb": {}, "loss": 1.25, "lr": 2e-05}}\n'
    return (line.format(n, 5000 + n % 977) for n in range(mb * 1_000_000 // 58))


def words(mb):
    """Nothing to find: `yes | lowtide judge -`."""
    many = "y\n" * 500_000
    return (many for _ in range(mb))


KINDS = [steps, dictionaries, arrays, table, wide, objects, words]


def measured(command, stdin=None):
    """Seconds and peak memory in MB of one command."""
    began = time.monotonic()
    child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, used = os.wait4(child.pid, 0)
    return time.monotonic() - began, used.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument("--lowtide", default="target/release/lowtide")
    args = parser.parse_args()
    print(f"{args.mb} MB of    |  wc -l |    cat | judge FILE            | judge -")
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            path = pathlib.Path(folder, kind.__name__)
            with path.open("w") as file:
                file.writelines(kind(args.mb))
            counted, _ = measured(["wc", "-l", path])
            copied, _ = measured(["cat", path])
            cells = []
            seconds, memory = measured([args.lowtide, "judge", path])
            cells.append((seconds, memory))
            with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
                cells.append(measured([args.lowtide, "judge", "-"], cat.stdout))
                cat.stdout.close()
            shown = " | ".join(f"{s:5.2f} s {m:4.0f} MB {s / counted:4.0f} x" for s, m in cells)
            print(f"{kind.__name__:<12} | {counted:4.2f} s | {copied:4.2f} s | {shown}", flush=True)
            path.unlink()


if __name__ == "__main__":
    main()
