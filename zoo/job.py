#!/usr/bin/env python3
"""A small training job whose memory behaviour is known: `job.py KIND --seed N --truth FILE`.

`job.py list` prints the kinds as JSON. All that a job does follows from its kind and seed.
"""

import argparse
import importlib
import json
import pkgutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import driver
import families

for module in pkgutil.iter_modules(families.__path__):
    importlib.import_module(f"families.{module.name}")

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("kind", choices=["list", *driver.KINDS], metavar="KIND")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--truth", metavar="FILE", help="where the job writes what was true of it")
parser.add_argument("--seconds", type=float, help="length of the run; drawn unless told")
parser.add_argument("--pace", choices=["fast", "real"], default="fast")
args = parser.parse_args()

if args.kind == "list":
    kinds = [
        {"kind": kind.name, "family": kind.family, "leak": kind.leak, "trap": kind.trap, "what": " ".join(kind.work.__doc__.split())}
        for kind in driver.KINDS.values()
    ]
    print(json.dumps(kinds, indent=1))
else:
    driver.Job(driver.KINDS[args.kind], args.seed, args.pace, args.seconds).run(args.truth)
    driver.end()
