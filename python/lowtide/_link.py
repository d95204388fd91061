"""The way to a watcher: where its folder is, the datagram socket we send to, the page we read.

Fed by `_marks`, which keeps the state and decides what to send. The other side is the `lowtide`
program. Nothing here raises into the caller or waits.
"""

import errno
import mmap
import os
import socket
import stat
import time
from typing import Optional, Tuple

PAGE_SIZE = 4096
PAGE_MAGIC = b"LOWTIDE1"
REQUEST_AT = 12
REQUEST_STOP = 1
STOP_AT = slice(16, 24)
HEARTBEAT_AT = slice(24, 32)
TRIMS_AT = slice(32, 36)
# A watcher that has not ticked for a minute is gone, and what it asked for is void (the protocol).
STALE_NS = 60 * 1_000_000_000
# A folder is looked for at most this often: a stat costs a few microseconds, a mark should not.
SEARCH_EVERY_S = 1.0
# The protocol's limit. The kernel takes more, but the watcher reads into a buffer of this size.
MAX_DATAGRAM = 32 * 1024


class Link:
    """One watcher, as seen from this process."""

    __slots__ = ("folder", "address", "identity", "_socket", "page", "_trims")

    def __init__(self, folder: str, identity: Tuple[int, int, int]) -> None:
        self.folder = folder
        self.address = os.path.join(folder, "marks.sock")
        self.identity = identity
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.page: Optional[mmap.mmap] = _map_page(os.path.join(folder, "page"))
        # What was asked before we came was asked of somebody else.
        self._trims = b"" if self.page is None else self.page[TRIMS_AT]

    def send(self, data: bytes) -> bool:
        """Send or drop. False when the watcher is gone, so that the caller searches again."""
        if len(data) > MAX_DATAGRAM:
            return True
        try:
            self._socket.sendto(data, socket.MSG_DONTWAIT, self.address)
        except OSError as error:
            return error.errno in (errno.EAGAIN, errno.ENOBUFS, errno.EMSGSIZE, errno.EINTR)
        except ValueError:
            return False
        return True

    def stop_at(self, step: int) -> bool:
        """Has the watcher asked us to stop at this step or before?"""
        page = self.page
        if page is None or page[REQUEST_AT] != REQUEST_STOP:
            return False
        heartbeat = int.from_bytes(page[HEARTBEAT_AT], "little")
        if time.monotonic_ns() - heartbeat > STALE_NS:
            return False
        return step >= int.from_bytes(page[STOP_AT], "little")

    def wants_trim(self) -> bool:
        """Has the watcher asked for another trim (`--probe trim`)?"""
        page = self.page
        if page is None or page[TRIMS_AT] == self._trims:
            return False
        self._trims = page[TRIMS_AT]
        return True

    def close(self) -> None:
        # The page stays mapped until the last reader drops it: another thread may be reading.
        try:
            self._socket.close()
        except OSError:
            pass


def runtime_folder() -> str:
    """Where `lowtide attach` leaves a folder for each process it watches."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.path.isdir(base):
        return os.path.join(base, "lowtide")
    return "/tmp/lowtide-%d" % os.getuid()


def find(skip: Optional[Tuple[int, int, int]] = None) -> Optional[Link]:
    """The watcher of this very process, if there is one.

    `skip` is the identity of a socket that nobody read from any more: its file outlives a killed
    watcher, and must not hide the one that came after.
    """
    candidates = []
    given = os.environ.get("LOWTIDE_DIR")
    if given:
        candidates.append(given)
    runtime = runtime_folder()
    if not runtime.startswith("/tmp/") or _is_ours(runtime):
        candidates.append(os.path.join(runtime, str(os.getpid())))
    for folder in candidates:
        try:
            if not _is_ours(folder):
                continue
            found = os.stat(os.path.join(folder, "marks.sock"))
            identity = (found.st_dev, found.st_ino, found.st_mtime_ns)
            if stat.S_ISSOCK(found.st_mode) and identity != skip:
                return Link(folder, identity)
        except (OSError, ValueError):
            continue
    return None


def _is_ours(folder: str) -> bool:
    """A folder that others could write to may be a trap: it is as good as absent."""
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _map_page(path: str) -> Optional[mmap.mmap]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # A shorter file would kill the process with SIGBUS at the first read past its end.
            if os.fstat(fd).st_size < PAGE_SIZE:
                return None
            page = mmap.mmap(fd, PAGE_SIZE, mmap.MAP_SHARED, mmap.PROT_READ)
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return None
    return page if page[: len(PAGE_MAGIC)] == PAGE_MAGIC else None
