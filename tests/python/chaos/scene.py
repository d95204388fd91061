"""Plays one story: namespaces of its own, a job under lowtide, faults at their steps, and all that was seen.

It is the first process of its own pid namespace, so every orphan becomes its child and all of them end with it; /tmp
and /dev/shm are empty disks of its own, so whatever is in them afterwards was left there.
"""

import collections
import dataclasses
import hashlib
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from chaos import faults
from chaos.disk import Disk, mount
from chaos.group import Group, remove
from chaos.story import DISKS, EPOCH

# Where this repository is found inside: it may lie in /tmp, which is hidden there.
INSIDE = Path("/mnt")
# The interpreter itself: a virtual environment may lie in /tmp too, and nothing of it is needed.
PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
# What a story may take on a busy machine; reached only by one that hangs.
PATIENCE = 600
# What ends after some steps ends after this many seconds too: it may be what keeps the steps from being done.
LONGEST_FAULT = 4
LOOK_EVERY = 0.01
TICK = "50ms"
# An attempt is stopped after so many steps, where no limit does it.
RESTART_EVERY = 30

Levels = collections.namedtuple("Levels", "limit lower higher hog")  # megabytes
# A leak of 2 MB a step meets the first some times before its end; the second is out of everybody's reach.
TIGHT = Levels(150, 125, 190, 25)
WIDE = Levels(900, 700, 1100, 200)


@dataclasses.dataclass
class Spent:
    """What one process of ours has used, as last seen."""

    name: str
    cpu: float = 0.0
    peak: int = 0


