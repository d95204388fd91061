"""What watching costs, next to psutil, memory_profiler (mprof) and psrecord on the same tree.

Run it with a Python that has psutil, memory_profiler and psrecord:

    cargo build --release -p bench-cost -p lowtide
    python bench/cost/run.py [--rounds 3] [--seconds 20] [--many 1000] [--resident 8]

Tools take turns (interleaved); medians are printed. Nothing here passes or fails: the machine's
noise is part of the numbers.
"""
import argparse, json, os, resource, statistics, subprocess, sys, tempfile, time
from pathlib import Path

HERE = Path(__file__).resolve().parent
OURS = HERE.parents[1] / "target/release/bench-cost"


class Job:
    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def ours(pid, seconds):
    out = subprocess.run([OURS, str(pid), str(seconds)], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def psutil_tick(pid):
    import psutil

    root = psutil.Process(pid)
    began = time.process_time()
    members = [root, *root.children(recursive=True)]
    for member in members:
        member.memory_full_info()
    return (time.process_time() - began) * 1e6


def by_process_time(code):
    """Processor time of a Python program in microseconds, imports not counted."""
    program = f"import time, sys\nsys.argv = ['x']\n{code}"
    out = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    return float(out.strip().splitlines()[-1]) * 1e6


def mprof_tick(pid, ticks):
    code = f"""
import memory_profiler
began = time.process_time()
memory_profiler.memory_usage({pid}, interval=1, timeout={ticks}, include_children=True)
print(time.process_time() - began)
"""
    return by_process_time(code) / ticks


def psrecord_tick(pid, ticks):
    code = f"""
from psrecord.main import monitor
began = time.process_time()
monitor({pid}, logfile='/dev/null', interval=1, duration={ticks}, include_children=True)
print(time.process_time() - began)
"""
    return by_process_time(code) / ticks


def tree(kind, megabytes, workers, options):
    members = workers + 1
    with Job(HERE / "job.py", megabytes, workers, kind) as job:
        time.sleep(3)
        results = {"lowtide": [], "psutil": [], "mprof": [], "psrecord": []}
        first, locked = [], []
        for _ in range(options.rounds):
            look = ours(job.pid, options.seconds)
            results["lowtide"].append(look["steady_us_per_tick"])
            locked.append(look["steady_locked_us_per_tick"])
            first.append(look["all_us"] / look["ticks"])
            results["psutil"].append(statistics.median(psutil_tick(job.pid) for _ in range(5)))
            results["mprof"].append(mprof_tick(job.pid, 5))
            results["psrecord"].append(psrecord_tick(job.pid, 5))
        median = {tool: statistics.median(values) for tool, values in results.items()}
    print(f"\n1 + {workers} processes, {kind}, parent of {megabytes} MB, one tick a second")
    for tool, value in median.items():
        ratio = value / max(median["lowtide"], 1)
        print(f"  {tool:9} {value / members:9.1f} us per process-sample   {value / 1e4:7.3f} % of a core   {ratio:6.1f} x")
    print(f"  lowtide with start-up: {statistics.median(first) / 1e4:.3f} % of a core")
    print(f"  lowtide in the target's lock: {statistics.median(locked) / 1e4:.4f} % of wall")
    print(f"  lowtide's own peak RSS: {look['rss_kb'] / 1024:.1f} MB; basis {look['basis']}")


def high_water(pid):
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def whole(megabytes, workers, options):
    """The whole program: sampling, recording, folding and judging on every tick."""
    program = OURS.parent / "lowtide"
    if not program.exists():
        print("\nthe whole program: not built (cargo build --release)")
        return
    with Job(HERE / "job.py", megabytes, workers, "busy") as job, tempfile.TemporaryDirectory() as home:
        time.sleep(3)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        watcher = subprocess.Popen(
            [program, "attach", str(job.pid), "-q", "--json", "--duration", f"{options.minutes * 60}s"],
            env={**os.environ, "LOWTIDE_HOME": home}, stdout=subprocess.DEVNULL,
        )
        # The kernel's own mark of the program itself: that of rusage includes what Python held at the fork.
        peak = 0
        while watcher.poll() is None:
            peak = max(peak, high_water(watcher.pid))
            time.sleep(1)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        size = sum(file.stat().st_size for file in Path(home).rglob("recording.lowtide"))
    seconds = options.minutes * 60
    print(f"\nlowtide attach for {options.minutes} min on 1 + {workers} busy processes, once a second")
    spent = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(f"  {100 * spent / seconds:.3f} % of a core, peak RSS {peak / 1024:.1f} MB")
    print(f"  recording: {size * 86400 / seconds / 1e6:.1f} MB a day at this pace")


def many(count, options):
    with Job(HERE / "job.py", 1, count - 1) as job:
        time.sleep(3)
        looks = [ours(job.pid, options.seconds) for _ in range(options.rounds)]
    steady = statistics.median(look["steady_us_per_tick"] for look in looks)
    print(f"\n{looks[0]['processes']} processes: {steady / 1e4:.2f} % of a core, own peak RSS {looks[-1]['rss_kb'] / 1024:.1f} MB")


def faults(gigabytes, options):
    """Latency of page faults in a large process, with and without us."""
    with Job(HERE / "faults.py", gigabytes) as job:
        def measure(*watch):
            job.process.stdin.write("\n")
            job.process.stdin.flush()
            time.sleep(1)
            watcher = subprocess.Popen([OURS, str(job.pid), *watch], stdout=subprocess.PIPE) if watch else None
            result = json.loads(job.process.stdout.readline())
            if watcher:
                result["locked"] = json.loads(watcher.communicate()[0])["locked_us"]
            return result

        rows = {"without": [], "default": [], "one look": []}
        for _ in range(options.rounds):
            rows["without"].append(measure())
            rows["default"].append(measure("7"))
            # A full budget, so that the one careful look falls into the measurement.
            rows["one look"].append(measure("7", "100"))
    print(f"\npage faults of a process with {gigabytes} GB resident (microseconds)")
    for name, measured in rows.items():
        cells = ", ".join(f"{key} {statistics.median(m[key] for m in measured):.1f}" for key in ("p50", "p99", "p999", "max"))
        locked = statistics.median(m.get("locked", 0) for m in measured) / 1000
        print(f"  {name:8} {cells}; in the target's lock {locked:.0f} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--resident", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=5, help="of the whole program")
    options = parser.parse_args()
    tree("idle", options.megabytes, 20, options)
    tree("busy", options.megabytes, 20, options)
    if options.minutes:
        whole(options.megabytes, 20, options)
    if options.many:
        many(options.many, options)
    if options.resident:
        faults(options.resident, options)


main()
