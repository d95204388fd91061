"""`python -m chaos`: see scripts/chaos."""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from chaos import invariants, story as stories
from chaos.group import MEMORY, remove
from chaos.scene import INSIDE, PYTHON, Scene

ROOT = Path(__file__).resolve().parents[3]
KEPT = ROOT / "target/chaos"
# Seconds after which a whole scenario is ended from outside.
LONGEST = 900
# A child that goes with its parent, whatever ends it.
ALONE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private", "--"]


def options():
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument("--scenarios", type=int, default=1000, help="seeds 1 to N; those that were run are not run again")
    parser.add_argument("--seeds", type=int, nargs="+", help="these alone")
    parser.add_argument("--seed", type=int, help="one: tells its story, and keeps its files")
    parser.add_argument("--jobs", type=int, default=4, help="so many side by side: most of each is waiting")
    parser.add_argument("--fresh", action="store_true", help="forget what was run")
    parser.add_argument("--program", type=Path, help="else LOWTIDE_BIN, or the newest that cargo built")
    parser.add_argument("--inside", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def program(given):
    given = given or os.environ.get("LOWTIDE_BIN")
    if given:
        return Path(given).resolve()
    built = [ROOT / "target" / kind / "lowtide" for kind in ("release", "debug")]
    built = [path for path in built if path.is_file()]
    if not built:
        sys.exit("scripts/chaos: no lowtide program\nhint: cargo build, or say which with --program")
    return max(built, key=lambda path: path.stat().st_mtime)


def inside(seed, copy, group):
    """The first process of a scenario's namespaces."""
    os.chdir("/")
    subprocess.run(["mount", "--bind", str(ROOT), str(INSIDE)], check=True)
    sys.path[:] = [path.replace(str(ROOT), str(INSIDE)) for path in sys.path]
    os.chdir(INSIDE)
    folder = INSIDE / "target/chaos" / ("seed-%d" % seed)
    scene = Scene(stories.of(seed), folder, INSIDE / Path(copy).relative_to(ROOT), group)
    scene.play()
    broken, became = invariants.broken(scene)
    result = {"seed": seed, "became": became, "broken": list(broken), "cost": invariants.cost(scene)}
    result["remarks"] = scene.remarks
    # The folder may be on a disk that ends with us: what is asked for is said.
    (folder / "outcome.json").write_text(json.dumps(result))


def one(seed, copy, keep=False):
    folder = KEPT / ("seed-%d" % seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    group = "lowtide-chaos-%d-%d" % (os.getpid(), seed)
    words = [*ALONE, PYTHON, "-m", "chaos", "--inside", str(seed), str(copy), group]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tests/python"), "PYTHONDONTWRITEBYTECODE": "1"}
    began = time.monotonic()
    child = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said, _ = child.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        child.kill()
        said = "ended from outside after %d s\n" % LONGEST + child.communicate()[0]
    # There only if the scenario was ended from outside.
    remove(MEMORY / group)
    try:
        outcome = json.loads((folder / "outcome.json").read_text())
    except (OSError, ValueError):
        outcome = {"seed": seed, "became": "no outcome", "broken": [said[-3000:]], "cost": {}}
    outcome["seconds"] = round(time.monotonic() - began, 1)
    if not outcome["broken"] and not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def prepare(given, mark):
    """A copy of the program that no build replaces meanwhile, and the clock."""
    found = program(given)
    digest = hashlib.sha256(found.read_bytes()).hexdigest()[:12]
    KEPT.mkdir(parents=True, exist_ok=True)
    copy = KEPT / ("lowtide-%s%s" % (digest, mark)) / "lowtide"
    if not copy.exists():
        copy.parent.mkdir(exist_ok=True)
        partial = copy.with_name("partial-%d" % os.getpid())
        shutil.copy(found, partial)
        partial.rename(copy)
    clock = KEPT / "clock.so"
    partial = KEPT / ("clock-%d.so" % os.getpid())
    source = Path(__file__).with_name("clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(partial), str(source)], check=True)
    partial.rename(clock)
    return copy


def main():
    chosen = options()
    if chosen.inside:
        return inside(int(chosen.inside[0]), *chosen.inside[1:])
    if os.getuid() != 0:
        sys.exit("scripts/chaos: needs root, for namespaces, disks and memory limits of its own")
    few = chosen.seeds or chosen.seed is not None
    copy = prepare(chosen.program, "-%d" % os.getpid() if few else "")
    try:
        return run(chosen, copy)
    finally:
        # What was run of the thousand stays known with its program.
        if few:
            shutil.rmtree(copy.parent, ignore_errors=True)


def run(chosen, copy):
    if chosen.seed is not None:
        outcome = one(chosen.seed, copy, keep=True)
        print(stories.of(chosen.seed).told())
        print(json.dumps(outcome, indent=1))
        print("files: %s" % (KEPT / ("seed-%d" % chosen.seed)))
        return 1 if outcome["broken"] else 0
    seeds = chosen.seeds or range(1, chosen.scenarios + 1)
    state = copy.parent / "outcomes.jsonl"
    if chosen.fresh:
        state.unlink(missing_ok=True)
    known = {}
    if state.exists():
        for line in state.read_text().splitlines():
            known[json.loads(line)["seed"]] = json.loads(line)
    todo = [seed for seed in seeds if seed not in known]
    # Ended from outside, nothing half done is left: each scenario goes with us.
    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool, state.open("a") as file:
        for outcome in pool.map(lambda seed: one(seed, copy), todo):
            known[outcome["seed"]] = outcome
            file.write(json.dumps(outcome) + "\n")
            file.flush()
            if outcome["broken"]:
                print(stories.of(outcome["seed"]).told())
                print("\n".join("  BROKEN %s" % line for line in outcome["broken"]), flush=True)
            elif not chosen.seeds and outcome["seed"] % 50 == 0:
                print("%d of %d" % (len(known), len(seeds)), flush=True)
    return table([known[seed] for seed in seeds if seed in known])


def table(outcomes):
    """Faults and what became of the jobs that met them."""
    words = sorted({outcome["became"] for outcome in outcomes})
    rows = collections.defaultdict(collections.Counter)
    for outcome in outcomes:
        met = stories.of(outcome["seed"])
        for name in [fault.name for fault in met.faults] + list(met.after):
            rows[name]["met"] += 1
            rows[name][outcome["became"]] += 1
            rows[name]["broken"] += bool(outcome["broken"])
    columns = ["met", *words, "broken"]
    print("| fault | %s |\n|---|%s" % (" | ".join(columns), "---|" * len(columns)))
    for name in stories.DURING + stories.AFTER:
        print("| %s | %s |" % (name, " | ".join(str(rows[name][column]) for column in columns)))
    broken = sum(bool(outcome["broken"]) for outcome in outcomes)
    peak = max((each["peak"] for o in outcomes for each in o["cost"].values()), default=0)
    cpu = max((each["cpu"] for o in outcomes for each in o["cost"].values()), default=0)
    print("%d scenarios, %d with something broken" % (len(outcomes), broken))
    print("our largest process took %.1f MB, the busiest %.2f s of CPU" % (peak / 1e6, cpu))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
