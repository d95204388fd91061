"""Looking from inside: the package names the containers that grow, on every CPython of this machine, and nobody notices.

`jobs/holders.py` keeps something in every kind of place and looks at known steps, so names and lengths are exact.
"""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import _of_this_machine

JOB = Path(__file__).parent / "jobs" / "holders.py"
_FOUND = {each.executable: [int(part) for part in each.version.split(".")[:2]] for each in _of_this_machine() if each.kind == "cpython"}
PYTHONS = sorted(_FOUND, key=lambda path: (_FOUND[path], path))
OLDEST_AND_NEWEST = sorted({PYTHONS[0], PYTHONS[-1]})


def run(python, environment, *arguments, **more):
    done = subprocess.run([python, *map(str, arguments)], env={**environment, **more}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def code(environment, text, python=sys.executable, **more):
    done = run(python, environment, "-c", text, **more)
    assert done.stderr == "", done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=PYTHONS)
def found(request):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LOWTIDE_", "PYTHON"))}
    clean["PYTHONPATH"] = str(JOB.parents[3] / "python")
    return json.loads(run(request.param, clean, JOB).stdout)


# Every kind of place, and the type that is there.
PLACES = {
    "holders.CACHE": "list",
    "holders.TABLE": "dict",
    'holders.STATE["items"]': "list",
    "holders.UNIQUE": "set",
    "holders.RECENT": "collections.deque",
    "holders.MOVED": "list",
    "Queue.queue of holders.WAITING": "collections.deque",
    "Metrics.rows of holders.metrics": "list",
    "holders.Metrics.shared": "list",
    "Ring.store of holders.ring": "list",
    "Slotted.rows of holders.slotted": "list",
    "holders.load": "lru_cache",
    "holders.load_all": "lru_cache",
    "seen in the closure of holders.remember": "list",
    "kept, a default of holders.with_default": "dict",
    "holders.LOCAL.rows of a thread": "list",
}
FRAMES = {"rows in main() holders.py", "mine in in_a_thread() holders.py"}


def test_every_container_that_grows_is_named_with_its_length(found):
    grown = found["grown"]
    kinds = {name: told["kind"] for name, told in grown.items()}
    assert {name: kinds.get(name) for name in PLACES} == PLACES
    of_frames = {name.rpartition(":")[0]: name for name in grown if "() " in name}
    assert FRAMES <= set(of_frames), sorted(grown)
    pulled = next(name for name in grown if name.startswith("pulled in the generator"))
    for name in [*PLACES, *(of_frames[frame] for frame in FRAMES), pulled]:
        told = grown[name]
        # The first look was after 40 steps, the last after 200.
        assert (told["length"], told["grew"]["length"]) == (200, 160), told
        assert (told["grew"]["rises"], told["grew"]["falls"]) == (4, 0), told
    assert grown["holders.CACHE"]["path"] == ["module holders", ".CACHE"]


def test_what_does_not_grow_is_not_called_growing(found):
    known = found["known"]
    assert known["holders.STEADY"] == [5000, False] and known["holders.NAMES"] == [1000, False]
    # Filled and emptied; and made anew for every look, each time a little longer.
    assert not known["holders.SAW"][1]
    fresh = next(name for name in known if name.startswith("fresh in main()"))
    assert not known[fresh][1], known[fresh]


def test_bytes_are_near_the_truth(found):
    keeps = {name: told["keeps"] for name, told in found["grown"].items()}
    # 200 bytearrays of 5,000 and of 1,000 bytes, and their own heads.
    assert keeps["holders.CACHE"] == pytest.approx(200 * 5060, rel=0.02)
    assert keeps["holders.load_all"] == pytest.approx(200 * 1060, rel=0.05)
    [group] = found["grown"]["holders.CACHE"]["of"]
    assert group["name"] == "bytearray" and group["count"] == 200


def test_what_may_end_it_is_told(found):
    ends = {name: told["ends"] for name, told in found["grown"].items() if told.get("ends")}
    assert ends == {
        "holders.RECENT": [{"kind": "max-len", "of": "deque", "at": 1000}],
        "holders.load": [{"kind": "cache-size", "at": 4096}],
        "Queue.queue of holders.WAITING": [{"kind": "queue-size", "at": 500}],
        "Ring.store of holders.ring": [{"kind": "declared", "attribute": "capacity", "at": 10000}],
        "holders.BY_INDEX": [{"kind": "keys", "of": "holders.NAMES", "at": 1000}],
    }


