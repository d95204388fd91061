"""Imports the libraries once and forks a process for every job: torch and its friends cost seconds of CPU each time.

    nursery.py MODULES < lines of JSON {"log": PATH, "script": PATH, "argv": [...]}

Each child is a process of its own that runs its script as `__main__`, with its output to nowhere. The log's first
line has its pid. The nursery stays until its children are over.
"""

import importlib
import json
import os
import sys
import traceback


def child(job):
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nowhere, stream)
    # What it says is for who looks into a failed test.
    os.dup2(os.open(job["log"] + ".err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) if job.get("keep") else nowhere, 2)
    os.environ["INSIDE_LOG"] = job["log"]
    sys.argv = [job["script"], *job["argv"]]
    sys.path.insert(0, os.path.dirname(job["script"]))
    import runpy

    try:
        runpy.run_path(job["script"], run_name="__main__")
    except BaseException:
        with open(job["log"] + ".failed", "w") as file:
            traceback.print_exc(file=file)
        os._exit(1)
    os._exit(0)


def main():
    for name in filter(None, sys.argv[1].split(",")):
        importlib.import_module(name)
    children = []
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            child(json.loads(line))
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
