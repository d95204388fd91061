"""A loop over tqdm, and nothing else to read: one bar for all steps, or a new one for every epoch.

The log is `inside/truth.py`'s. What the bar holds lags behind what is done, so both are logged.
"""

import argparse
import time

from tqdm import tqdm
from truth import Truth


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.05, help="of a step")
    parser.add_argument("--steps", type=int, default=2500, help="of an epoch")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--disable", action="store_true", help="a bar that counts nothing")
    parser.add_argument("--log", help="default: $INSIDE_LOG")
    return parser.parse_args()


def main():
    given = options()
    truth = Truth(given.log)
    several = given.epochs > 1
    # The bar of a later epoch does not tell which one it is; the loop around it does.
    truth.counter("batch", total=given.epochs * given.steps, epoch=given.steps if several else None, ahead=1)
    done = 0
    for epoch in range(given.epochs):
        bar = tqdm(range(given.steps), disable=given.disable)
        for _ in bar:
            truth.shown("batch", epoch * given.steps + bar.n)
            time.sleep(given.seconds)
            done += 1
            truth.step("batch", done)
    truth.end("batch")


if __name__ == "__main__":
    main()
