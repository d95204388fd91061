"""Keeps a block of bytes a step in a list, prints nothing, and ends when a file is there.

    python keeps.py FILE [OBJECTS]      has so many other objects from the start
"""

import sys
import time
from pathlib import Path

CACHE = []
OTHERS = [str(n) for n in range(*map(int, sys.argv[2:3] or ["0"]))]


def main():
    end = Path(sys.argv[1])
    while not end.exists():
        CACHE.append(bytearray(b"x") * 200_000)
        time.sleep(0.05)


main()
