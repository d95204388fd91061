"""Checks the generated programs themselves: `python check.py [COUNT] [PYTHON ...]`.

Without a PYTHON it is the one that runs this.

Each ten run in a process of their own, twice: in one that looks at every step and proves what `slots()` says by other
means, and in the host, which is asked a few times only. Both must have seen the same, on every Python.
"""

import collections
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time

import generated
import host

STEPS = 60
FREE = 30
GROUP = 10
# The names that any program may have are those of this many; each of them should be in one program of fifty.
ENOUGH = 2000
SHARE = 50
CONTAINERS = (list, dict, set, tuple, collections.deque)


# -- within a process that runs programs -----------------------------------------------------------


def lengths(slots):
    return {label: None if one is None else one["len"] for label, one in slots.items()}


def weight(item):
    """The bytes of an item with what it alone has."""
    parts = item if isinstance(item, (list, tuple)) else [getattr(item, "value", None)]
    return sys.getsizeof(item) + sum(sys.getsizeof(part) for part in parts if part is not None)


def expect_large(label, held):
    """Large enough to be noticed, as set up. What a bounded cache holds is out of reach from here."""
    assert isinstance(held, CONTAINERS), (label, held)
    assert len(held) >= 16, (label, len(held))
    if not label.endswith(":cache"):
        values = held.values() if isinstance(held, dict) and not isinstance(held, collections.Counter) else held
        assert all(200 <= weight(value) <= 4000 for value in values), label
        assert len({id(value) for value in values}) == len(held), label


def frame_of(module, owner, label):
    """The frame that was given this label: of one that waits, or of a function on some thread."""
    waiting = getattr(module, owner)
    if type(waiting).__name__ != "Turn":
        while True:
            kind = "gi" if hasattr(waiting, "gi_frame") else "cr"
            frame = getattr(waiting, kind + "_frame")
            if frame.f_locals.get("name") == label:
                return frame
            waiting = waiting.gi_yieldfrom if kind == "gi" else waiting.cr_await
    for frame in sys._current_frames().values():
        while frame:
            # Two programs may have the same label.
            if frame.f_globals is vars(module) and frame.f_locals.get("name") == label:
                return frame
            frame = frame.f_back
    raise AssertionError(label)


def found(module, label, last):
    """What is in the slot, by the label instead of by the program; None if that can be told at the end only."""
    owner, _, name = label.partition(":")
    if not name:
        return eval(label, vars(module))
    if name == "cache":
        return None
    if owner.startswith("CHANGE"):
        change = getattr(module, owner)
        return change.__closure__[change.__code__.co_freevars.index(name)].cell_contents
    # Up to 3.12 a look at the locals of a frame leaves a copy of them there, which would hold what leaves its slot.
    return frame_of(module, owner, label).f_locals[name] if last else None


def expect_true(module, slots, last):
    for label, one in slots.items():
        if one is None:
            continue
        held = ctypes.cast(one["id"], ctypes.py_object).value
        of = type(held)
        assert (of.__module__ + "." + of.__qualname__, len(held)) == (one["type"], one["len"]), label
        other = found(module, label, last)
        assert other is None or other is held, label
        if label.endswith(":cache"):
            assert len(held) == getattr(module, label.split(":")[0]).cache_info().currsize


def containers():
    """How many there are: a look could leave some behind, as the dict of an owner that had none."""
    # More than once: what a collection finds to hold nothing of interest it leaves out of the next one.
    for _ in range(3):
        gc.collect()
    return sum(isinstance(one, CONTAINERS) for one in gc.get_objects())


def references(module):
    """As text, which is no container and is not counted as one."""
    return " ".join(str(sys.getrefcount(held)) for held in module.slots().values())


