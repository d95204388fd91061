"""The way to a watcher: where its folder is, the datagram socket we send to, the page we read.

Fed by `_marks`, which keeps the state and decides what to send. The other side is the `lowtide`
program. Nothing here raises into the caller or waits.
"""

import errno
import mmap
import os
import socket
import stat
import struct
import time
from typing import Iterator, List, Optional, Tuple

from . import _warn

PAGE_SIZE = 4096
PAGE_MAGIC = b"LOWTIDE1"
REQUEST_AT = 12
REQUEST_STOP = 1
STOP_AT = slice(16, 24)
HEARTBEAT_AT = slice(24, 32)
TRIMS_AT = slice(32, 36)
# The watcher's pid and the number of its pid namespace; nothing there in a page of an older program.
WATCHER_AT = slice(36, 40)
NAMESPACE_AT = slice(40, 48)
INSIDE_AT = 48
# The folder in which the page was made; nothing there in a page of an older program.
NAME_AT = slice(64, 128)
# Processes whose objects the watcher counts from outside: pid and start of each.
COUNTED_AT = slice(128, 384)
COUNTED_EACH = 16
# A watcher that has not ticked for a minute is gone, and what it asked for is void (the protocol).
STALE_NS = 60 * 1_000_000_000
# A folder is looked for at most this often: a stat costs a few microseconds, a mark should not.
SEARCH_EVERY_S = 1.0
# The protocol's limit. The kernel takes more, but the watcher reads into a buffer of this size.
MAX_DATAGRAM = 32 * 1024
SOCKET = "marks.sock"
OLDER = "older"


class Link:
    """One watcher, as seen from this process."""

    __slots__ = ("alive", "identity", "page", "_address", "_folder", "_inode", "_socket", "_trims")

    def __init__(self, folder: int, identity: Tuple[int, int, int], page: Optional[mmap.mmap]) -> None:
        self.identity = identity
        self.page = page
        # False once its socket had no reader; one whose files were removed may be well.
        self.alive = True
        # The opened folder, not its name: nobody can put another one in its place.
        self._folder = folder
        self._inode = os.fstat(folder)[1:3]
        self._address = "/proc/self/fd/%d/%s" % (folder, SOCKET)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        # What was asked before we came was asked of somebody else.
        self._trims = b"" if page is None else page[TRIMS_AT]

    def send(self, data: bytes) -> bool:
        """Send or drop. False when the watcher is gone, so that the caller searches again."""
        if len(data) > MAX_DATAGRAM:
            return True
        try:
            self._socket.sendto(data, socket.MSG_DONTWAIT, self._address)
        except OSError as error:
            self.alive = error.errno != errno.ECONNREFUSED
            return error.errno in (errno.EAGAIN, errno.ENOBUFS, errno.EMSGSIZE, errno.EINTR)
        except ValueError:
            return False
        return True

    def stop_at(self, step: int) -> bool:
        """Has the watcher asked us to stop at this step or before?"""
        page = self.page
        if page is None or page[REQUEST_AT] != REQUEST_STOP or _is_stale(page):
            return False
        return step >= int.from_bytes(page[STOP_AT], "little")

    def counts_objects(self) -> bool:
        """Does the watcher count the objects of this process from outside, so that nobody need count them here?"""
        page = self.page
        if page is None or _is_stale(page):
            return False
        try:
            own = struct.pack("<QQ", os.getpid(), own_start())
        except (OSError, ValueError, IndexError):
            return False
        counted = page[COUNTED_AT]
        return any(counted[at : at + COUNTED_EACH] == own for at in range(0, len(counted), COUNTED_EACH))

    def wants_trim(self) -> bool:
        """Has the watcher asked for another trim (`--probe trim`)?"""
        page = self.page
        if page is None or page[TRIMS_AT] == self._trims:
            return False
        self._trims = page[TRIMS_AT]
        return True

    def wants_inside(self) -> bool:
        """Does the watcher ask us to look from inside, because it cannot read this process?"""
        page = self.page
        return page is not None and page[INSIDE_AT] == 1

    def watcher(self) -> Tuple[int, int]:
        """The watcher's pid, and the pid namespace in which that is its number. Zeros where it does not say."""
        page = self.page
        if page is None:
            return 0, 0
        return int.from_bytes(page[WATCHER_AT], "little"), int.from_bytes(page[NAMESPACE_AT], "little")

    def close(self) -> None:
        # The page stays mapped until the last reader drops it: another thread may be reading.
        folder, self._folder = self._folder, -1
        try:
            self._socket.close()
            # A job that closes all that is open (a daemon) may have another file of this number by now.
            if folder >= 0 and os.fstat(folder)[1:3] == self._inode:
                os.close(folder)
        except OSError:
            pass


