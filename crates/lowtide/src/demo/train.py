"""A small real training-like job for `lowtide demo`: standard library only.

A trainer with data-loading workers reads examples, keeps what the first touch of each produces
(as a list of lazily opened pictures would), and evaluates now and then.
With --leak it also forgets a little memory in every step.
"""

import argparse
import os
import sys
import time


def worker(examples, pages):
    """Loads batches for ever: holds a buffer of its own and wakes up often, as loaders do."""
    buffer = bytearray(pages * 4096)
    while os.getppid() != 1:
        for page in range(0, len(buffer), 4096):
            buffer[page] = examples & 0xFF
        time.sleep(0.2)


def start_workers(count, examples):
    pids = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            try:
                worker(examples, pages=1500)
            except KeyboardInterrupt:
                pass
            os._exit(0)
        pids.append(pid)
    return pids


def picture(size):
    """A decoded picture: every page is written, so it is really there."""
    return bytearray(os.urandom(4096) * (size // 4096))


def bar(step, steps, seconds):
    """One line that is drawn again and again, as tqdm does."""
    left = seconds / step * (steps - step)
    filled = "#" * (20 * step // steps)
    sys.stderr.write(
        f"\r{100 * step // steps:3d}%|{filled:<20}| {step}/{steps} "
        f"[00:{int(seconds):02d}<00:{int(left):02d}, {step / seconds:.2f}it/s]"
    )
    if step == steps:
        sys.stderr.write("\n")
    sys.stderr.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=160)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--pause", type=float, default=0.12, help="seconds a step takes")
    parser.add_argument("--example-kb", type=int, default=1000)
    parser.add_argument("--keep", action="store_true", help="keep what the first touch produces")
    parser.add_argument("--leak-kb", type=int, default=0, help="forgotten in every step")
    parser.add_argument("--eval-every", type=int, default=30)
    parser.add_argument("--eval-mb", type=int, default=120)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()

    model = picture(60_000_000)
    workers = start_workers(args.workers, args.examples)
    kept, forgotten = {}, []
    print("***** Running training *****")
    print(f"  Num examples = {args.examples}")
    print(f"  Instantaneous batch size per device = {args.batch}")
    print("  Gradient Accumulation steps = 1")
    print(f"  Total optimization steps = {args.steps}", flush=True)
    began = time.monotonic()
    for step in range(1, args.steps + 1):
        for index in range(args.batch):
            example = ((step - 1) * args.batch + index) % args.examples
            if args.keep and example not in kept:
                kept[example] = picture(args.example_kb * 1000)
        if args.leak_kb:
            forgotten.append(picture(args.leak_kb * 1000))
        time.sleep(args.pause)
        bar(step, args.steps, time.monotonic() - began)
        if args.eval_every and step % args.eval_every == 0:
            predictions = picture(args.eval_mb * 1_000_000)
            time.sleep(4 * args.pause)
            del predictions
    for pid in workers:
        os.kill(pid, 15)
    for pid in workers:
        os.waitpid(pid, 0)
    return len(model) == 0


if __name__ == "__main__":
    sys.exit(main())
