"""A watcher made of a real datagram socket and a real page, as the protocol has them.

The tests that need no verdict use this in place of the program: they look at the very bytes.
"""

import json
import mmap
import os
import socket
import struct
import threading
import time
from pathlib import Path


class Watcher:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder
        self.page_path = folder / "page"
        self.write_page()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(folder / "marks.sock"))
        # The kernel queues only net.unix.max_dgram_qlen datagrams (10 by default): read at once.
        self.all = []
        self._news = threading.Condition()
        self._reader = None
        self.start()

    def start(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            data = self.socket.recv(65536)
            if data == b"stop":
                return
            with self._news:
                self.all.append(json.loads(data))
                self._news.notify_all()

    def stop(self) -> None:
        """Read no more; what has been sent before has been read then."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
            own.sendto(b"stop", str(self.folder / "marks.sock"))
        self._reader.join()

    def write_page(self, request=0, stop_at=0, heartbeat=None, attempt=0) -> None:
        heartbeat = time.monotonic_ns() if heartbeat is None else heartbeat
        head = struct.pack("<8sIB3xQQ", b"LOWTIDE1", attempt, request, stop_at, heartbeat)
        if not self.page_path.exists():
            self.page_path.write_bytes(head.ljust(4096, b"\0"))
            return
        with open(self.page_path, "r+b") as file, mmap.mmap(file.fileno(), 4096) as page:
            page[: len(head)] = head

    def counts_objects_of(self, pid: int, start: int) -> None:
        """As a watcher does that took a census of a process; a second one, after another process."""
        with open(self.page_path, "r+b") as file, mmap.mmap(file.fileno(), 4096) as page:
            page[128:160] = struct.pack("<QQQQ", 1, 1, pid, start)

    def received(self) -> list:
        """All datagrams since the last call, with those that are still on their way to us."""
        self.stop()
        found, self.all = self.all, []
        self.start()
        return found

    def wait_for(self, wanted, seconds=60) -> list:
        """Datagrams up to and with the first that `wanted` accepts."""
        with self._news:
            assert self._news.wait_for(lambda: any(map(wanted, self.all)), seconds), self.all
            return list(self.all)

    def close(self) -> None:
        """Like a kill: the socket's file stays behind."""
        if self.socket.fileno() >= 0:
            if os.path.exists(self.folder / "marks.sock"):
                self.stop()
            self.socket.close()
