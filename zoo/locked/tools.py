"""Small things that the driver and the kinds share."""
import ctypes
import math
import mmap
import os
import random
import signal

MB = 1 << 20


def block(size):
    """So many bytes, all of them written to."""
    return bytearray(b"x") * max(1, int(size))


def pages(size):
    """The same straight from the kernel, as a C library does it for large arrays: goes back as soon as it is dropped."""
    mapped = mmap.mmap(-1, max(1, int(size)), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    mapped.write(b"x" * len(mapped))
    return mapped


def log(rng, low, high):
    """A number between low and high, every doubling as likely as the next."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def child(work):
    """Forks a process that calls work() and dies with its parent, however that ends."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: no orphan stays behind
        if os.getppid() == parent:
            work()
    finally:
        os._exit(0)


def end(pids):
    """Ends children of this process."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


class Kind:
    """One behaviour: what it keeps, and what is true about it. Subclasses draw in begin()."""

    family = ""
    leak = False
    trap = False
    torch = False
    epochs = (2, 40)  # passes over the data in a run, or None: it has no notion of them
    alone = 0.1  # chance that the run is one single pass

    def __init__(self, job, rng):
        self.job, self.rng = job, rng
        self.kept = 0  # bytes, by its own count
        self.onset = 1 if self.leak else None
        self.fills_in = None
        self.what = " ".join((self.__doc__ or "").split())
        self.pids = []

    def plan(self):
        """Draws how long an epoch is. Kinds whose stages consist of epochs have their own."""
        steps = self.job.steps
        if self.epochs is None:
            return None
        if self.rng.random() < self.alone:
            return steps
        return max(4, min(steps // 2, round(steps / log(self.rng, *self.epochs))))

    def growth(self, low=0.5, high=4.0, most=340):
        """Bytes that are to be kept in all, as a multiple of the base of the process. A leak of less than 60 MB could hide
        in what allocators keep of the noise, and nobody could know."""
        return int(max((60 if self.leak else 32) * MB, min(most * MB, self.job.base * log(self.rng, low, high))))

    def begin(self):
        pass

    def step(self, i):
        raise NotImplementedError

    def settles(self):
        """The step at which growth has ended for good, if that is within the run."""
        if self.leak or self.fills_in is None or self.fills_in > self.job.steps:
            return None
        return self.fills_in

    def grows_at_end(self):
        return self.settles() is None

    def finish(self):
        end(self.pids)


def shuffled(seed, epoch, count):
    """The order of the examples in one pass: another one in each."""
    order = list(range(count))
    random.Random(f"{seed}/{epoch}").shuffle(order)
    return order
