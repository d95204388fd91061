"""Jobs whose memory grows and ends, or does not, run for twelve minutes each under `lowtide run`.

    python3 bench/endings/run.py FOLDER --lowtide target/release/lowtide [--python .venv/bin/python]
    cargo run --release -p lowtide-verdicts --bin moments -- FOLDER

The second command prints what was said at every moment of each. A run that was cut can be taken up: what
is complete in FOLDER is left alone. The jobs are those of tests/python/jobs/endings.py; they mostly sleep,
so they run side by side (about 11 GB).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

JOB = Path(__file__).resolve().parents[2] / "tests" / "python" / "jobs" / "endings.py"

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder", type=Path)
parser.add_argument("--lowtide", default="lowtide")
parser.add_argument("--python", default=sys.executable, help="one that has numpy and pyarrow")
parser.add_argument("--seconds", type=int, default=720)
parser.add_argument("--steps", type=int, default=3600)
args = parser.parse_args()
args.folder.mkdir(parents=True, exist_ok=True)
kinds = json.loads(subprocess.check_output([args.python, JOB, "list"]))
environment = {**os.environ, "LOWTIDE_HOME": str(args.folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}

running = {}
for kind in kinds["harmless"] + kinds["leaks"]:
    if (args.folder / f"{kind}.pace").exists():
        continue
    shutil.rmtree(args.folder / kind, ignore_errors=True)
    job = [args.python, JOB, kind, "--steps", str(args.steps), "--seconds", str(args.seconds)]
    job += ["--pace", args.folder / f"{kind}.pace"]
    log = open(args.folder / f"{kind}.log", "wb")
    command = [args.lowtide, "run", "-o", args.folder / kind, "--", *job]
    running[kind] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
failed = [kind for kind, process in running.items() if process.wait() != 0]

with open(args.folder / "truth.jsonl", "w") as truth:
    for kind in kinds["harmless"] + kinds["leaks"]:
        pace = args.folder / f"{kind}.pace"
        if not pace.exists():
            continue
        line = {"run": kind, "leak": kind in kinds["leaks"]}
        if line["leak"]:
            line["rate"] = float(pace.read_text())
        truth.write(json.dumps(line) + "\n")
if failed:
    sys.exit(f"failed: {', '.join(failed)}; see the logs in {args.folder}")
