"""A disk that can be full, read-only, broken, slow or hang: a file system in memory, served to the kernel by FUSE.

The kernel sees a real file system with real errors, and when this process ends all of it is over. Names follow
<linux/fuse.h>.
"""

import ctypes
import errno
import os
import struct
import threading
import time

LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, UNLINK, RMDIR = 1, 2, 3, 4, 9, 10, 11
OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT = 14, 15, 16, 17, 18, 20, 25, 26
OPENDIR, READDIR, RELEASEDIR, FSYNCDIR, CREATE, INTERRUPT, DESTROY, BATCH_FORGET = 27, 28, 29, 30, 35, 36, 38, 42
CHANGES = (SETATTR, MKDIR, UNLINK, RMDIR, WRITE, FSYNC, CREATE)
LARGEST_WRITE = 128 << 10
SET_SIZE = 1 << 3
HEADER = struct.Struct("IIQQIIII")
# A hanging disk answers after this many seconds, whatever becomes of who should have healed it: a process that
# waits for a disk inside of exec or exit holds up everybody who reads its /proc files, all over the machine.
LONGEST_HANG = 6


class Node:
    def __init__(self, number, mode):
        self.number, self.mode = number, mode
        self.data, self.names = bytearray(), {}
        self.written = time.time_ns()

    @property
    def is_folder(self):
        return self.mode & 0o170000 == 0o040000

    def attributes(self):
        seconds, nanos = divmod(self.written, 10**9)
        size = len(self.data)
        times = (seconds,) * 3 + (nanos,) * 3
        return struct.pack("6Q10I", self.number, size, (size + 511) // 512, *times, self.mode, 1, 0, 0, 0, 4096, 0)


class Disk:
    def __init__(self, folder):
        self.error = None  # what changes fail with
        self.room = None  # bytes that still fit
        self.delay = 0.0  # seconds that a change takes
        self.answers = threading.Event()
        self.answers.set()
        self.nodes = {1: Node(1, 0o040700)}
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % self.device
        mount(b"chaos", str(folder).encode(), b"fuse", 0, options.encode())
        threading.Thread(target=self.serve, daemon=True).start()

    def heal(self):
        self.error = self.room = None
        self.delay = 0.0
        self.answers.set()

    def serve(self):
        while True:
            try:
                request = os.read(self.device, LARGEST_WRITE + 4096)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return  # unmounted
            _length, what, unique, number = HEADER.unpack_from(request)[:4]
            if what in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            asked = (what, unique, number, request[HEADER.size :])
            # Only what changes the disk waits for it; the rest is answered meanwhile.
            if what in CHANGES and (self.delay or not self.answers.is_set()):
                threading.Thread(target=self.reply, args=asked, daemon=True).start()
            else:
                self.reply(*asked)

    def reply(self, what, unique, number, body):
        try:
            code, answer = 0, self.answer(what, number, body)
        except OSError as error:
            code, answer = -error.errno, b""
        try:
            os.write(self.device, struct.pack("IiQ", 16 + len(answer), code, unique) + answer)
        except OSError:
            pass  # who asked is gone

    def answer(self, what, number, body):
        if what in CHANGES:
            self.answers.wait(LONGEST_HANG)
            time.sleep(self.delay)
            if self.error:
                raise OSError(self.error, "")
        node = self.nodes.get(number)
        if what == INIT:
            return struct.pack("IIIIHHIIHHI7I", 7, 31, 65536, 0, 16, 12, LARGEST_WRITE, 1, 32, 0, 0, *[0] * 7)
        if what == STATFS:
            return struct.pack("5Q6I24x", 1000, 500, 500, 1000, 500, 4096, 255, 4096, 0, 0, 0)
        if what == LOOKUP:
            return self.entry(self.named(node, body))
        if what == GETATTR:
            return struct.pack("QII", 0, 0, 0) + node.attributes()
        if what == SETATTR:
            valid, _, _, size = struct.unpack_from("IIQQ", body)
            if valid & SET_SIZE:
                del node.data[size:]
                node.data.extend(bytes(size - len(node.data)))
            return struct.pack("QII", 0, 0, 0) + node.attributes()
        if what in (OPEN, OPENDIR):
            return struct.pack("QII", 0, 0, 0)
        if what in (FLUSH, RELEASE, RELEASEDIR, FSYNC, FSYNCDIR, DESTROY):
            return b""
        if what == READ:
            _, offset, size = struct.unpack_from("QQI", body)
            return bytes(node.data[offset : offset + size])
        if what == WRITE:
            return self.write(node, body)
        if what == READDIR:
            return self.listed(node, *struct.unpack_from("8xQI", body))
        if what == MKDIR:
            return self.entry(self.make(node, body[8:], 0o040000 | struct.unpack_from("I", body)[0]))
        if what == CREATE:
            made = self.make(node, body[16:], 0o100000 | struct.unpack_from("4xI", body)[0])
            return self.entry(made) + struct.pack("QII", 0, 0, 0)
        if what in (UNLINK, RMDIR):
            self.named(node, body)
            del node.names[body.rstrip(b"\0")]
            return b""
        raise OSError(errno.ENOSYS, "")

    def named(self, folder, name):
        number = folder.names.get(name.rstrip(b"\0"))
        if number is None:
            raise OSError(errno.ENOENT, "")
        return self.nodes[number]

    def make(self, folder, name, mode):
        node = Node(len(self.nodes) + 1, mode)
        self.nodes[node.number] = node
        folder.names[name.rstrip(b"\0")] = node.number
        return node

    def entry(self, node):
        return struct.pack("QQQQII", node.number, 0, 0, 0, 0, 0) + node.attributes()

    def write(self, node, body):
        _, offset, size = struct.unpack_from("QQI", body)
        grows = offset + size - len(node.data)
        if self.room is not None and grows > self.room:
            # As file systems do: what fits is written, and only the next byte fails.
            size -= grows - self.room
            if size <= 0:
                raise OSError(errno.ENOSPC, "")
        node.data.extend(bytes(max(0, offset - len(node.data))))
        before = len(node.data)
        node.data[offset : offset + size] = body[40 : 40 + size]
        node.written = time.time_ns()
        if self.room is not None:
            self.room -= len(node.data) - before
        return struct.pack("II", size, 0)

    def listed(self, node, offset, size):
        answer = b""
        for number, (name, inode) in enumerate(list(node.names.items())[offset:], offset + 1):
            kind = self.nodes[inode].mode >> 12
            entry = struct.pack("QQII", inode, number, len(name), kind) + name
            entry += bytes(-len(entry) % 8)
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return answer


def mount(source, target, kind, flags, options):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source, target, kind, ctypes.c_ulong(flags), options):
        code = ctypes.get_errno()
        raise OSError(code, "mount %s: %s" % (target.decode(), os.strerror(code)))
