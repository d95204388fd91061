"""Runs generated programs beside a watcher and counts what was right, none, doubtful and wrong.

    python tests/python/inside/generated.py [FIRST] [LAST]     prints a line each, and the counts

The program is LOWTIDE_BIN, or what cargo built in this tree. What was wrong is kept in target/inside.
"""

import collections
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from inside import recordings  # noqa: E402
from inside.generate import Plan  # noqa: E402

# They sleep most of the time; two cores carry as many with their watchers.
AT_ONCE = 8


def one(program, seed, folder):
    """Runs one program to its end; gives back the plan, the job and what was found."""
    plan, job = Plan(seed), recordings.Job("seed %d" % seed, folder)
    source = job.folder / "program.py"
    source.write_text(plan.source)
    job.start([sys.executable, "-W", "ignore", str(source)], recordings.environment())
    try:
        recordings.wait_until(
            lambda: "seed %d: %s" % (seed, job.why_not()),
            lambda: job.steps() >= plan.attach or job.process.poll() is not None,
        )
        assert job.process.poll() is None, "seed %d ended by itself: %s" % (seed, job.why_not())
        job.pid = job.process.pid
        job.attach(program)
        job.watched_to_the_end()
        ended = job.process.wait(recordings.PATIENCE)
        assert ended == 0, "seed %d ended with %d: %s" % (seed, ended, job.why_not())
    finally:
        job.end()
    return plan, job, job.judged(program)


def several(program, seeds, folder, tell=print):
    """{word: [lines]} of all these seeds."""
    found = collections.defaultdict(list)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for plan, job, what in pool.map(lambda seed: one(program, seed, folder), seeds):
            line = "seed %d (%s): %s" % (plan.seed, plan.about, what)
            found[what.word].append(line)
            tell(line)
            if what.word == "wrong":
                kept = recordings.ROOT / "target" / "inside" / job.folder.name
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(job.folder, kept, symlinks=True, ignore=shutil.ignore_patterns("home"))
    return found


def main():
    first, last = (int(given) for given in (sys.argv[1:] + ["0", "199"][len(sys.argv) - 1:])[:2])
    built = [recordings.ROOT / "target" / kind / "lowtide" for kind in ("release", "debug")]
    program = os.environ.get("LOWTIDE_BIN") or str(next(path for path in built if path.is_file()))
    with tempfile.TemporaryDirectory() as folder:
        found = several(program, range(first, last + 1), Path(folder), lambda line: print(line, flush=True))
    print(", ".join("%d %s" % (len(lines), word) for word, lines in sorted(found.items())))
    sys.exit(1 if found["wrong"] else 0)


if __name__ == "__main__":
    main()
