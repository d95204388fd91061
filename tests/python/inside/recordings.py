"""Starts programs, attaches lowtide to each in the middle, and hands back the logs and what was recorded of them.

Everything waits for what it needs to see: a line in a program's log, a mark in a recording, the end of a process.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from inside.judge import Log, judge

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# Reached only when something is wrong: four helpers on two cores import torch within that.
PATIENCE = 180
# Marks of one recording that are judged; with the interval below that is some seconds.
ENOUGH = 12
INTERVAL = "250ms"


def environment(older=None, **more):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LOWTIDE_", "INSIDE_"))}
    clean.update(PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    clean.pop("PYTHONPATH", None)
    if older:
        clean["PYTHONPATH"] = str(older)
    clean.update(more)
    return clean


class Job:
    """A program that runs, its log, and the recording of it."""

    def __init__(self, name, folder, needs=()):
        self.name, self.needs = name, needs
        self.folder = folder / name.replace(" ", "-").replace("/", "-")
        self.folder.mkdir(parents=True)
        self.log = str(self.folder / "log")
        self.process = self.watcher = self.pid = None
        self.said = ""

    def steps(self):
        """How many lines of steps the program wrote so far."""
        try:
            with open(self.log) as file:
                return sum(" step " in line for line in file)
        except FileNotFoundError:
            return 0

    def find_pid(self):
        with open(self.log) as file:
            return json.loads(file.readline().split(" ", 2)[2])["pid"]

    def start(self, argv, env, **more):
        with open(self.log + ".err", "wb") as errors:
            self.process = subprocess.Popen(
                argv, env={**env, "INSIDE_LOG": self.log}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=errors if os.environ.get("INSIDE_KEEP") else subprocess.DEVNULL, **more,
            )

    def attach(self, program, *flags):
        self.pid = self.pid or self.find_pid()
        with open(self.folder / "said", "wb") as said:
            self.watcher = subprocess.Popen(
                [program, "attach", str(self.pid), "-o", str(self.folder / "run"), "-i", INTERVAL, "--no-tui", *flags],
                env={**environment(), "LOWTIDE_HOME": str(self.folder / "home")},
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
            )

    def marks(self, program):
        done = subprocess.run(
            [program, "export", str(self.folder / "run"), "--what", "marks", "--format", "jsonl"],
            env={**environment(), "LOWTIDE_HOME": str(self.folder / "home")}, capture_output=True, text=True,
        )
        return [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []

    def watched_to_the_end(self):
        self.watcher.wait(PATIENCE)
        self.said = (self.folder / "said").read_text(errors="replace")

    def detach(self):
        """Ends the watcher as Ctrl-C does: the recording has its end then."""
        if self.watcher.poll() is None:
            self.watcher.send_signal(signal.SIGINT)
        self.watched_to_the_end()

    def end(self):
        """Ends the program, which is not asked: its log is written line by line."""
        for pid in {self.pid, self.process.pid if self.process else None} - {None}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.process:
            self.process.wait()

    def judged(self, program, source="memory", slack=None):
        more = {} if slack is None else {"slack": slack}
        return judge(Log.read(self.log), self.marks(program), source, **more)

    def why_not(self):
        """What a program said that did not run."""
        said = [Path(self.log + ending) for ending in (".failed", ".err")]
        return "\n".join(file.read_text(errors="replace")[-2000:] for file in said if file.exists())


def wait_until(what, holds, patience=PATIENCE):
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, "waited in vain: " + what()
        time.sleep(0.05)


def begun(jobs, steps=3):
    """Waits until each of these programs made some steps."""
    wait_until(
        lambda: "steps of " + "; ".join("%s %s" % (job.name, job.why_not()) for job in jobs if job.steps() < steps),
        lambda: all(job.steps() >= steps for job in jobs),
    )


def recorded(program, jobs, source="memory", enough=ENOUGH, patience=30):
    """Waits until there are enough marks of each, or until it is clear that there will be none."""
    waiting = list(jobs)
    deadline = time.monotonic() + patience
    while waiting and time.monotonic() < deadline:
        time.sleep(0.5)
        for job in list(waiting):
            if sum(mark["source"] == source for mark in job.marks(program)) >= enough or job.watcher.poll() is not None:
                waiting.remove(job)


def older(name, *packages):
    """A folder with older releases, to be laid over the environment by PYTHONPATH: torch need not be there twice."""
    folder = ROOT / "target" / "older" / name
    stamp = folder / "complete"
    if not stamp.exists() or stamp.read_text() != " ".join(packages):
        subprocess.run(
            [str(ROOT / ".venv" / "bin" / "uv"), "pip", "install", "--quiet", "--system-certs", "--no-deps",
             "--python", sys.executable, "--target", str(folder), *packages],
            check=True, stdin=subprocess.DEVNULL,
        )
        stamp.write_text(" ".join(packages))
    return folder


class Nursery:
    """Starts jobs that share their imports (`jobs/nursery.py`)."""

    def __init__(self, modules, older=None):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(HERE / "jobs" / "nursery.py"), ",".join(modules)],
            env=environment(older), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=None if os.environ.get("INSIDE_KEEP") else subprocess.DEVNULL, text=True,
        )

    def start(self, job, script, *argv):
        keep = bool(os.environ.get("INSIDE_KEEP"))
        given = {"log": job.log, "script": str(HERE / "jobs" / script), "argv": list(argv), "keep": keep}
        self.process.stdin.write(json.dumps(given) + "\n")
        self.process.stdin.flush()

    def close(self):
        """Takes no more jobs; its children are ended by those who have them."""
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
