"""Runs generated programs in one process and says what is in their slots: `python host.py SEED [SEED...]`.

Each answer is a line of JSON: {"pid", "steps", "slots": {seed: {label: {"id", "type", "len"} or null}}}. The first one
comes after all are set up, then one for each line of stdin:

  step K   K steps of every program
  free [K] steps at full speed until the next line arrives, at most K of them; the answer comes then, and has "range"
           as well, {seed: {label: {"min", "max", "absent"}}}: the lengths that were to be seen meanwhile, and whether
           the slot was without a container for a moment. The next line is obeyed after that; an empty one has no answer
           of its own.
  end      the end, as is the end of stdin

Between two commands nothing moves, not even threads.
"""

import importlib.util
import json
import os
import queue
import select
import sys
import tempfile
import threading
import traceback

import generated


class Commands:
    """The lines of stdin, which can be looked for without waiting."""

    def __init__(self):
        self._rest = b""
        self._ended = False

    def waiting(self):
        return self._ended or b"\n" in self._rest or bool(select.select([0], [], [], 0)[0])

    def next(self):
        """The words of the next line; `end` if there is none."""
        while b"\n" not in self._rest and not self._ended:
            more = os.read(0, 4096)
            self._rest += more
            self._ended = not more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode().split() if line or not self._ended else ["end"]


class Host:
    def __init__(self, seeds, folder, start=None):
        self.steps = 0
        self._seen = None
        self.modules = {seed: load(seed, folder) for seed in seeds}
        for seed, module in self.modules.items():
            module.mark = self._listener(seed)
            # The threads of every second program: the first of them is to have the main thread.
            if start and hasattr(module, "start") and int(seed) % 2 == 0:
                module.start = start
        for module in self.modules.values():
            module.setup()

    def step(self):
        for module in self.modules.values():
            module.step(self.steps)
        self.steps += 1

    def slots(self):
        return {seed: slots_of(module) for seed, module in self.modules.items()}

    def state(self):
        return {"pid": os.getpid(), "steps": self.steps, "slots": self.slots()}

    def free(self, enough, limit):
        """Steps until `enough()`, and what was to be seen in each slot meanwhile."""
        self._seen = {seed: {} for seed in self.modules}
        for seed, module in self.modules.items():
            for label, held in module.slots().items():
                self._note(seed, label, held)
        del held  # or it would live on in here
        last = self.steps + limit
        while not enough():
            if self.steps < last:
                self.step()
            else:
                select.select([0], [], [])
        seen, self._seen = self._seen, None
        return {**self.state(), "range": seen}

    def _listener(self, seed):
        def mark(label, held):
            if self._seen is not None:
                self._note(seed, label, held)

        return mark

    def _note(self, seed, label, held):
        of = self._seen[seed].setdefault(label, {"min": None, "max": None, "absent": False})
        if held is None:
            of["absent"] = True
        else:
            size = len(held)
            of["min"] = size if of["min"] is None else min(of["min"], size)
            of["max"] = size if of["max"] is None else max(of["max"], size)


def slots_of(module):
    return {label: told(held) for label, held in module.slots().items()}


def told(held):
    if held is None:
        return None
    of = type(held)
    return {"id": id(held), "type": "%s.%s" % (of.__module__, of.__qualname__), "len": len(held)}


def load(seed, folder):
    """The program as a module of its own."""
    name = "prog_%s" % seed
    path = os.path.join(folder, name + ".py")
    with open(path, "w") as file:
        file.write(generated.program(int(seed)))
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def obey(seeds, start=None):
    with tempfile.TemporaryDirectory() as folder:
        host = Host(seeds, folder, start)
        commands = Commands()
        say(host.state())
        while True:
            words = commands.next() or [""]
            if words[0] == "end":
                return
            if words[0] == "free":
                say(host.free(commands.waiting, int(words[1]) if len(words) > 1 else sys.maxsize))
            elif words[0] == "step":
                for _ in range(int(words[1])):
                    host.step()
                say(host.state())


def say(answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def beside(seeds, offered):
    """Obeys on a thread, and ends the process: the main thread waits within a program."""
    status = 1
    main = []

    def start(work):
        if main:
            threading.Thread(target=work, daemon=True).start()
        else:
            main.append(True)
            offered.put(work)

    try:
        obey(seeds, start)
        status = 0
    except BaseException:
        traceback.print_exc()
    leave(status)


def leave(status):
    """At once: threads that wait would not end."""
    sys.stderr.flush()
    os._exit(status)


def failed(given):
    """A thread that fails would let the one that waits for it wait for ever."""
    traceback.print_exception(given.exc_type, given.exc_value, given.exc_traceback)
    leave(1)


def main(seeds):
    sys.dont_write_bytecode = True
    threading.excepthook = failed
    if not any(int(seed) % 2 == 0 and "thread" in generated.uses(int(seed)) for seed in seeds):
        obey(seeds)
        leave(0)
    offered = queue.SimpleQueue()
    threading.Thread(target=beside, args=(seeds, offered), daemon=True).start()
    try:
        offered.get()()
    except BaseException:
        traceback.print_exc()
    leave(1)


if __name__ == "__main__":
    main(sys.argv[1:])
