"""Programs whose loop is not where one looks first: in a child of a fork server or of spawn, or in a subinterpreter."""

import multiprocessing
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

STEPS, PAUSE = 300, 0.035


def loop():
    from tqdm import tqdm
    from truth import Truth

    truth = Truth()
    truth.counter("batch", total=STEPS, ahead=1)
    bar = tqdm(range(STEPS))
    for done in bar:
        truth.shown("batch", bar.n)
        time.sleep(PAUSE)
        truth.step("batch", done + 1)


def child(method):
    """The child's log has the child's pid; who attaches to the parent watches both."""
    context = multiprocessing.get_context(method)
    process = context.Process(target=loop)
    process.start()
    process.join()


def subinterpreter(main_too):
    """The loop runs in a second interpreter of this process, and in the first one too if asked."""
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    import threading

    second = interpreters.create()
    code = (
        "import os, sys, time\n"
        "sys.path[:0] = %r\n"
        "from tqdm import tqdm\n"
        "tqdm.monitor_interval = 0\n"
        "from truth import Truth\n"
        "truth = Truth()\n"
        "truth.counter('second', total=%d, ahead=1)\n"
        "bar = tqdm(range(%d))\n"
        "for done in bar:\n"
        "    truth.shown('second', bar.n)\n"
        "    time.sleep(0.03)\n"
        "    truth.step('second', done + 1)\n"
        "os.write(%d, b'.')\n"
        "time.sleep(1000)\n"
    )
    over, tells = os.pipe()
    code %= (sys.path, STEPS + 40, STEPS + 40, tells)
    threading.Thread(target=lambda: interpreters.run_string(second, code), daemon=True).start()
    if main_too:
        loop()
    # It does not return: the end of a second interpreter that imported this much hangs the process at times.
    os.read(over, 1)


if __name__ == "__main__":
    {
        "spawn": lambda: child("spawn"),
        "forkserver": lambda: child("forkserver"),
        "fork": lambda: child("fork"),
        "subinterpreter": lambda: subinterpreter(False),
        "both_interpreters": lambda: subinterpreter(True),
    }[sys.argv[1]]()
    os._exit(0)
