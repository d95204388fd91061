"""What the labs share: arguments, paced steps, and memory that is really touched.

A lab is a small program whose memory behaviour is known by construction. It takes
`--steps`, `--seconds` (for the whole run) and `--size` (megabytes; each lab says of what),
and prints `step N/M` after each step, as a training script would.
"""

import argparse
import time

MB = 1_000_000


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
    """Yield 1..steps, spread evenly over the seconds; print `step N/M` after each.

    A step that a busy machine held up makes the run longer: to catch up would put several steps between two
    samples, and a line that is straight would have corners.
    """
    for step in range(1, args.steps + 1):
        due = time.monotonic() + args.seconds / args.steps
        yield step
        print(f"step {step}/{args.steps}", flush=True)
        time.sleep(max(0.0, due - time.monotonic()))


def block(megabytes):
    """A buffer whose pages exist: zeroed memory from the kernel would not count as resident."""
    return bytearray(b"x") * max(1, int(megabytes * MB))


def records(megabytes):
    """Many small Python objects, the way parsed examples look: about 100 bytes each."""
    return [f"record {number:012d} with some text to carry" for number in range(int(megabytes * MB / 100))]
