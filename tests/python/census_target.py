"""Runs a script as `__main__` and then stands still, so that inside and outside see the same heap.

    python census_target.py SCRIPT [ARGUMENTS...]

Prints `ready PID` when the script is over and what measuring leaves behind is made. Each line on stdin is a path: the
truth of `census_truth.py` is written there, and `done` printed. Between lines it is blocked in read(2) with nothing
of its own in its hands; at the end of its input it exits.
"""

import gc
import os
import sys
import types


def main():
    script = sys.argv[1]
    sys.argv = sys.argv[1:]
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    module = types.ModuleType("__main__")
    module.__file__ = script
    sys.modules["__main__"] = module
    with open(script) as file:
        code = compile(file.read(), script, "exec")
    exec(code, module.__dict__)
    del code, file, module, script
    sys.path.append(folder)
    import census_truth

    # What is made once: caches of encoders and of patterns, wrappers of tensors' storages.
    census_truth.dump(os.devnull)
    gc.collect()
    census_truth.dump(os.devnull)
    gc.disable()
    say("ready %d\n" % os.getpid())
    while True:
        path = read_line()
        if not path:
            return
        census_truth.dump(path)
        path = None
        say("done\n")


def say(text):
    sys.stdout.flush()
    os.write(1, text.encode())


def read_line():
    """By single bytes, each of which Python has already: nothing is made while we wait."""
    line = b""
    while True:
        byte = os.read(0, 1)
        if byte in (b"", b"\n"):
            return line.decode()
        line += byte


# Beside the script's `__main__`, this one is nobody's module: its functions hold it.
main()
