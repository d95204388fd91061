"""`lowtide.watch()`: start a watcher for this process when none is there.

The watcher is the `lowtide` program, detached: it outlives this process by the moment it needs to
write its verdict, and it is no child of ours, so it does not count as part of the job.
"""

import os
import subprocess
import tempfile
from typing import List, Optional

from . import _binary, _marks, _warn
from ._link import runtime_folder


class Watcher:
    """A watcher that `watch` started: where it writes what it has to say."""

    def __init__(self, command: List[str], log: str) -> None:
        self.command = command
        self.log = log

    def __repr__(self) -> str:
        return "<lowtide watcher of process %s, talks to %s>" % (self.command[2], self.log)


_started: Optional[int] = None


@_warn.harmless
def watch(output: Optional[str] = None, quiet: bool = False) -> Optional[Watcher]:
    """Start `lowtide attach` for this process, unless it is being watched already.

    `output` is the folder for the recording (else the program chooses). Returns None when a
    watcher was there, or when the program is missing (then one warning says so).
    """
    global _started
    if _started == os.getpid() or _marks.watched():
        return None
    program = _binary.find()
    if program is None:
        _warn.once("no watcher was started: the lowtide program is neither beside Python nor on PATH")
        return None
    command = [program, "attach", str(os.getpid())]
    if output is not None:
        command += ["-o", os.fspath(output)]
    log = _log_file()
    # The shell starts the watcher in the background and ends: the watcher is then nobody's child
    # here, leaves no zombie, and a Ctrl-C in this terminal does not reach it.
    script = 'log=$1; shift; exec >>"$log" 2>&1 </dev/null; "$@" &'
    subprocess.run(
        ["/bin/sh", "-c", script, "sh", log, *command],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        check=True,
    )
    _started = os.getpid()
    if not quiet:
        _warn.say("lowtide: watching process %d; the verdict will be in %s" % (os.getpid(), log))
    return Watcher(command, log)


def _log_file() -> str:
    folder = runtime_folder()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        folder = tempfile.gettempdir()
    handle, path = tempfile.mkstemp(prefix="watch-%d-" % os.getpid(), suffix=".log", dir=folder)
    os.close(handle)
    return path
