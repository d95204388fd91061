"""What a census costs, next to guppy3, pympler, objgraph and pyheap on the same heap, and what a training loop notices.

    cargo build --release
    .venv/bin/python bench/census/run.py [--rounds 5] [--objects 1000000] [--seconds 10] [--windows 10] [--skip torch peers loop]

The peers are no part of .venv. Those that are not there are named and left out; to have them:

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install guppy3 pympler objgraph     then --peers /tmp/peers
    git clone https://github.com/ivanyu/pyheap /tmp/pyheap                               then --pyheap /tmp/pyheap (needs gdb)

(/tmp/peers by the same Python as .venv; the package that is named pyheap in the index is something else.)

Everybody looks at the same process, in a random order each round; medians are printed. pyheap works inside the process
and may leave it broken, so it has one of its own, and is ended after two minutes. The loop has windows of its own time
in a random order: alone, with a census every three seconds, with as much processor time burnt beside it by something
that reads nothing (where all cores are busy, who computes takes time from somebody), and with censuses that stop it.
Intervals are by bootstrap over the rounds of windows. Nothing here passes or fails: the machine's noise is part of the
numbers. It takes some ten minutes.
"""
import argparse, array, bisect, importlib.util, json, os, random, select, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

HERE = Path(__file__).resolve().parent
OURS = HERE.parents[1] / "target/release/lowtide"
PEERS = {"getsizeof": "gc.get_objects + getsizeof", "objgraph": "objgraph", "guppy": "guppy3", "pympler": "pympler"}
CUT_OFF = 120
EVERY = 3
BURN = "import time\nwhile time.process_time() < {}: pass"


class Child:
    """A Python process that says when it is ready, and ends with its input."""

    def __init__(self, *arguments):
        command = [sys.executable, "-W", "ignore", *map(str, arguments)]
        quiet = {**os.environ, "TRANSFORMERS_VERBOSITY": "error"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=quiet)
        self.pid = str(self.process.pid)
        assert self.process.stdout.readline() == b"ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.process.stdin.close()
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()

    def ask(self, word, within=None):
        """The answer to a line; None from one that is gone, or silent for so many seconds."""
        try:
            self.process.stdin.write(f"{word}\n".encode())
            self.process.stdin.flush()
        except OSError:
            return None
        if within is not None and not select.select([self.process.stdout], [], [], within)[0]:
            return None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None


def census(pid, *flags):
    """One census: what it says, and what the kernel says of the process that took it."""
    began = time.monotonic()
    process = subprocess.Popen([OURS, "census", pid, "--json", *flags], stdout=subprocess.PIPE)
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        # It has said why.
        print(f"no census: it ended with {process.returncode}", flush=True)
        return None
    heap, peak = json.loads(said)["heap"], used.ru_maxrss * 1024
    row = {"cpu": used.ru_utime + used.ru_stime, "wall": time.monotonic() - began, "objects": heap["objects"], "peak": peak}
    return row | ({"stood": heap["stopped"]} if "--stop" in flags else {})


def watched(target, *flags):
    target.ask("begin")
    row, seen = census(target.pid, *flags), target.ask("end")
    return row and row | seen


def nothing(target, seconds):
    target.ask("begin")
    time.sleep(seconds)
    return target.ask("end")


def heap(title, kind, options):
    """Everybody's look at one process, in turns."""
    folders = [str(folder) for folder in options.peers.glob("lib/python*/site-packages")] if options.peers else []
    rows = {"nothing": [], "lowtide census": [], "lowtide census --stop": []}
    rows |= {} if "peers" in options.skip else {name: [] for name in PEERS.values()}
    missing = {}
    with Child(HERE / "target.py", kind, options.objects, *folders) as target:
        # A heap that is a second old: the first look of each finds pages and caches cold.
        seconds = watched(target)["wall"]
        resident = next(int(line.split()[1]) for line in Path(f"/proc/{target.pid}/status").open() if "VmRSS" in line)
        looks = {
            "nothing": lambda: nothing(target, seconds),
            "lowtide census": lambda: watched(target),
            "lowtide census --stop": lambda: watched(target, "--stop"),
        }
        looks |= {name: lambda word=word: target.ask(word) for word, name in PEERS.items()}
        for _ in range(options.rounds):
            for name in random.sample(sorted(rows), len(rows)):
                row = looks[name]()
                if not row:
                    continue
                if "missing" in row:
                    missing[name] = row["missing"]
                else:
                    rows[name].append(row)
    print(f"\n{title}; RSS {resident / 1024:,.0f} MB; {options.rounds} rounds")
    print(f"{'':28}{'CPU':>8}{'wall':>8}{'objects':>11}{'stands':>10}{'longest':>10}{'it grew':>9}{'own RSS':>9}{'bytes an':>10}")
    print(f"{'':28}{'s':>8}{'s':>8}{'seen':>11}{'still ms':>10}{'gap ms':>10}{'MB':>9}{'MB':>9}{'object':>10}")
    for name, measured in rows.items():
        if measured:
            print(f"{name:28}{cells(measured)}")
    if "peers" not in options.skip:
        print(f"{'pyheap (gdb)':28}{pyheap(kind, options)}")
    for name, why in missing.items():
        print(f"left out: {name} ({why})")


