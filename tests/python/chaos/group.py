"""A memory cgroup (v1) with a limit that can be changed, as tests/python/guarding.py has it for pytest."""

import os
import re
import signal
import time
from pathlib import Path

MEMORY = Path("/sys/fs/cgroup/memory")
PATIENCE = 20


class Group:
    def __init__(self, name, megabytes):
        self.folder = MEMORY / name
        remove(self.folder)
        self.folder.mkdir()
        self.limit(megabytes)

    def limit(self, megabytes):
        try:
            (self.folder / "memory.limit_in_bytes").write_text(str(megabytes * 10**6))
        except OSError:
            pass  # The kernel refuses what is less than is used: then it stays as it was.

    def enter(self):
        """For `preexec_fn`."""
        (self.folder / "cgroup.procs").write_text("0")

    @property
    def oom_kills(self):
        return int(re.search(r"oom_kill (\d+)", (self.folder / "memory.oom_control").read_text()).group(1))


def remove(folder):
    """Takes a group away with all that is in it."""
    until = time.monotonic() + PATIENCE
    while folder.exists() and time.monotonic() < until:
        for pid in map(int, (folder / "cgroup.procs").read_text().split()):
            # 0 is a process that this pid namespace does not show.
            if pid:
                os.kill(pid, signal.SIGKILL)
        try:
            folder.rmdir()
        except OSError:
            time.sleep(0.02)
