"""How well the walk over a heap from outside agrees with what the process says of itself.

    python tests/python/census/accuracy.py [PROGRAM...]

prints a row for every program and interpreter of this machine (tests/python/interpreters.py): objects that the collector
tracks and how many of them were found, bytes by `sys.getsizeof`, references found, references that are not there, and the
blocks of Python's allocator that were found, of what `sys._debugmallocstats` says is in use.
It takes `cargo build -p lowtide-census --example heap`.

What the collector is not told is no mistake: names of attributes, the strings in code and types, a module's own table. So
a reference counts as false if it comes from a container whose items are all told, or leads to what nothing else leads to
and is no leaf.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

PROGRAMS = sorted((HERE / "programs").glob("*.py"))
HEAP = HERE.parents[2] / "target" / "debug" / "examples" / "heap"
EVERY = 3
# What Python's allocator gives out itself; what is larger comes from the C library.
SMALL = 512
# Asked what a generator refers to that another thread runs, this interpreter answers until memory is full.
LEFT_OUT = {("3.12.1", "concurrency")}
# All that they refer to is told.
TELL_ALL = {"list", "tuple", "set", "frozenset", "collections.deque", "cell", "method", "list_iterator", "staticmethod"}
# Nothing refers to them that the collector would ask, and they refer to nothing.
LEAVES = {"str", "bytes", "int", "float", "complex", "code", "moduledef"}
# A class has its __slots__, and nobody is told.
UNTOLD = {("type", "tuple"), ("abc.ABCMeta", "tuple")}


def walked(pid):
    """The walk's own lines, taken apart."""
    done = subprocess.run([HEAP, str(pid)], capture_output=True, text=True, check=True)
    kinds, objects, edges, blocks, passed = {}, {}, {}, [], None
    for line in done.stdout.splitlines():
        sign, *words = line.split(" ")
        if sign == "P":
            passed = dict(zip(("tracked", "frozen", "broken", "torn"), map(int, words)))
        elif sign == "K":
            kinds[words[0]] = " ".join(words[3:])
        elif sign == "O":
            objects[int(words[0])] = (kinds[words[1]], int(words[3]))
        elif sign == "B":
            blocks.append(tuple(map(int, words)))
        elif sign == "E":
            edges[int(words[0])] = {int(word) for word in words[1:]}
    assert passed is not None, done.stderr
    return objects, edges, pymalloc(blocks, arenas(pid)), passed


def arenas(pid):
    """Where Python's allocator has its blocks: memory of no file, but neither the C library's heap nor a program's data."""
    found, before = [], None
    for line in Path("/proc/%d/maps" % pid).read_text().splitlines():
        span, rights, _, _, inode, *path = line.split(None, 5)
        start, end = (int(word, 16) for word in span.split("-"))
        data = before and before[0] == start and before[1].startswith(("python3", "libpython3"))
        if rights == "rw-p" and inode == "0" and not path and not data:
            found.append((start, end))
        before = (end, Path(path[0]).name if path else "")
    return found


def pymalloc(blocks, arenas):
    """Bytes of all blocks that are small enough for it, each as large as its class of sizes, and each once."""
    seen, total = set(), 0
    for at, size, count in blocks:
        if size > SMALL or at and (at in seen or not any(start <= at < end for start, end in arenas)):
            continue
        seen.add(at)
        total += -(-size // 16) * 16 * count
    return total


def compare(truth, objects, edges, in_use, passed):
    tracked = {int(address): told for address, told in truth["tracked"].items()}
    found = tracked.keys() & objects.keys()
    reached = set(truth["reached"]) | tracked.keys()
    told = missed = false = ours = 0
    wrong = Counter()
    for address, refers in truth["refers"].items():
        refers, seen = set(refers), edges.get(int(address), set())
        kind = tracked[int(address)][0]
        told += len(refers)
        missed += len(refers - seen)
        wrong.update(("missed", kind) for _ in refers - seen)
        ours += len(seen)
        for extra in seen - refers:
            leads = objects[extra][0]
            if (kind, leads) in UNTOLD:
                continue
            if kind in TELL_ALL or (extra not in reached and leads not in LEAVES):
                false += 1
                wrong["false", kind, leads] += 1
    names = Counter((objects[a][0], tracked[a][0]) for a in found if objects[a][0] != tracked[a][0])
    return {
        "objects": len(tracked),
        "found": len(found),
        "frozen": (truth["frozen"], passed["frozen"]),
        "bytes": sum(objects[a][1] for a in found) / max(1, sum(tracked[a][1] for a in found)),
        "edges": 1 - missed / max(1, told),
        "false": false / max(1, ours),
        "told": told,
        "missed": missed,
        "false_edges": false,
        "ours": ours,
        "told_bytes": sum(tracked[a][1] for a in found),
        "pymalloc": in_use / truth["pymalloc"],
        "torn": passed["torn"],
        "broken": passed["broken"],
        "names": names,
        "wrong": wrong,
    }


def measure(command, environment=None, **options):
    """One program on one interpreter: `command` runs parked.py."""
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
    ) as job:
        try:
            ready, in_use = job.stdout.readline().split()
            assert ready == "ready"
            seen = walked(job.pid)
            job.stdin.write("\n")
            job.stdin.flush()
            truth = {"pymalloc": int(in_use), **json.loads(job.stdout.readline())}
        finally:
            job.kill()
    return compare(truth, *seen)


def on(interpreter, program):
    """The command and the environment for an interpreter of tests/python/interpreters.py."""
    command = interpreter.command(HERE / "parked.py", interpreter.command(program)[-1], EVERY)
    return command, interpreter.environment()


def interpreters():
    from interpreters import plain_cpythons

    return plain_cpythons()


def main(programs):
    head = ("interpreter", "program", "objects", "found", "bytes", "references", "found", "false", "pymalloc")
    row = "%-34s %-14s %8s %9s %9s %10s %9s %8s %9s"
    print(row % head)
    for interpreter in interpreters():
        for program in programs:
            if (interpreter.version, program.stem) in LEFT_OUT:
                continue
            one = measure(*on(interpreter, program))
            print(row % (
                str(interpreter)[:34], program.stem[:14], one["objects"], "%.3f %%" % (100 * one["found"] / one["objects"]),
                "%.2f %%" % (100 * one["bytes"]), one["told"], "%.3f %%" % (100 * one["edges"]), "%.3f %%" % (100 * one["false"]),
                "%.2f %%" % (100 * one["pymalloc"]),
            ), flush=True)
            for what, count in one["wrong"].most_common(3):
                print("    ", *what, count)


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]] or PROGRAMS)