def cells(rows):
    def middle(key):
        return statistics.median(row[key] for row in rows) if key in rows[0] else None

    def cell(value, width, shape):
        return f"{'-' if value is None else format(value, shape):>{width}}"

    inside = "cpu" in rows[0] and "peak" not in rows[0]
    # Who asks from inside waits for the answer.
    stood = middle("wall") if inside else middle("stood")
    peak, objects = middle("peak"), middle("objects")
    return (
        cell(middle("cpu"), 8, ".2f") + cell(middle("wall"), 8, ".2f") + cell(objects, 11, ",.0f")
        + cell(stood and stood * 1e3, 10, ",.1f") + cell(middle("gap") * 1e3, 10, ",.1f")
        + cell(middle("grew") / 1e6, 9, "+,.1f") + cell(peak and peak / 1e6, 9, ",.0f")
        + cell(peak and peak / objects, 10, ",.0f")
    )


def pyheap(kind, options):
    """One dump without texts of objects, which are most of its time."""
    program = options.pyheap and options.pyheap / "pyheap/src/pyheap_dump.py"
    if not program or not program.exists() or not shutil.which("gdb"):
        return "left out: no gdb" if program and program.exists() else "left out: no checkout by --pyheap"
    with Child(HERE / "target.py", kind, options.objects) as target, tempfile.TemporaryDirectory() as folder:
        target.ask("begin")
        began = time.monotonic()
        dump = [sys.executable, program, "--pid", target.pid, "--file", f"{folder}/heap", "--str-repr-len", "-1"]
        # By `timeout`, which ends all that it started: gdb is a child of the child.
        done = subprocess.run(
            ["timeout", "--signal=KILL", str(CUT_OFF), *map(str, dump)], stdin=subprocess.DEVNULL, capture_output=True
        )
        seconds, after = time.monotonic() - began, target.ask("end", within=10)
        lived = "the process answers no more"
        if after:
            lived = f"longest gap {after['gap']:.1f} s, it grew by {after['grew'] / 1e6:.0f} MB"
        told = [line for line in done.stdout.decode(errors="replace").split("\r") if "objects done" in line]
        objects = format(int(told[-1].split("passed, ")[1].split(" objects")[0]), ",") if told else "no"
        if seconds >= CUT_OFF:
            return f"not done after {CUT_OFF} s ({objects} objects); {lived}"
        if done.returncode:
            return f"failed after {seconds:.0f} s with {done.returncode}; {lived}"
        return f"{seconds:.1f} s by the clock, {objects} objects; {lived}"


def loop(options):
    kinds = tuple(KINDS)
    seconds = options.seconds * options.windows * len(kinds)
    with tempfile.TemporaryDirectory() as folder:
        with Child(HERE / "loop.py", f"{folder}/steps", 4 * seconds + 300) as job:
            time.sleep(3)
            rounds, taken = windows(job.pid, kinds, options)
        steps = array.array("d", Path(f"{folder}/steps").read_bytes())
    steps = list(zip(steps[::3], steps[1::3], steps[2::3]))
    within = {(nth, kind): [] for nth in range(options.windows) for kind in kinds}
    marks = sorted((*span, nth, kind) for nth, turn in enumerate(rounds) for kind, span in turn.items())
    for step in steps:
        while marks and step[0] >= marks[0][1]:
            marks.pop(0)
        if marks and step[0] >= marks[0][0]:
            within[marks[0][2:]].append(step)
    tell(rounds, within, steps, taken, options)


def windows(pid, kinds, options):
    """Windows of each kind in a random order: their beginnings and ends, and every census that was taken in them."""
    rounds, taken = [], {kind: [] for kind in kinds}
    spent = census(pid)["cpu"]
    for _ in range(options.windows):
        turn = {}
        for kind in random.sample(kinds, len(kinds)):
            began = time.monotonic()
            while time.monotonic() < began + options.seconds - EVERY / 2:
                at = time.monotonic()
                if kind == "burnt":
                    subprocess.run([sys.executable, "-S", "-c", BURN.format(spent)], check=True)
                    row = {"cpu": spent}
                elif kind != "alone":
                    flags = ("--stop",) if kind == "stop" else ()
                    row = census(pid, *flags)
                    spent = row["cpu"] if row and kind == "census" else spent
                if kind != "alone" and row:
                    taken[kind].append(row | {"span": (at, time.monotonic())})
                time.sleep(max(0, at + EVERY - time.monotonic()))
            time.sleep(max(0, began + options.seconds - time.monotonic()))
            turn[kind] = began, time.monotonic()
            time.sleep(0.2)
        rounds.append(turn)
    return rounds, taken


