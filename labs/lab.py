"""What the labs share: arguments, paced steps, and memory that is really touched.

A lab is a small program whose memory behaviour is known by construction. It takes
`--steps`, `--seconds` (for the whole run) and `--size` (megabytes; each lab says of what),
and prints `step N/M` after each step, as a training script would.
"""

import argparse
import atexit
import os
import time

MB = 1_000_000
# Steps of one part of the run are slower (the first ones, as in real training), those of the next faster: at an even
# pace nothing could tell what grows with the steps from what grows with time.
PARTS = 6
SLOWER, FASTER = 1.25, 0.75


def arguments(about, steps=120, seconds=30.0, size=1.0, **more):
    """Read the three common arguments, and `more` as name=default."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--seconds", type=float, default=seconds, help="length of the whole run, on a machine that keeps up")
    parser.add_argument("--size", type=float, default=size, help="megabytes; see above of what")
    for name, default in more.items():
        if default is False:
            parser.add_argument(f"--{name}", action="store_true")
        else:
            parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser.parse_args()


def paced(args):
    """Yield 1..steps, spread over the seconds; print `step N/M` after each.

    A step that a busy machine held up makes the run longer: to catch up would put several steps between two
    samples, and a line that is straight would have corners.
    """
    for step in range(1, args.steps + 1):
        part = (step - 1) * PARTS // args.steps
        due = time.monotonic() + args.seconds / args.steps * (FASTER if part % 2 else SLOWER)
        yield step
        print(f"step {step}/{args.steps}", flush=True)
        time.sleep(max(0.0, due - time.monotonic()))
    # What Python frees at its end, piece by piece, is no part of the run; on a busy machine that takes seconds.
    atexit.register(os._exit, 0)


def block(megabytes):
    """A buffer whose pages exist: zeroed memory from the kernel would not count as resident."""
    return bytearray(b"x") * max(1, int(megabytes * MB))


def records(megabytes):
    """Many small Python objects, the way parsed examples look: about 100 bytes each."""
    return [f"record {number:012d} with some text to carry" for number in range(int(megabytes * MB / 100))]


class Worker:
    """A forked process that does a piece of work for every step of its parent, and ends with it."""

    def __init__(self, work, *words):
        told, self._tell = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(told)
            return
        # Else the pipe would stay open here when the parent has ended.
        os.close(self._tell)
        while os.read(told, 1):
            work(*words)
        os._exit(0)

    def step(self):
        os.write(self._tell, b".")

    def end(self):
        os.close(self._tell)
        os.waitpid(self._pid, 0)