def test_nothing_is_kept_alive_and_no_code_of_the_job_runs(found):
    """The job itself asserts that none of its methods ran, and that reference counts are as before."""
    assert found["died"] == [True] * 5


def test_the_looks_fit_the_protocol(found):
    looks = [value for kind, value in found["sent"] if kind == "look"]
    notes = [value for kind, value in found["sent"] if kind == "note"]
    assert [look["why"] for look in looks] == ["start"] + ["due"] * 4
    last = looks[-1]
    assert len(json.dumps(last)) < 30_000
    [holders] = [each for each in last["breakdowns"] if each["by"] == "holder"]
    parts = {part["name"]: part for part in holders["parts"]}
    assert len(parts) == len(holders["parts"]), "each name once"
    assert parts["holders.CACHE"]["count"] == 200
    assert last["heap"]["step"] == 200 and last["heap"]["holders"][0]["name"] == "holders.CACHE"
    # A megabyte is worth a line: none of these has grown by as much.
    assert notes == []


LINES = """
import json, sys, tracemalloc
from lowtide import _inside, _lines, _marks
_marks.watched = lambda: True
ROWS = []
class Loop:
    def work(self, step):
        ROWS.append({"step": [step]})   # line 7
def main():
    inside = _inside.Inside(share=1.0, lines=True)
    for step in range(400):
        Loop().work(step)
        _marks.mark(step=step)
        if step % 40 == 20:
            inside.look_now()
            inside._slice(1.0)   # opens the window, if there is something to trace
        if inside._window is not None and inside._window.is_over(step):
            while inside._window is not None:
                inside._slice(1.0)
    return inside
if len(sys.argv) > 1:
    tracemalloc.start()
inside = main()
told = {each["name"]: each for each in inside.grown()}
print(json.dumps([told["lines.ROWS"].get("adds"), tracemalloc.is_tracing()]))
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_lines_of_new_items_are_told_and_tracing_ends_with_its_window(python, environment, tmp_path):
    job = tmp_path / "lines.py"
    job.write_text(LINES)
    for arguments, still in (([], False), (["theirs"], True)):
        adds, tracing = json.loads(run(python, environment, job, *arguments).stdout)
        place = {key: value for key, value in adds[0].items() if key != "function"}
        assert place == {"file": str(job), "line": 8, "how": "new item"}
        assert adds[0]["function"] in ("Loop.work", "work")
        assert tracing is still


BUSY = """
import sys, time
from lowtide import _inside, _marks
KEPT = []
inside = _inside.start(share=0.02, first=0.0, gap=0.1)
step = 0
while inside.looks < 2:
    step += 1
    if step < 20_000:
        KEPT.append([step] * 10)
    for _ in range(2000): pass
    _marks.mark(step=step)
inside.stop()
print(inside.budget.spent, inside.budget.ran(), inside.budget.slowest)
"""


def test_all_looks_stay_within_their_share(environment, watcher):
    spent, ran, slowest = map(float, code(environment, BUSY, LOWTIDE_DIR=str(watcher.folder)).split())
    # The slice that crosses the line is let through; a unit of work is a good deal less than one.
    assert spent <= 0.02 * ran + 2 * 0.002, (spent, ran)
    looks = [m["look"] for m in watcher.received() if m.get("kind") == "look"]
    assert len(looks) >= 2 and all(look["cost"]["cpu"] > 0 for look in looks)


ASKED = """
import sys, threading
from lowtide import _marks
_marks.mark(step=1)
assert len(sys._current_frames()) == 1 and "lowtide._inside" not in sys.modules
print("ready", flush=True)
sys.stdin.readline()
_marks.mark(step=2)
while len(sys._current_frames()) < 2: pass
# A job that waits for all of its threads does not wait for ours.
assert threading.enumerate() == [threading.main_thread()]
"""


def test_the_watcher_asks_for_it_by_a_byte_of_the_page(environment, watcher):
    job = subprocess.Popen(
        [sys.executable, "-c", ASKED], env={**environment, "LOWTIDE_DIR": str(watcher.folder)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert job.stdout.readline() == "ready\n"
    with open(watcher.page_path, "r+b") as page:
        page.seek(48)
        page.write(b"\1")
    _, errors = job.communicate("\n")
    assert (job.returncode, errors) == (0, "")


FORKS = """
import os, sys, threading, warnings
warnings.simplefilter("always")
from lowtide import _inside
def runs(inside):
    # Waits for its thread to begin, and for no other.
    while inside._thread is None or inside._thread.ident not in sys._current_frames(): pass
    return len(sys._current_frames()) == 2