class Scene:
    def __init__(self, story, folder, program, name):
        self.story, self.program = story, str(program)
        self.folder, self.name = folder, name
        self.python = PYTHON
        self.levels = TIGHT if story.limited else WIDE
        self.group = self.disk = self.code = None
        self.spent, self.exits, self.neighbours = {}, {}, set()
        self.judged, self.remarks = [], []
        self.hung = False
        self._running = []
        self._printed = bytearray()

    def play(self):
        self._set()
        began = time.monotonic()
        try:
            self._start()
            self._go_through()
        finally:
            self.seconds = time.monotonic() - began
            for fault, _, _ in self._running:
                next(fault, None)
            if self.group:
                self.oom_kills = self.group.oom_kills
                remove(self.group.folder)
        self._read()

    # Before it starts.

    def _set(self):
        story = self.story
        mount(b"tmp", b"/tmp", b"tmpfs", 0, b"mode=1777")
        mount(b"shm", b"/dev/shm", b"tmpfs", 0, b"mode=1777")
        self.runtime = Path("/tmp")
        if story.runtime:
            self.runtime = Path("/tmp/runtime")
            self.runtime.mkdir(mode=0o700)
        place = self.folder / "disk"
        place.mkdir(parents=True)
        if story.has(*DISKS):
            self.disk = Disk(place)
        self.home = place / "home" if story.home else self.folder / "home"
        self.recordings = self.home / "runs" if story.home else place / "rec"
        self.clock = self.folder / "clock"
        self.clock.write_bytes(struct.pack("q", 0))
        if story.grouped:
            self.group = Group(self.name, self.levels.limit)
        self._pending = list(story.faults)

    def _command(self):
        story = self.story
        words = [self.program, "run", "-i", TICK]
        if not story.home:
            words += ["-o", self.recordings]
        if story.guard:
            words += ["--guard", "--resume-arg", "--resume {checkpoint}", "--checkpoints", "out"]
            if not story.limited:
                words += ["--restart-every", "%dsteps" % RESTART_EVERY]
        words += ["--", PYTHON, INSIDE / "tests/python/jobs/chaos.py"]
        words += ["--kind", story.kind, "--steps", story.steps, "--epoch", EPOCH, "--code", story.code]
        storms = [fault.at for fault in story.faults if fault.name == "fork-storm"]
        words += ["--storms", *storms] if storms else []
        words += ["--marks"] if story.marks else []
        return [str(word) for word in words]

    def _start(self):
        self._begin_faults(0)
        env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        env.update(
            PYTHONPATH=str(INSIDE / "python"), PYTHONDONTWRITEBYTECODE="1",
            LOWTIDE_HOME=str(self.home),
        )
        if self.story.runtime:
            env["XDG_RUNTIME_DIR"] = str(self.runtime)
        if self.story.has("clock-forward", "clock-back"):
            env.update(LD_PRELOAD=str(INSIDE / "target/chaos/clock.so"), CHAOS_CLOCK=str(self.clock))
        self.env = env
        by_pipe = self.story.output == "pipe"
        stdout = subprocess.PIPE if by_pipe else (self.folder / "stdout").open("wb")
        self.watcher = subprocess.Popen(
            self._command(), env=env, cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=stdout, stderr=(self.folder / "stderr").open("wb"),
            preexec_fn=self.group.enter if self.group else None, start_new_session=True,
        )
        self.reader = None
        if by_pipe:
            self.reader = threading.Thread(target=self._drain, args=(self.watcher.stdout,), daemon=True)
            self.reader.start()

    def _drain(self, pipe):
        while some := os.read(pipe.fileno(), 65536):
            self._printed += some

    # While it runs.

    def _go_through(self):
        deadline = time.monotonic() + PATIENCE
        while self._look():
            steps = self.trace()
            self._begin_faults(steps[-1] if steps else 0)
            self._end_faults(steps[-1] if steps else 0)
            if time.monotonic() > deadline:
                self.hung = True
                return
            time.sleep(LOOK_EVERY)

    def _look(self):
        """Counts what our processes use, and buries who has ended. False when nobody is left."""
        others = False
        for name in filter(str.isdigit, os.listdir("/proc")):
            pid = int(name)
            try:
                stat = Path("/proc", name, "stat").read_text()
                status = Path("/proc", name, "status").read_text()
            except OSError:
                continue
            comm = stat[stat.index("(") + 1 : stat.rindex(")")]
            fields = stat[stat.rindex(")") + 2 :].split()
            others |= pid != os.getpid() and pid not in self.neighbours
            if comm.startswith("lowtide"):
                spent = self.spent.setdefault((pid, fields[19]), Spent(comm))
                spent.name = comm
                spent.cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                peak = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
                spent.peak = int(peak[0]) * 1024 if peak else spent.peak
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            self.exits[pid] = os.waitstatus_to_exitcode(status)
            self.neighbours.discard(pid)
        return others

    def _begin_faults(self, step):
        while self._pending and self._pending[0].at <= step:
            fault = self._pending.pop(0)
            self._running.append((faults.begin(fault.name, self), fault, time.monotonic() + LONGEST_FAULT))

    def _end_faults(self, step):
        for running in list(self._running):
            process, fault, latest = running
            over = (self.folder / "result").exists() or time.monotonic() > latest
            if fault.until is not None and (over or step >= fault.until):
                next(process, None)
                self._running.remove(running)

    def signal(self, name, number):
        """Sends it to the process of ours with that name; who is gone is not hit."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                comm, state = name_and_state(pid)
            except OSError:
                continue
            if comm == name and state not in "ZX" and (name != "lowtide" or int(pid) == self.watcher.pid):
                os.kill(int(pid), number)
                self.remarks.append("signal %d to %s %s" % (number, name, pid))
                return int(pid)
        self.remarks.append("nobody to send %d to: %s" % (number, name))
        return None

    def is_watched(self):
        return self.watcher.pid not in self.exits

    def go_on(self, pid):
        try:
            if pid:
                os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def judge_meanwhile(self):
        # A disk that hangs would hang us too, and we are who ends it.
        if self.disk is None or self.disk.answers.is_set():
            for path in self.recording_files():
                self.judged.append(("meanwhile", self.judge(path)))

    # What is there to see.

    def trace(self):
        """The steps that were done, in that order."""
        try:
            *lines, _unfinished = (self.folder / "trace").read_text().split("\n")
        except FileNotFoundError:
            return []
        return [int(re.search(r"\d+", line).group()) for line in lines]

    def recording_files(self):
        return sorted(self.recordings.glob("**/recording.lowtide"))

    def judge(self, source):
        env = {name: value for name, value in self.env.items() if name != "LD_PRELOAD"}
        words = [self.program, "judge", "--json", str(source)]
        return subprocess.run(words, capture_output=True, text=True, env=env, errors="replace")

    def _read(self):
        """All that the invariants ask about."""
        if self.disk:
            self.disk.heal()
        self.stderr = (self.folder / "stderr").read_text(errors="replace")
        if self.reader:
            self.reader.join(5)
            self.stdout = bytes(self._printed).decode(errors="replace")
            (self.folder / "stdout").write_text(self.stdout)
        else:
            self.stdout = (self.folder / "stdout").read_text(errors="replace")
        self.steps = self.trace()
        self.code = self.exits.get(self.watcher.pid)
        self.alive = {pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if pid != os.getpid()}
        dice = random.Random(-self.story.seed)
        for path in self.recording_files():
            self.judged.append(("at the end", self.judge(path)))
            for name in self.story.after:
                copy = self.folder / ("%s.lowtide" % name)
                copy.write_bytes(faults.damage(name, dice, path.read_bytes()))
                self.judged.append((name, self.judge(copy)))
        # Whoever comes next takes away what one who was killed could not.
        after = [self.program, "run", "-q", "-o", str(self.folder / "next"), "--", "true"]
        env = {name: value for name, value in self.env.items() if name not in ("LD_PRELOAD", "CHAOS_CLOCK")}
        subprocess.run(after, env={**env, "LOWTIDE_HOME": str(self.folder / "next-home")}, stderr=subprocess.DEVNULL)
        self.left = []
        for place in ("/tmp", "/dev/shm"):
            for path in Path(place).rglob("*"):
                if not path.is_dir() and not path.name.startswith("of-the-job"):
                    self.left.append(str(path))

    def result(self):
        try:
            return json.loads((self.folder / "result").read_text())
        except (OSError, ValueError):
            return None


def name_and_state(pid):
    stat = Path("/proc", pid, "stat").read_text()
    return stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2]


def chain(steps):
    """What the state is when every step was done once, in order."""
    state = ""
    for step in range(1, steps + 1):
        state = hashlib.sha256(("%s %d" % (state, step)).encode()).hexdigest()
    return state
