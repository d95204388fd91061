"""Jobs with a memory limit of their own, guarded or not: what the guard's tests share.

The limit is a real one: a cgroup v1 below the memory controller, for which the tests have to be root.
"""

import itertools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

import processes
from conftest import PACKAGE

MEMORY = Path("/sys/fs/cgroup/memory")
JOBS = Path(__file__).parent / "jobs"
# What a job may take on a busy machine; reached only by a test that fails.
PATIENCE = 1200
_numbers = itertools.count(1)


class Group:
    """A cgroup with a limit (in MB), in which commands are started."""

    def __init__(self, limit):
        self.folder = MEMORY / ("lowtide-test-%d-%d" % (os.getpid(), next(_numbers)))
        self.folder.mkdir()
        processes.at_end(self.close)
        self.limit(limit)

    def limit(self, megabytes):
        (self.folder / "memory.limit_in_bytes").write_text(str(int(megabytes * 1e6)))

    def enter(self):
        """For `preexec_fn`: the command and all its children are in the group from their first page on."""
        (self.folder / "cgroup.procs").write_text("0")

    @property
    def working_set(self):
        """What the kernel cannot simply drop, in bytes."""
        used = int((self.folder / "memory.usage_in_bytes").read_text())
        stat = dict(line.split() for line in (self.folder / "memory.stat").read_text().splitlines())
        return used - int(stat["total_inactive_file"]) - int(stat["total_active_file"])

    @property
    def oom_kills(self):
        text = (self.folder / "memory.oom_control").read_text()
        return int(re.search(r"oom_kill (\d+)", text).group(1))

    def close(self):
        until = time.monotonic() + 20
        while self.folder.exists() and time.monotonic() < until:
            for pid in (self.folder / "cgroup.procs").read_text().split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            try:
                self.folder.rmdir()
                return
            except OSError:
                time.sleep(0.05)


def can_limit():
    try:
        Group(100).close()
    except OSError:
        return False
    return True


needs_limit = pytest.mark.skipif(
    not can_limit(), reason="needs root and a cgroup v1 memory controller at %s" % MEMORY
)


class Process:
    """A process and what it printed."""

    def __init__(self, folder, words, env, group, ignored=()):
        self.folder = Path(folder)
        self.recording = self.folder / "recording"
        self.log = self.folder / "log"

        def prepare():
            if group:
                group.enter()
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)

        self.process = subprocess.Popen(
            [str(word) for word in words], env=env, cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=self.log.open("ab"), stderr=subprocess.STDOUT,
            preexec_fn=prepare, start_new_session=True,
        )
        self.env = env

    @property
    def output(self):
        return self.log.read_text(errors="replace")

    def wait(self):
        return self.process.wait(PATIENCE)

    def wait_for(self, pattern):
        """Until the output shows it; the job must not end before."""
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.output)):
            if self.process.poll() is not None or time.monotonic() > deadline:
                assert re.search(pattern, self.output), self.output[-4000:]
            time.sleep(0.01)
        return found

    @property
    def restarts(self):
        return len(re.findall(r"guard: starting again from", self.output))


class Job(Process):
    """One job under `lowtide run`, or bare when `program` is none."""

    def __init__(self, folder, command, program=None, flags=(), group=None, environment=None, ignored=()):
        folder = Path(folder)
        # A socket's path has to be short, and other tests have their own.
        self.runtime = tempfile.mkdtemp(prefix="lt-")
        processes.at_end(lambda: shutil.rmtree(self.runtime))
        env = {name: value for name, value in os.environ.items() if not name.startswith("LOWTIDE_")}
        env.update(
            PYTHONPATH=str(PACKAGE), PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1",
            XDG_RUNTIME_DIR=self.runtime, LOWTIDE_HOME=str(folder / "home"), **(environment or {}),
        )
        words = list(command)
        if program:
            words = [program, "run", "-i", "200ms", "-o", folder / "recording", *flags, "--", *words]
        super().__init__(folder, words, env, group, ignored)


class Attached(Process):
    """`lowtide attach` to a job, from a folder and an environment of its own."""

    def __init__(self, folder, program, flags):
        folder.mkdir()
        env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        env["LOWTIDE_HOME"] = str(folder / "home")
        words = [program, "attach", "-i", "200ms", "-o", folder / "recording", *flags]
        super().__init__(folder, words, env, None)


def trace(path):
    """(steps in the order in which they were done, the last line), of a file that may be growing."""
    *lines, _unfinished = Path(path).read_text().split("\n")
    steps = [int(re.search(r"\d+", line).group()) for line in lines if line.startswith("step")]
    return steps, lines[-1] if lines else ""


def judge(program, recording, *flags):
    return subprocess.run([program, "judge", str(recording), *flags], capture_output=True, text=True)
