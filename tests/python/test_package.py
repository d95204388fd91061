"""The package without torch: marks, page, fork, threads, all interpreters that are here."""

import os
import shutil
import stat
import subprocess
import sys
import time

import pytest

from conftest import PACKAGE
from watcher import Watcher

INTERPRETERS = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]


def interpreter(version):
    """The path of a Python of this version, if it runs here (a shim may have nothing behind it)."""
    path = shutil.which("python" + version)
    if path is None:
        return None
    try:
        asked = subprocess.run(
            [path, "-c", "import sys; print(sys.executable); print('%d.%d' % sys.version_info[:2])"],
            capture_output=True, text=True,
        )
    except OSError:
        return None
    if asked.returncode == 0 and asked.stdout.split()[1] == version:
        return asked.stdout.split()[0]
    pyenv = shutil.which("pyenv")
    if pyenv is None:
        return None
    root = subprocess.run([pyenv, "root"], capture_output=True, text=True).stdout.strip()
    for candidate in sorted(os.listdir(os.path.join(root, "versions"))):
        if candidate.startswith(version + "."):
            return os.path.join(root, "versions", candidate, "bin", "python")
    return None


def run(environment, code, python=sys.executable, **more):
    done = subprocess.run(
        [python, "-W", "error", "-c", code], env={**environment, **more}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("version", INTERPRETERS)
def test_marks_and_guard_on_each_python(version, watcher, environment):
    python = interpreter(version)
    if python is None:
        pytest.skip("no Python %s here" % version)
    watcher.write_page(request=1, stop_at=3)
    code = """
import lowtide, lowtide.hf, lowtide.torch, lowtide.cleanup, lowtide.lightning, lowtide.tracemalloc
lowtide.mark(step=1, epoch=0.5, examples=8, total_steps=4, geometry={"examples": 16, "batch": 8})
with lowtide.phase("eval"):
    pass
lowtide.mark(step=2, phase="train"); assert not lowtide.guard()
lowtide.mark(step=3, phase="train"); assert lowtide.guard()
lowtide.record({"loss": float("nan")}); lowtide.note("hello")
"""
    run(environment, code, python, LOWTIDE_DIR=str(watcher.folder))
    got = watcher.received()
    assert [m.get("phase") for m in got[:3]] == [None, "eval", "train"]
    assert got[0]["v"] == 1 and got[0]["total_steps"] == 4
    assert got[0]["geometry"] == {"examples": 16, "batch": 8}
    assert [m["seq"] for m in got] == list(range(1, len(got) + 1))
    assert got[-2]["record"] == {"loss": None} and got[-2]["kind"] == "record"
    assert got[-1]["kind"] == "note" and got[-1]["text"] == "hello"
    # Absolute state: the last datagram alone tells it all.
    assert (got[-1]["step"], got[-1]["examples"], got[-1]["total_steps"]) == (3, 8, 4)


def test_without_a_watcher_nothing_happens(environment, tmp_path):
    code = """
import lowtide
for step in range(1000):
    lowtide.mark(step=step)
with lowtide.phase("eval"): pass
assert lowtide.guard() is False
lowtide.record({"a": 1}); lowtide.note("b")
"""
    done = run(environment, code, XDG_RUNTIME_DIR=str(tmp_path))
    assert done.stdout == "" and done.stderr == ""


def test_import_takes_nothing_but_the_standard_library(environment):
    code = """
import sys
import lowtide
heavy = {"torch", "transformers", "numpy", "lightning", "subprocess"} - {"subprocess"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    run(environment, code)


def test_a_later_watcher_learns_the_whole_state(environment, tmp_path):
    """`attach`: the folder is found by the process's own name, and appears after the training began."""
    code = """
import lowtide, sys, time
lowtide.mark(step=5, total_steps=100, phase="train", geometry={"examples": 80, "batch": 2})
print(__import__("os").getpid(), lowtide._link.own_name(), flush=True)
sys.stdin.readline()
while not lowtide._marks.watched(): pass
lowtide.mark(step=6)
"""
    job = subprocess.Popen(
        [sys.executable, "-c", code], env={**environment, "XDG_RUNTIME_DIR": str(tmp_path)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )
    pid, name = job.stdout.readline().split()
    (tmp_path / "lowtide").mkdir(mode=0o700)
    late = Watcher(tmp_path / "lowtide" / "watcher-1")
    (tmp_path / "lowtide" / name).symlink_to("watcher-1")
    job.stdin.write("\n")
    job.stdin.flush()
    got = late.wait_for(lambda m: m["step"] == 6)
    assert job.wait(60) == 0
    assert got[0]["pid"] == int(pid) and got[0]["total_steps"] == 100
    assert got[0]["geometry"]["examples"] == 80
    late.close()


def test_the_watcher_killed_and_another_one_come(environment, tmp_path, monkeypatch):
    """The socket's file outlives a killed watcher; it must not hide the next one."""
    first = Watcher(tmp_path / "run")
    code = """
import lowtide, os, sys
lowtide.mark(step=1, phase="train")
print(lowtide._link.own_name(), flush=True); sys.stdin.readline()
lowtide.mark(step=2, phase="train")        # refused: the watcher is gone
assert lowtide._marks._watcher is None
print("gone", flush=True); sys.stdin.readline()
while not lowtide._marks.watched(): pass
lowtide.mark(step=3, phase="train")
"""
    job = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**environment, "XDG_RUNTIME_DIR": str(tmp_path), "LOWTIDE_DIR": str(first.folder)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )
    name = job.stdout.readline().strip()
    assert first.received()[0]["step"] == 1
    first.close()
    job.stdin.write("\n"); job.stdin.flush()
    assert job.stdout.readline() == "gone\n"
    second = Watcher(tmp_path / "second")
    (tmp_path / "lowtide").mkdir(mode=0o700)
    (tmp_path / "lowtide" / name).symlink_to(second.folder)
    job.stdin.write("\n"); job.stdin.flush()
    assert second.wait_for(lambda m: m.get("step") == 3)
    assert job.wait(60) == 0
    second.close()


def test_a_watcher_whose_files_were_removed_is_still_obeyed_and_a_killed_one_is_not(watcher, environment):
    """Many machines clean up /tmp; but nobody would start a job again that stopped for a dead watcher."""
    code = """
import lowtide, os, sys
lowtide.mark(step=1, phase="train"); assert not lowtide.guard()
print("ready", flush=True); sys.stdin.readline()
lowtide.mark(step=2, phase="train")
assert lowtide._marks._watcher is None
print(lowtide.guard(), flush=True)
"""
    said = {}
    for fault in ("removed", "killed"):
        watcher.write_page()
        job = subprocess.Popen(
            [sys.executable, "-c", code], env={**environment, "LOWTIDE_DIR": str(watcher.folder)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        assert job.stdout.readline() == "ready\n"
        watcher.write_page(request=1, stop_at=2)
        if fault == "killed":
            watcher.close()
        else:
            os.rename(watcher.folder / "marks.sock", watcher.folder / "moved")
        said[fault] = job.communicate("\n", 60)[0].strip()
        if fault == "removed":
            os.rename(watcher.folder / "moved", watcher.folder / "marks.sock")
    assert said == {"removed": "True", "killed": "False"}


def test_a_guard_is_told_where_the_loop_saves_and_how_it_goes_on(watcher, environment, tmp_path):
    code = """
import os
import lowtide
os.chdir(%r)
lowtide.mark(step=1)
with lowtide.phase("save", "ckpts/step_1.pt"):
    pass
lowtide.guard(saves=7)                     # no folder: the loop goes on
lowtide.mark(step=2, phase="train")
lowtide.guard(saves="of mine", resume="--go {checkpoint}")
lowtide.mark(step=3, phase="train")
""" % str(tmp_path)
    run(environment, code, LOWTIDE_DIR=str(watcher.folder))
    told = {message["step"]: message.get("guard") for message in watcher.received()}
    here = os.path.realpath(str(tmp_path))
    assert told[2] == {"hears": True, "saves": [here + "/ckpts"]}
    assert told[3] == {"hears": True, "saves": [here + "/of mine"], "resume": "--go {checkpoint}"}


def test_a_socket_that_goes_away_is_no_error(watcher, environment):
    code = """
import lowtide, os
lowtide.mark(step=1)
os.unlink(os.path.join(os.environ["LOWTIDE_DIR"], "marks.sock"))
for step in range(2, 1000):
    lowtide.mark(step=step, phase="train")
"""
    done = run(environment, code, LOWTIDE_DIR=str(watcher.folder))
    assert done.stderr == ""


def test_a_full_socket_never_blocks(watcher, environment):
    """Nobody reads: the kernel's queue fills after some dozens, and the loop goes on."""
    code = """
import lowtide
for step in range(20000):
    lowtide.mark(step=step, phase="train")
assert lowtide._marks._watcher is not None, "a slow watcher is still a watcher"
"""
    watcher.stop()
    run(environment, code, LOWTIDE_DIR=str(watcher.folder))
    watcher.start()


def test_a_folder_that_others_can_write_is_ignored(watcher, environment):
    os.chmod(watcher.folder, stat.S_IRWXU | stat.S_IWOTH | stat.S_IXOTH)
    run(environment, "import lowtide; lowtide.mark(step=1)", LOWTIDE_DIR=str(watcher.folder))
    assert watcher.received() == []


def test_a_forked_child_does_not_speak_for_its_parent(watcher, environment):
    code = """
import lowtide, os
lowtide.mark(step=7, phase="train", geometry={"batch": 4})
child = os.fork()
if child == 0:
    assert lowtide._marks.current() == {}
    lowtide.mark(phase="start")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
lowtide.mark(step=8, phase="train")
"""
    run(environment, code, LOWTIDE_DIR=str(watcher.folder))
    parent, child, after = watcher.received()
    assert child["pid"] != parent["pid"] == after["pid"]
    assert "step" not in child and "geometry" not in child and child["seq"] == 1
    assert after["step"] == 8


def test_threads_may_mark_together(watcher, environment):
    code = """
import lowtide, threading
def work(n):
    for step in range(200):
        lowtide.mark(step=step, phase="train"); lowtide.guard()
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
"""
    done = run(environment, code, LOWTIDE_DIR=str(watcher.folder))
    assert done.stderr == ""
    numbers = [m["seq"] for m in watcher.received()]
    assert numbers and len(set(numbers)) == len(numbers)


def test_a_fast_loop_is_thinned_but_its_last_step_arrives(watcher, environment):
    code = "import lowtide\nfor step in range(1, 20001): lowtide.mark(step=step)"
    run(environment, code, LOWTIDE_DIR=str(watcher.folder))
    steps = [m["step"] for m in watcher.received()]
    assert len(steps) < 20000 and steps[0] == 1 and steps[-1] == 20000


@pytest.mark.parametrize(
    "page, answer",
    [
        ({"request": 0}, False),
        ({"request": 1, "stop_at": 0}, True),
        ({"request": 1, "stop_at": 10}, True),
        ({"request": 1, "stop_at": 11}, False),
        ({"request": 1, "stop_at": 0, "heartbeat": 1}, False),  # a minute stale: the watcher is gone
    ],
)
def test_what_the_page_asks(watcher, environment, page, answer):
    if time.monotonic_ns() < 61 * 10**9 and page.get("heartbeat") == 1:
        pytest.skip("the machine has been up for less than the stale time")
    watcher.write_page(**page)
    code = "import lowtide; lowtide.mark(step=10); print(lowtide.guard())"
    assert run(environment, code, LOWTIDE_DIR=str(watcher.folder)).stdout.strip() == str(answer)


@pytest.mark.parametrize("content", [b"", b"LOWTIDE1", b"SOMETHING".ljust(4096, b"\1")])
def test_a_page_that_is_none_asks_nothing(watcher, environment, content):
    watcher.page_path.write_bytes(content)
    code = "import lowtide; lowtide.mark(step=10); print(lowtide.guard())"
    assert run(environment, code, LOWTIDE_DIR=str(watcher.folder)).stdout.strip() == "False"
    assert watcher.received()[0]["step"] == 10


def test_rank_comes_from_the_launcher(watcher, environment):
    run(environment, "import lowtide; lowtide.mark(step=1)", LOWTIDE_DIR=str(watcher.folder), RANK="3")
    assert watcher.received()[0]["rank"] == 3


def fake_program(folder):
    """Stands for the binary where only its being found and started is at issue."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "lowtide"
    path.write_text('#!/bin/sh\necho "$@"; echo ppid $PPID\n')
    path.chmod(0o755)
    return path


def test_python_m_lowtide_runs_the_program(environment, tmp_path):
    program = fake_program(tmp_path / "bin")
    done = subprocess.run(
        [sys.executable, "-m", "lowtide", "judge", "--json", "a b"],
        env={**environment, "LOWTIDE_BIN": str(program)}, capture_output=True, text=True,
    )
    assert done.stdout.splitlines()[0] == "judge --json a b" and done.returncode == 0


def test_python_m_lowtide_says_when_the_program_is_missing(environment, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "lowtide"], env={**environment, "PATH": str(tmp_path)}, capture_output=True, text=True
    )
    if done.returncode != 127:
        pytest.skip("this interpreter has the program beside it")
    assert "hint:" in done.stderr


def test_watch_starts_a_watcher_that_is_no_child(environment, tmp_path):
    program = fake_program(tmp_path / "bin")
    code = """
import lowtide, os, time
started = lowtide.watch(output="out")
assert lowtide.watch() is None            # once is enough
deadline = time.monotonic() + 60
while "ppid" not in open(started.log).read() and time.monotonic() < deadline: pass
text = open(started.log).read()
assert text.splitlines()[0] == "attach %d -o out" % os.getpid(), text
assert "ppid %d" % os.getpid() not in text
"""
    run(environment, code, LOWTIDE_BIN=str(program), XDG_RUNTIME_DIR=str(tmp_path))


def test_watch_under_a_watcher_starts_none(watcher, environment, tmp_path):
    program = fake_program(tmp_path / "bin")
    code = "import lowtide; assert lowtide.watch() is None"
    done = run(environment, code, LOWTIDE_BIN=str(program), LOWTIDE_DIR=str(watcher.folder))
    assert done.stderr == ""


def test_watch_without_the_program_warns_once(environment, tmp_path):
    code = "import lowtide; lowtide.watch(); lowtide.watch()"
    done = run(environment, code, PATH=str(tmp_path), XDG_RUNTIME_DIR=str(tmp_path))
    if done.stderr.count("lowtide") and "watching process" in done.stderr:
        pytest.skip("this interpreter has the program beside it")
    assert done.stderr.count("no watcher was started") == 1


def test_the_version_is_the_one_of_the_program():
    text = (PACKAGE / "lowtide" / "__init__.py").read_text()
    manifest = (PACKAGE.parent / "Cargo.toml").read_text()
    version = text.split('__version__ = "')[1].split('"')[0]
    assert 'version = "%s"' % version in manifest


def test_cleanup_and_track_work_without_torch(watcher, environment):
    code = """
import lowtide
from lowtide.cleanup import MemoryCleanup
from lowtide.torch import Loop
cleanup = MemoryCleanup(every=2, lines=False)
with Loop(every=2, loader=[1, 2, 3, 4], epochs=2, lines=False) as loop:
    for epoch in range(2):
        for batch in loop.batches():
            loop.step(); cleanup.step(loop.steps)
        with loop.phase("eval"): pass
print(cleanup.finish())
"""
    done = run(environment, code, LOWTIDE_DIR=str(watcher.folder))
    assert done.stdout.startswith("cleanup: 4 calls, ") and done.stdout.strip().endswith("freed nothing: remove it")
    got = watcher.received()
    assert got[0]["geometry"]["epoch_steps"] == 4 and got[0]["total_steps"] == 8
    assert {m["phase"] for m in got} == {"train", "eval", "end"}
    sizing = [m["record"]["sizing"] for m in got if "sizing" in m.get("record", {})]
    assert sizing[0]["recommended"] > sizing[0]["needed"] > 0


def test_cleanup_measures_what_it_frees(environment):
    code = """
import gc; gc.disable()
from lowtide.cleanup import MemoryCleanup
cleanup = MemoryCleanup(every=1, lines=False)
for step in range(3):
    loop = [bytearray(30_000_000)]; loop.append(loop); del loop     # a cycle only gc can free
    cleanup.step(step)
print(cleanup.freed > 80_000_000, cleanup.worth())       # by gc, or by trim what gc left
"""
    done = run(environment, code)
    assert done.stdout.startswith("True cleanup: 3 calls"), done.stdout
    assert "remove it" not in done.stdout and "switch off" in done.stdout


def test_tracemalloc_names_the_growing_line(watcher, environment):
    code = """
from lowtide.tracemalloc import Window
window = Window(2, 4, lines=False)
kept = []
for step in range(1, 7):
    kept.append(bytes(1_000_000))
    window.step(step)
import tracemalloc; assert not tracemalloc.is_tracing()
"""
    run(environment, code, LOWTIDE_DIR=str(watcher.folder))
    record = next(m["record"] for m in watcher.received() if m.get("kind") == "record")
    assert max(record["tracemalloc"].values()) == pytest.approx(2_000_000, rel=0.01)
