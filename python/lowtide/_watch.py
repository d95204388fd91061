"""`lowtide.watch()`: start a watcher for this process when none is there.

The watcher is the `lowtide` program, detached: it outlives this process by the moment it needs to
write its verdict, and it is no child of ours, so it does not count as part of the job.
"""

import os
import subprocess
import tempfile
from typing import List, Optional, Tuple

from . import _binary, _link, _marks, _warn


class Watcher:
    """A watcher that `watch` started: where it writes what it has to say."""

    def __init__(self, command: List[str], log: str) -> None:
        self.command = command
        self.log = log

    def __repr__(self) -> str:
        return "<lowtide watcher of process %s, talks to %s>" % (self.command[2], self.log)


_started: Optional[int] = None


@_warn.harmless
def watch(
    output: Optional[str] = None, quiet: bool = False, inside: bool = False, lines: bool = False
) -> Optional[Watcher]:
    """Start `lowtide attach` for this process, unless it is being watched already.

    `output` is the folder for the recording (else the program chooses). With `inside` a thread of this process looks
    at who holds what, on 1 % of the time: for processes that the watcher may not read. `lines` asks for the lines
    that make what grows, too, by some steps of `tracemalloc`. Returns None when a watcher was there, or when the
    program is missing (then one warning says so).
    """
    global _started
    if inside or lines:
        # Needed by those who ask for it alone.
        from . import _inside

        _inside.start(lines=lines)
    if _started == os.getpid() or _marks.watched():
        return None
    program = _binary.find()
    if program is None:
        _warn.once("no watcher was started: the lowtide program is neither beside Python nor on PATH")
        return None
    command = [program, "attach", str(os.getpid())]
    if output is not None:
        command += ["-o", os.fspath(output)]
    handle, log = _log_file()
    environment = dict(os.environ)
    if _link.own_place is not None:
        environment["LOWTIDE_RUNTIME_DIR"] = _link.own_place
    # The shell starts the watcher in the background and ends: the watcher is then nobody's child
    # here, leaves no zombie, and a Ctrl-C in this terminal does not reach it.
    try:
        subprocess.run(
            ["/bin/sh", "-c", '"$@" &', "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            env=environment,
            start_new_session=True,
            check=True,
        )
    finally:
        os.close(handle)
    _started = os.getpid()
    if not quiet:
        _warn.say("lowtide: watching process %d; the verdict will be in %s" % (os.getpid(), log))
    return Watcher(command, log)


def _log_file() -> Tuple[int, str]:
    """A new file, opened, in the first place that is this user's alone: what others can write they can swap."""
    for place in _link.places():
        try:
            os.mkdir(place, 0o700)
        except OSError:
            pass  # it is there, or cannot be made: the opened folder tells
        folder = _link.open_private(place)
        if folder is not None:
            try:
                return _new_log(folder, place)
            except OSError:
                continue  # a full disk, a read-only one
            finally:
                os.close(folder)
    _link.own_place = tempfile.mkdtemp(prefix="lowtide-%d-" % os.getuid())
    folder = os.open(_link.own_place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return _new_log(folder, _link.own_place)
    finally:
        os.close(folder)


def _new_log(folder: int, place: str) -> Tuple[int, str]:
    name = "watch-%d-%s.log" % (os.getpid(), os.urandom(6).hex())
    how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, how, 0o600, dir_fd=folder), os.path.join(place, name)