def tell(rounds, within, steps, taken, options):
    rows = taken["census"]
    usual = statistics.median(took for (_, kind), rows in within.items() if kind == "alone" for _, took, _ in rows)
    print(f"\na training loop of one thread, {usual * 1e3:.1f} ms a step; {options.windows} windows of {options.seconds:g} s of each kind")
    print(f"(a census: {rows[0]['objects']:,} objects, {statistics.median(row['cpu'] for row in rows):.2f} s of CPU)")
    print(f"{'':25}{'under':>6}{'all steps, ms':>22}   {'times as long as alone [95 %]'}")
    print(f"{'':25}{'way':>6}{'p50':>7}{'p99':>7}{'max':>8}   {'median':<21}{'mean':<21}{'CPU of a step':<21}")
    for kind, name in KINDS.items():
        took = [step[1] for (_, other), rows in within.items() if other == kind for step in rows]
        share = lasted(row["span"] for row in taken[kind]) / lasted(turn[kind] for turn in rounds)
        cells = "".join(f"{ratio(within, kind, 'alone', *by):<21}" for by in MEASURES) if kind != "alone" else ""
        print(f"{name:25}{share:>6.0%}{spread(took)}   {cells}".rstrip())
    print(f"{'census, against as much CPU burnt':53}   {''.join(f'{ratio(within, *PAIR, *by):<21}' for by in MEASURES)}".rstrip())
    print("\nonly steps while it was under way, and the longest step of each time, beyond the usual")
    print(f"{'':25}{'times':>6}{'p50':>7}{'p99':>7}{'max':>8}   {'longest: median':>15}{'max, ms':>10}")
    for kind in list(KINDS)[1:]:
        spans = [during(steps, row["span"]) for row in taken[kind]]
        longest = [max(took) - usual for took in spans if took]
        print(
            f"{KINDS[kind]:25}{len(spans):>6}{spread([took for span in spans for took in span])}   "
            f"{statistics.median(longest) * 1e3:>15.1f}{max(longest) * 1e3:>10.1f}"
        )
    stood = [row["stood"] * 1e3 for row in taken["stop"]]
    print(f"the stops by their own word: median {statistics.median(stood):.1f} ms, longest {max(stood):.1f} ms")


KINDS = {
    "alone": "alone",
    "census": f"census every {EVERY} s",
    "burnt": "as much CPU burnt",
    "stop": f"census --stop every {EVERY} s",
}
# Which number of a step, folded how within a window and how over windows.
MEDIAN, MEAN = (statistics.median,) * 2, (statistics.fmean,) * 2
MEASURES = (1, *MEDIAN), (1, *MEAN), (2, *MEAN)


PAIR = "census", "burnt"


def lasted(spans):
    return sum(end - began for began, end in spans)


def during(steps, span):
    """Steps that were under way at some moment of it."""
    first, last = (bisect.bisect(steps, (moment,)) for moment in span)
    return [took for _, took, _ in steps[max(0, first - 1) : last]]


def spread(took):
    took = sorted(took)
    return f"{statistics.median(took) * 1e3:>7.1f}{took[len(took) * 99 // 100] * 1e3:>7.1f}{took[-1] * 1e3:>8.1f}"


def ratio(within, kind, against, field, inner, outer):
    """How many times as long steps are in windows of one kind as in those of another, with its interval."""
    rounds = sorted({nth for nth, _ in within})
    pairs = [[inner([step[field] for step in within[nth, which]]) for which in (kind, against)] for nth in rounds]

    def of(drawn):
        these, those = zip(*drawn)
        return outer(these) / outer(those)

    tries = sorted(of(random.choices(pairs, k=len(pairs))) for _ in range(4000))
    return f"{of(pairs):.3f} [{tries[100]:.3f} {tries[3899]:.3f}]"


def main():
    # Rows as they come, also into a file.
    sys.stdout.reconfigure(line_buffering=True)
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--objects", type=int, default=1_000_000, help="of the plain program")
    parser.add_argument("--seconds", type=float, default=10, help="of a window of the loop")
    parser.add_argument("--windows", type=int, default=10, help="of each kind")
    parser.add_argument("--skip", nargs="+", default=[], choices=("torch", "peers", "loop"))
    parser.add_argument("--peers", type=Path, metavar="VENV", help="which has guppy3, pympler and objgraph")
    parser.add_argument("--pyheap", type=Path, metavar="FOLDER", help="a checkout of it")
    options = parser.parse_args()
    if not OURS.exists():
        sys.exit("not built: cargo build --release")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, CPython {sys.version.split()[0]}; medians")
    print("stands still: by the census's own word; from inside, the thread that asks, until it is answered")
    print("longest gap:  of a thread of the process that wants to wake every millisecond")
    print("it grew:      the process's RSS, at its peak, above what it was before")
    heap("a plain program", "plain", options)
    absent = [name for name in ("torch", "transformers") if not importlib.util.find_spec(name)]
    if "torch" in options.skip or absent:
        print(f"\nleft out: torch and the loop ({'--skip' if not absent else 'not here: ' + ', '.join(absent)})")
        return
    heap("torch and transformers, a small GPT2, AdamW, 4,000 tensors", "torch", options)
    if "loop" not in options.skip:
        loop(options)
    print(f"\nload {os.getloadavg()[0]:.1f} at the end. What holders cost apart from the walk is left out: no census tells it.")


main()