def _is_stale(page: mmap.mmap) -> bool:
    return time.monotonic_ns() - int.from_bytes(page[HEARTBEAT_AT], "little") > STALE_NS


def places() -> List[str]:
    """Where a process and its watcher look for each other; the program looks in the same places."""
    uid = os.getuid()
    found = [] if own_place is None else [own_place]
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.path.isdir(base):
        found.append(os.path.join(base, "lowtide"))
    return found + ["/tmp/lowtide-%d" % uid, "/run/user/%d/lowtide" % uid]


# What `watch` made, where none of the others could be had.
own_place: Optional[str] = None


def own_name() -> str:
    """This process, also among those of other containers that have the same pid.

    Its pid, the namespace in which that means something, when it began (pids come again), the boot.
    """
    namespace = "".join(filter(str.isdigit, os.readlink("/proc/self/ns/pid")))
    start = own_start()
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read(8).strip()
    except OSError:
        boot = ""
    return "%d-%s-%d-%s" % (os.getpid(), namespace, start, boot)


def own_start() -> int:
    """When this process began, in the kernel's ticks since boot."""
    with open("/proc/self/stat", "rb") as file:
        return int(file.read().rpartition(b") ")[2].split()[19])


def find(skip: Optional[Tuple[int, int, int]] = None) -> Optional[Link]:
    """The watcher of this very process, if there is one.

    `skip` is the identity of a socket that nobody read from any more: its file outlives a killed
    watcher, and must not hide the one that came after.
    """
    for folder, name in _candidates():
        link = None
        try:
            found = os.stat(SOCKET, dir_fd=folder, follow_symlinks=False)
            identity = (found.st_dev, found.st_ino, found.st_mtime_ns)
            if stat.S_ISSOCK(found.st_mode) and identity != skip:
                page = _map_page(folder)
                if _is_of(page, name):
                    link = Link(folder, identity, page)
        except (OSError, ValueError):
            pass
        if link is not None:
            return link
        os.close(folder)
    return None


def _candidates() -> Iterator[Tuple[int, str]]:
    """Opened folders that may be those of our watcher, each with its name. Who takes one closes it."""
    given = os.environ.get("LOWTIDE_DIR")
    folder = open_private(given) if given else None
    if given and folder is not None:
        yield folder, os.path.basename(given.rstrip("/"))
    try:
        name = own_name()
    except (OSError, ValueError, IndexError):
        return  # without /proc nobody is watched either
    for place in places():
        runtime = open_private(place)
        if runtime is None:
            continue
        try:
            # Made by us alone, as all in this folder, so a link in it is to be followed.
            folder = open_private(name, runtime, os.O_RDONLY)
            if folder is not None:
                yield folder, _target(name, runtime)
            else:
                _warn_of_older(runtime)
        finally:
            os.close(runtime)


def open_private(path: str, within: Optional[int] = None, how: int = os.O_NOFOLLOW) -> Optional[int]:
    """A folder that only this user can write, opened: one that others can write may be a trap.

    Owner and mode are asked of what was opened; its name may be another folder's by now.
    """
    try:
        fd = os.open(path, how | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=within)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(fd)
        if found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return fd
    except OSError:
        pass
    os.close(fd)
    return None


def _target(name: str, runtime: int) -> str:
    try:
        return os.path.basename(os.readlink(name, dir_fd=runtime))
    except OSError:
        return name


def _warn_of_older(runtime: int) -> None:
    """A program that is older than this package leaves a link that a pid alone names. It is not followed: the pid
    may be that of another container. A newer program has such a link too, which leads to a folder without a page."""
    try:
        target = os.readlink(str(os.getpid()), dir_fd=runtime)
    except OSError:
        return
    if os.path.basename(target) != OLDER:
        _warn.once(
            "a lowtide program that is older than this package watches a process %d: it gets no marks\n"
            "hint: install the same version of both" % os.getpid()
        )


def _is_of(page: Optional[mmap.mmap], name: str) -> bool:
    """Is this the page that was made in the folder of this name?"""
    if page is None:
        return True  # marks go there, and nothing can be asked
    made_in = page[NAME_AT].rstrip(b"\0")
    return not made_in or made_in == os.fsencode(name)


def _map_page(folder: int) -> Optional[mmap.mmap]:
    try:
        fd = os.open("page", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            found = os.fstat(fd)
            # A shorter file would kill the process with SIGBUS at the first read past its end.
            if not stat.S_ISREG(found.st_mode) or found.st_size < PAGE_SIZE:
                return None
            page = mmap.mmap(fd, PAGE_SIZE, mmap.MAP_SHARED, mmap.PROT_READ)
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return None
    return page if page[: len(PAGE_MAGIC)] == PAGE_MAGIC else None
