"""What a new user reads in the first hour: three jobs, each also with a cache in persistent workers and a bar over
epochs alone, under `lowtide run` at a terminal of a hundred columns.

    cargo build --release && .venv/bin/python bench/first_hour/run.py [--keep FOLDER]

For each job: who was called leaking on the way and at the end, what grows, what was counted, and every cause that
was ruled out though it is true. The truth stands in `JOBS`.
"""

import argparse
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = Path(os.environ.get("LOWTIDE_BIN", HERE.parents[1] / "target" / "release" / "lowtide"))
CACHE = ["--worker-cache", "--epoch-bar"]

# What is true: whether anything leaks, and the causes that may not be ruled out.
JOBS = [
    ("cnn", [], True, {"P38", "P39"}),
    ("cnn", CACHE, True, {"P38", "P39", "P23", "P01"}),
    ("trainer", [], False, set()),
    ("trainer", CACHE, False, {"P23", "P01"}),
    ("replay", [], False, {"P39"}),
    ("replay", CACHE, False, {"P39", "P23", "P01"}),
]


def at_a_terminal(command):
    """All that the command wrote to a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # The other side is closed.
            break
        if not piece:
            break
        written += piece
    os.close(ours)
    assert running.wait() == 0, written[-2000:]
    return written.decode(errors="replace")


def tell(name, flags, leaks, true, folder):
    recording = folder / (name + ("-cache" if flags else ""))
    job = [sys.executable, "-W", "ignore", str(HERE / f"{name}.py"), *flags]
    written = at_a_terminal([str(PROGRAM), "run", "-o", str(recording), "--", *job])
    answer = subprocess.run([str(PROGRAM), "explain", "--json", str(recording)], capture_output=True, check=False)
    found = json.loads(answer.stdout)
    explained = found["explanation"]
    ruled_out = {word for row in explained["ruled_out"] for word in re.findall(r"P\d\d", row["about"])}
    accused = len(re.findall(r"lowtide: leak in ", written))
    counted = [line["says"] for line in (explained["memory"] or {}).get("counted", [])]
    process = found["process"] or {}
    print(f"{recording.name}: {found['verdict']}{', growing' if found['growing'] else ''}"
          f" in {process.get('role')} {process.get('pid')};"
          f" {'it leaks' if leaks else 'nothing leaks'}; called a leak on the way {accused} times")
    for line in counted:
        print(f"    {line}")
    wrong = sorted(ruled_out & true)
    print(f"    ruled out though true: {', '.join(wrong) or 'nothing'}")
    return bool(wrong) or (not leaks and (accused > 0 or found["verdict"] == "leak"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="leave the recordings in this folder")
    folder = parser.parse_args().keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    wrong = sum(tell(*job, folder) for job in JOBS)
    print(f"\n{len(JOBS)} jobs, {wrong} with something wrong")


if __name__ == "__main__":
    main()
