"""`python -m lowtide …` runs the program, in place of this interpreter."""

import os
import sys

from . import _binary


def main() -> int:
    path = _binary.find()
    if path is None:
        print("lowtide: the program was not found beside %s nor on PATH" % sys.executable, file=sys.stderr)
        print("hint: install the wheel (pip install lowtide), or set LOWTIDE_BIN", file=sys.stderr)
        return 127
    os.execv(path, [path, *sys.argv[1:]])
    return 126  # not reached: execv returns only by raising


if __name__ == "__main__":
    sys.exit(main())