first = _inside.start(share=0.5, first=0.0)
for _ in range(20):
    child = os.fork()
    if child == 0:
        other = _inside._running
        os._exit(0 if runs(other) and other is not first and other.looks == 0 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert runs(first) and _inside._running is first
print("fine")
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_a_fork_beside_it_is_a_fork_as_before(python, environment, tmp_path):
    assert code(environment, FORKS, python, XDG_RUNTIME_DIR=str(tmp_path)) == "fine\n"


SEEDED = """
import hashlib, random, sys
if len(sys.argv) > 1:
    from lowtide import _inside
    inside = _inside.start(share=0.5, first=0.0, gap=0.01)
rng, kept, digest = random.Random(7), {}, hashlib.sha256()
def train():
    history, step = [], 0
    def enough():
        return step >= 3000 and (len(sys.argv) == 1 or inside.looks >= 3)
    while step < 3000:
        step += 1
        kept[rng.random()] = [rng.randrange(step) for _ in range(20)]
        history.append(sum(map(sum, kept.values())) if step % 100 == 0 else step)
        digest.update(repr((step, sorted(kept)[-3:] if step % 500 == 0 else 0, history[-3:])).encode())
    more = 0
    while not enough():
        more += 1
train()
print(digest.hexdigest(), rng.random(), len(kept))
"""


def test_results_of_a_seeded_job_are_the_same(environment, watcher, tmp_path):
    job = tmp_path / "seeded.py"
    job.write_text(SEEDED)
    alone = run(sys.executable, environment, job).stdout
    assert run(sys.executable, environment, job, "inside", LOWTIDE_DIR=str(watcher.folder)).stdout == alone


class Libc:
    def __init__(self):
        self.named = []

    def __call__(self, tracer):
        self.named.append(tracer)
        return 0


def test_a_watcher_that_is_no_ancestor_is_let_in_by_its_number(tmp_path, monkeypatch):
    from lowtide import _ptracer

    here = os.stat("/proc/self/ns/pid").st_ino
    scope, libc = tmp_path / "scope", Libc()
    scope.write_text("1\n")
    assert _ptracer.allow(77, here, libc, str(scope)) == 77
    # A number of another namespace is somebody else's here; and nobody is named where it is not needed.
    assert _ptracer.allow(77, here + 1, libc, str(scope)) is None
    assert _ptracer.allow(0, 0, libc, str(scope)) is None
    for other in ("0\n", "2\n"):
        scope.write_text(other)
        assert _ptracer.allow(77, here, libc, str(scope)) is None
    assert _ptracer.allow(77, here, libc, str(tmp_path / "no Yama")) is None
    assert libc.named == [77]
    scope.write_text("1\n")
    monkeypatch.setenv("LOWTIDE_PTRACER", "any")
    assert _ptracer.allow(77, here + 1, libc, str(scope)) == 2 ** (8 * struct.calcsize("L")) - 1
    # Without Yama the kernel refuses, in silence.
    assert _ptracer.allow(os.getppid(), here, None, str(scope)) in (None, 2 ** (8 * struct.calcsize("L")) - 1)


def test_the_page_tells_who_the_watcher_is(watched):
    from lowtide import _marks

    with open(watched.page_path, "r+b") as page:
        page.seek(36)
        page.write(struct.pack("<IQ", 4711, 99))
    assert _marks.watched() and _marks._watcher.watcher() == (4711, 99)


# Put into a job that has nothing of lowtide, by `lowtide run --inside`.

LEAK = """
import os, sys
assert os.environ["PYTHONPATH"].split(":")[1:] == %(before)r, os.environ["PYTHONPATH"]
assert not any("lowtide" in path for path in sys.path), sys.path
class Metrics:
    def __init__(self):
        self.rows = []
metrics = Metrics()
def main():
    while True:
        if len(metrics.rows) < 20_000:
            metrics.rows.append(bytearray(500))
        for _ in range(3000): pass
        inside = sys.modules.get("lowtide._inside")
        running = getattr(inside, "_running", None)
        if running is not None and running.looks >= 1:
            return
main()
print("looked at")
"""


def run_inside(program, tmp_path, *command, **more):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LOWTIDE_", "PYTHON"))}
    recording = tmp_path / "recording"
    done = subprocess.run(
        [program, "run", "--inside", "-q", "-o", str(recording), "--", *map(str, command)],
        env={**clean, **more}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    return done, recording


def named_holders(program, recording):
    command = [program, "export", str(recording), "--what", "looks", "--format", "jsonl"]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {row["part"] for row in map(json.loads, rows) if row["by"] == "holder"}


@pytest.mark.parametrize("python", OLDEST_AND_NEWEST)
def test_a_job_without_the_package_is_looked_at_from_inside(program, tmp_path, python):
    job = tmp_path / "leak.py"
    job.write_text(LEAK % {"before": []})
    done, recording = run_inside(program, tmp_path, python, job)
    assert (done.returncode, done.stdout) == (0, "looked at\n"), done.stderr
    assert "Metrics.rows of leak.metrics" in named_holders(program, recording)


def test_a_job_keeps_its_own_sitecustomize_and_path(program, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("print('their own')\nSEEN = 1\n")
    job = tmp_path / "leak.py"
    job.write_text("import sitecustomize; assert sitecustomize.SEEN\n" + LEAK % {"before": [str(own)]})
    done, recording = run_inside(program, tmp_path, PYTHONS[-1], job, PYTHONPATH=str(own))
    assert (done.returncode, done.stdout) == (0, "their own\nlooked at\n"), done.stderr
    assert "Metrics.rows of leak.metrics" in named_holders(program, recording)
    # One that fails says so as it would without us, and nothing of ours is in its words.
    (own / "sitecustomize.py").write_text("raise RuntimeError('theirs')\n")
    with_us, _ = run_inside(program, tmp_path / "own", PYTHONS[-1], "-c", "print('ran')", PYTHONPATH=str(own))
    alone = subprocess.run(
        [PYTHONS[-1], "-c", "print('ran')"], env={**os.environ, "PYTHONPATH": str(own)}, capture_output=True, text=True
    )
    assert (with_us.returncode, with_us.stdout) == (0, "ran\n")
    assert alone.stderr and alone.stderr in with_us.stderr


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("flags", [[], ["-I"], ["-S"], ["-E", "-s"], ["-W", "error"]])
def test_a_python_starts_as_without_us(program, tmp_path, python, flags):
    code = "import sys; print([path for path in sys.path if 'inside' not in path or 'watcher' not in path], len(sys._current_frames()) - 1 <= 1)"
    done, _ = run_inside(program, tmp_path, python, *flags, "-c", code)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LOWTIDE_", "PYTHON"))}
    alone = subprocess.run([python, *flags, "-c", code], env=clean, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, alone.stdout, alone.stderr)


def test_a_job_that_is_no_python_runs_as_before(program, tmp_path):
    done, _ = run_inside(program, tmp_path, "sh", "-c", "echo fine; exit 3")
    assert (done.returncode, done.stdout) == (3, "fine\n")


WORKERS = """
import os, sys, time
def looked_at():
    while True:
        if len(rows) < 20_000:
            rows.append(bytearray(500))
        running = getattr(sys.modules.get("lowtide._inside"), "_running", None)
        if running is not None and running.looks >= 1:
            return
rows = []
child = os.fork()   # before the looks have begun, and again after
looked_at()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
later = os.fork()
looked_at()
if later == 0:
    os._exit(0)
assert os.waitpid(later, 0)[1] == 0
"""


@pytest.mark.parametrize("python", OLDEST_AND_NEWEST)
def test_workers_that_are_forked_look_at_themselves(program, tmp_path, python):
    job = tmp_path / "workers.py"
    job.write_text(WORKERS)
    done, recording = run_inside(program, tmp_path, python, "-W", "always", job)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "workers.rows" in named_holders(program, recording)
