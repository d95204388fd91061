"""Runs a program, parks, and says what is in its heap: what a census from outside is compared with.

    python parked.py PROGRAM EVERY

Prints `ready` with the bytes that Python's allocator has given out, waits for a line, and prints one line of JSON: every object that the collector tracks with its type and
size, what every EVERY-th of them refers to, and all that can be reached from any of them. What it needs for that is made
and imported before it parks, so that the heap is the same before and after.
"""

import gc
import json
import os
import re
import resource
import runpy
import sys
import tempfile
import types


def name(cls):
    module = cls.__dict__.get("__module__", None)
    own = type.__dict__["__qualname__"].__get__(cls)
    if not isinstance(module, str):
        module = type.__dict__["__module__"].__get__(cls)
    return own if module == "builtins" else "%s.%s" % (module, own)


def size(thing):
    try:
        return sys.getsizeof(thing)
    except TypeError:  # a class whose own __sizeof__ is broken
        return 0


# Whatever a program or an interpreter does: of this machine's memory it takes no more.
MOST_MEMORY = 4 << 30


def runs(thing):
    """What changes from one line to the next."""
    return isinstance(thing, types.FrameType) or isinstance(thing, types.GeneratorType) and thing.gi_running


def look(every):
    things = gc.get_objects()
    ours = {id(things), id(sys._getframe())}
    tracked, refers = {}, {}
    for nth, thing in enumerate(things):
        if id(thing) in ours:
            continue
        tracked[id(thing)] = [name(type(thing)), size(thing)]
        if nth % every == 0 and not runs(thing):
            refers[id(thing)] = [id(one) for one in gc.get_referents(thing)]
    # What this function itself fills would have no end.
    reached, waiting = set(), [one for one in things if not runs(one)]
    ours |= {id(tracked), id(refers), id(reached), id(waiting)}
    while waiting:
        for one in gc.get_referents(waiting.pop()):
            if id(one) not in reached and id(one) not in ours and not runs(one):
                reached.add(id(one))
                waiting.append(one)
    return {"tracked": tracked, "refers": refers, "reached": sorted(reached), "frozen": gc.get_freeze_count()}


def pymalloc_in_use():
    """Bytes in blocks that Python's own allocator has given out. It writes them to the C library's stderr."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        [told] = re.findall(rb"^# bytes in allocated blocks\s*=\s*([\d,]+)", file.read(), re.MULTILINE)
    return int(told.replace(b",", b""))


def main(program, every):
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    sys.argv = [program]
    kept = runpy.run_path(program, run_name="__main__")
    gc.collect()
    gc.disable()
    json.dumps(look(10**9))
    pymalloc_in_use()
    gc.collect()
    print("ready %d" % pymalloc_in_use(), flush=True)
    sys.stdin.readline()
    print(json.dumps(look(every)), flush=True)
    sys.stdin.readline()
    return kept


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
