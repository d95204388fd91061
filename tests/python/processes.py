"""Processes that find the same signals however the tests were started, and that are over with their test.

Nothing can leave our tree: pytest is a subreaper, so a process whose parent ends becomes a child of ours, also one
in a session of its own. Tests run one after the other; what came during one of them is its own.
"""

import ctypes
import os
import signal
import time

PR_SET_CHILD_SUBREAPER = 36
# What the end of killed processes may take on a busy machine; reached only when something is wrong.
PATIENCE = 60

_at_end = []


def expect_nothing_inherited():
    """Children find no signal ignored, and we stay deaf to what we were started deaf to (`nohup pytest`).

    A signal that is ignored stays so in a child; one that is caught gets its default there.
    """
    for number in signal.valid_signals():
        # Python itself ignores these two, and `subprocess` puts them back.
        if number not in (signal.SIGPIPE, signal.SIGXFSZ) and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, _hear_nothing)
    # Ignored or not known: else nobody could wait for a child.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _hear_nothing(_signal, _frame):
    pass


def keep_in_our_tree():
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def at_end(close):
    """Has something of this test closed when it is over and its processes are."""
    _at_end.append(close)


def below_us():
    """{(pid, start time): (parent, ended)} of all processes below this one."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, "rb") as file:
                fields = file.read().rpartition(b") ")[2].split()
        except OSError:
            continue
        found[int(name)] = (int(fields[1]), fields[0] in (b"Z", b"X"), int(fields[19]))
    ours = {}
    for pid, (parent, ended, start) in found.items():
        at, ways = parent, len(found)
        # The list was not read in one moment: numbers that were used twice could lead in circles.
        while at in found and at != os.getpid() and ways:
            at, ways = found[at][0], ways - 1
        if at == os.getpid():
            ours[pid, start] = (parent, ended)
    return ours


def end_all_but(before):
    """Kills what is below us and was not before, waits until it is gone, and closes what the test left to close."""
    deadline = time.monotonic() + PATIENCE
    while new := {key: value for key, value in below_us().items() if key not in before}:
        for (pid, _start), (parent, ended) in new.items():
            try:
                if not ended:
                    os.kill(pid, signal.SIGKILL)
                elif parent == os.getpid():
                    os.waitpid(pid, os.WNOHANG)
            except (ProcessLookupError, ChildProcessError):
                pass
        assert time.monotonic() < deadline, "cannot be ended: %s" % new
        time.sleep(0.002)
    while _at_end:
        _at_end.pop()()
