"""A trainer (standard library only) with 20 forked workers that mostly wait."""

import os
import sys
import time


def main():
    data = [str(number) * 20 for number in range(400_000)]
    pids = []
    parent = os.getpid()
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            while os.getppid() == parent:
                time.sleep(0.05)
            os._exit(0)
        pids.append(pid)
    kept = []
    for step in range(1, 41):
        kept.append(bytearray(b"x" * 500_000))
        time.sleep(0.1)
        print(f"step {step}/40", flush=True)
    for pid in pids:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return len(data) == 0


if __name__ == "__main__":
    sys.exit(main())
