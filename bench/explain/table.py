"""Every lab and every mode of examples/vision: what `lowtide explain` finds, beside what is expected.

    python3 bench/explain/table.py --lowtide target/release/lowtide [--labs FOLDER] [--vision FOLDER]

Recordings are looked for in the folders, and made there when they are missing (the labs take two
minutes; the vision modes need torch and transformers, and ten). Prints a Markdown table, and ends
with 1 when a row is off. `expected.json` beside it is what the tests assert too, but for rows that say
`"asserted": false`.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = json.loads((Path(__file__).parent / "expected.json").read_text())
# As crates/lowtide/tests/labs.rs runs them.
SCALE = ["--steps", "150", "--seconds", "24"]
AT_ONCE = 4
# Of the growth, where a kind of memory is expected.
ACCOUNTED = 0.9


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lowtide", default=str(ROOT / "target" / "release" / "lowtide"))
    parser.add_argument("--labs", type=Path, help="folder of the labs' recordings")
    parser.add_argument("--vision", type=Path, help="folder of the vision recordings (LOWTIDE_VISION_RUNS)")
    return parser.parse_args()


def run_lab(chosen, name, row):
    folder = chosen.labs / name
    if not folder.exists():
        subprocess.run(
            [chosen.lowtide, "run", "--interval", "100ms", "--budget", "5%", "-o", str(folder), "--",
             "python3", str(ROOT / "labs" / (name + ".py")), *SCALE, *row.get("size", [])],
            # A pipe: output that goes to a file of no size cannot be read for steps.
            cwd=chosen.labs, check=True, capture_output=True,
        )
    return folder


def explain(chosen, source, flags=()):
    done = subprocess.run([chosen.lowtide, "explain", "--json", str(source), *flags], capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        raise SystemExit("%s: %s" % (source, done.stderr))
    return json.loads(done.stdout)


def faults(found, row):
    """What differs from what is expected, in words; and the cells of the table."""
    explained = found["explanation"]
    off = []
    driver = explained["drivers"][0]["name"] if explained["drivers"] else None
    if driver not in row["driver"]:
        off.append("driver %s" % driver)
    tied = [d["name"] for d in explained["drivers"][1:] if d["tied"]]
    mapped = [b for b in explained["memory"]["breakdowns"] if b["by"] == "mapping"] if explained["memory"] else []
    memory = mapped[0] if mapped else None
    held = [p for p in memory["parts"] if p["share"] > 0] if memory else []
    kind = held[0]["class"] if held else None
    shown = "-"
    if row["memory"] is not None:
        if kind not in row["memory"]:
            off.append("memory %s" % kind)
        elif memory["accounted"] < ACCOUNTED:
            off.append("%.0f %% accounted for" % (100 * memory["accounted"]))
    if memory and held and row["memory"] is not None:
        shown = "%s %.0f %%, %.0f %% accounted for" % (kind, 100 * held[0]["share"], 100 * memory["accounted"])
    entries = [c["id"] for c in explained["candidates"]]
    if not row["entry"] and entries:
        off.append("claims %s" % entries)
    if row["entry"] and not set(row["entry"]) & set(entries[:2]):
        off.append("entry %s" % entries)
    # What is true, or may be, is ruled out by nobody.
    for statement in explained["ruled_out"]:
        if statement["about"].startswith(tuple(row["true"])):
            off.append("rules out %s: %s" % (statement["about"], statement["says"]))
    cells = [
        found["verdict"],
        " or ".join(str(d) if d else "none" for d in row["driver"]),
        "%s%s" % (driver or "none", " (or %s)" % ", ".join(tied) if tied else ""),
        " or ".join(row["memory"]) if row["memory"] else "-",
        shown,
        " or ".join(row["entry"]) or "none",
        ", ".join(entries) or "none",
    ]
    return off, cells


def main():
    chosen = options()
    rows = []
    if chosen.labs:
        chosen.labs = chosen.labs.resolve()
        chosen.labs.mkdir(parents=True, exist_ok=True)
        labs = EXPECTED["labs"]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            folders = list(pool.map(lambda name: run_lab(chosen, name, labs[name]), labs))
        rows += [(n, labs[n], explain(chosen, f, labs[n].get("judge", ()))) for n, f in zip(labs, folders)]
    if chosen.vision:
        sys.path.insert(0, str(ROOT / "tests" / "python"))
        import os

        os.environ["LOWTIDE_VISION_RUNS"] = str(chosen.vision.resolve())
        chosen.vision.mkdir(parents=True, exist_ok=True)
        from vision import Recordings

        recordings = Recordings(chosen.lowtide, chosen.vision)
        for name, row in EXPECTED["vision"].items():
            rows.append(("vision " + name, row, explain(chosen, recordings[name].folder)))
    print("| run | verdict | driver expected | found | memory expected | found | entry expected | found |")
    print("|---|---|---|---|---|---|---|---|")
    wrong = 0
    for name, row, found in rows:
        off, cells = faults(found, row)
        wrong += bool(off)
        print("| %s | %s |%s" % (name, " | ".join(cells), " **%s**" % "; ".join(off) if off else ""))
    print("\n%d of %d as expected" % (len(rows) - wrong, len(rows)))
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