def inside(seeds):
    """Prints the lengths after every step, for each seed."""
    # Before any look, or the first one would have done what it does.
    with tempfile.TemporaryDirectory() as folder:
        programs = host.Host(seeds, folder)
        before = containers()
        for module in programs.modules.values():
            module.slots()
        assert containers() == before, "slots() left containers behind"
        for module in programs.modules.values():
            slots = module.slots()
            assert 1 <= len(slots) <= generated.TRACKED
            for label, held in slots.items():
                expect_large(label, held)
            del slots, held
        seen = {seed: [] for seed in seeds}
        for step in range(STEPS + FREE + 1):
            for seed, slots in programs.slots().items():
                seen[seed].append(slots)
                expect_true(programs.modules[seed], slots, step == STEPS + FREE)
            if step % 20 == 5:  # never the last one, which looks into frames
                before = containers()
                for module in programs.modules.values():
                    assert references(module) == references(module), "slots() left references behind"
                assert containers() == before, "slots() left containers behind"
            if step < STEPS + FREE:
                programs.step()
    texts = {seed: generated.program(int(seed)) for seed in seeds}
    host.say({"seen": seen, "texts": texts})
    host.leave(0)


# -- around them -----------------------------------------------------------------------------------


def run_host(python, seeds):
    """The answers of the host: as set up, after some steps, after some more at full speed."""
    command = [python, host.__file__, *seeds]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        say = lambda line: (process.stdin.write(line + "\n"), process.stdin.flush())  # noqa: E731
        answers = [json.loads(process.stdout.readline())]
        assert answers[0]["pid"] == process.pid
        say("step %d" % STEPS)
        answers.append(json.loads(process.stdout.readline()))
        say("free %d" % FREE)
        time.sleep(0.05)
        say("")
        answers.append(json.loads(process.stdout.readline()))
        say("end")
        rest = process.stdout.read()
    assert (rest, process.returncode) == ("", 0)
    return answers


def check_group(python, seeds):
    command = [python, os.path.abspath(__file__), "--inside", *seeds]
    looked = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=300).stdout)
    answers = run_host(python, seeds)
    for seed in seeds:
        seen = looked["seen"][seed]
        for answer in answers:
            assert lengths(answer["slots"][seed]) == lengths(seen[answer["steps"]]), seed
        for label, of in answers[2]["range"][seed].items():
            spanned = [slots[label] for slots in seen[STEPS : answers[2]["steps"] + 1]]
            assert of["absent"] or None not in spanned, (seed, label)
            assert all(one is None or of["min"] <= one["len"] <= of["max"] for one in spanned), (seed, label)
    return looked, answers[2]["steps"] - STEPS


def check_python(python, count):
    """The lengths and texts of all programs there, which should be those of any other Python."""
    everything, free = {}, 0
    moved, changed, total = 0, 0, 0
    for start in range(0, count, GROUP):
        seeds = [str(seed) for seed in range(start, min(start + GROUP, count))]
        looked, steps = check_group(python, seeds)
        free += steps
        for seed in seeds:
            seen = looked["seen"][seed]
            everything[seed] = (looked["texts"][seed], [lengths(slots) for slots in seen])
            for label in seen[0]:
                held = [slots[label] for slots in seen if slots[label]]
                total += 1
                moved += len({one["id"] for one in held}) > 1
                changed += len({one["len"] for one in held}) > 1
    print("%s: %d programs, %d slots" % (python, count, total))
    print("    the length changed in %d, the address in %d" % (changed, moved))
    print("    %d steps at full speed" % free, flush=True)
    return everything


def table(count):
    used = collections.Counter(name for seed in range(count) for name in generated.uses(seed))
    every = {name for seed in range(max(count, ENOUGH)) for name in generated.uses(seed)}
    for name in sorted(every, key=lambda name: (-used[name], name)):
        print("%5d  %s" % (used[name], name))
    rare = sorted(name for name in every if used[name] < count // SHARE)
    # Few programs may lack something by chance.
    assert not rare or count < 500, "too rare: " + ", ".join(rare)


def main(given):
    count = int(given.pop(0)) if given and given[0].isdigit() else 500
    table(count)
    results = [check_python(python, count) for python in given or [sys.executable]]
    for result in results[1:]:
        assert result == results[0], "not the same on every Python"
    print("all is well")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
    else:
        main(sys.argv[1:])
