"""Where a job and its watcher meet: containers that share the folder, users who made it first, other versions."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import PACKAGE
from guarding import JOBS, PATIENCE, Group, needs_limit, trace
from test_package import fake_program, run
from test_program import alone, marked_steps, wait_until  # noqa: F401 - a fixture

ATTACKER = 65534
NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc"]


def may_unshare():
    return os.getuid() == 0 and subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode == 0


needs_namespaces = pytest.mark.skipif(not may_unshare(), reason="no right to make a pid namespace")
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs several users")


@needs_namespaces
def test_two_containers_that_share_the_folder_keep_apart(program, alone, tmp_path):  # noqa: F811
    """In each namespace the job is process 2, and so are its watcher and its helper the same numbers."""
    watched = """
import lowtide, os, sys, time
base = int(sys.argv[1])
while not lowtide._marks.watched(): time.sleep(0.02)
open("watched-%d" % base, "w").close()
for step in range(base, base + 20):
    lowtide.mark(step=step, phase="train")
    assert not lowtide.guard()
    time.sleep(0.02)
while not os.path.exists("go"): time.sleep(0.02)
assert os.getpid() == 2
"""
    # The shell is process 1: when it ends, so does all of the namespace.
    container = '"$PYTHON" -c "$0" "$1" & "$PROGRAM" attach -q -o "run-$1" $!'
    env = {**alone, "PYTHON": sys.executable, "PROGRAM": program}
    jobs = [
        subprocess.Popen([*NAMESPACE, "sh", "-c", container, watched, str(base)], env=env, cwd=tmp_path)
        for base in (1000, 2000)
    ]
    wait_until(lambda: all((tmp_path / ("watched-%d" % base)).exists() for base in (1000, 2000)))
    # A third one that nobody watches, process 2 of its namespace as well.
    nobody = "import lowtide, os; assert os.getpid() == 2; assert not lowtide._marks.watched()"
    bare = subprocess.run(
        [*NAMESPACE, "sh", "-c", '"$PYTHON" -c "$0"; exit $?', nobody], env=env, cwd=tmp_path,
        capture_output=True, text=True,
    )
    (tmp_path / "go").touch()
    assert bare.returncode == 0, bare.stderr
    assert [job.wait(120) for job in jobs] == [0, 0]
    for base in (1000, 2000):
        steps = marked_steps(program, tmp_path / ("run-%d" % base))
        assert steps and {step // 1000 for step in steps} == {base // 1000}, steps
    left = os.listdir(Path(alone["XDG_RUNTIME_DIR"]) / "lowtide")
    assert left == [], "nothing stays behind"


# Forks until a process has the number that was asked for, which becomes the command: jobs of two namespaces have
# the same one then. The next attempt has another, as its namespace goes on counting.
AT_PID = """
import os, sys
wanted = int(sys.argv[1]) * int(os.environ.get("LOWTIDE_ATTEMPT", "1"))
while True:
    child = os.fork()
    if child == 0:
        if os.getpid() == wanted:
            os.execvp(sys.argv[2], sys.argv[2:])
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert child <= wanted
    if child == wanted:
        sys.exit(os.waitstatus_to_exitcode(status))
"""


@needs_namespaces
@needs_limit
def test_a_guard_asks_the_job_of_its_own_container(program, alone, tmp_path):  # noqa: F811
    """Both jobs have the same number; one is guarded and leaks in a small group, the other is nobody's."""
    neighbour = """
import lowtide, os, time
assert os.getpid() == 300
open("there", "w").close()
while not os.path.exists("go"):
    lowtide.mark(step=1, phase="train")
    assert not lowtide.guard() and not lowtide._marks.watched()
    time.sleep(0.01)
open("untouched", "w").close()
"""
    python = [sys.executable, "-c"]
    env = {**alone, "LOWTIDE_HOME": str(tmp_path / "home"), "PYTHONUNBUFFERED": "1"}
    other = subprocess.Popen(
        [*NAMESPACE, *python, AT_PID, "300", *python, neighbour], env=env, cwd=tmp_path,
    )
    wait_until(lambda: (tmp_path / "there").exists())
    limited = Group(150)
    guarded = subprocess.run(
        [*NAMESPACE, program, "run", "-i", "200ms", "-o", "recording", "--guard", "--checkpoints", "out",
         "--resume-arg", "--resume {checkpoint}", "--", *python, AT_PID, "300",
         sys.executable, str(JOBS / "steps.py"), "--leak", "2", "--out", "out", "--trace", "trace"],
        env=env, cwd=tmp_path, capture_output=True, text=True, preexec_fn=limited.enter, timeout=PATIENCE,
    )
    assert other.poll() is None, "it stopped with the other's job"
    (tmp_path / "go").touch()
    assert guarded.returncode == 0, guarded.stderr[-3000:]
    assert "pid 300" in guarded.stdout and "pid 600" in guarded.stdout, guarded.stdout[:300]
    assert "asked to save and stop at step" in guarded.stderr and limited.oom_kills == 0, guarded.stderr[-3000:]
    steps, last = trace(tmp_path / "trace")
    assert steps == list(range(1, 151)) and last.startswith("done"), "a step was lost or repeated"
    assert other.wait(PATIENCE) == 0 and (tmp_path / "untouched").exists()
    limited.close()
    assert os.listdir(Path(alone["XDG_RUNTIME_DIR"]) / "lowtide") == [], "nothing stays behind"


def test_workers_find_the_watcher_of_their_job(program, alone, tmp_path):  # noqa: F811
    """A forked worker has its own name, and is invited as soon as it is seen."""
    code = """
import lowtide, os, time
def until_watched():
    while not lowtide._marks.watched(): time.sleep(0.02)
open("pid", "w").write(str(os.getpid())); os.rename("pid", "job")
until_watched()
lowtide.mark(step=1)
if os.fork() == 0:
    until_watched()
    lowtide.mark(step=101)
    os._exit(0)
assert os.wait()[1] == 0
"""
    job = subprocess.Popen([sys.executable, "-c", code], env=alone, cwd=tmp_path)
    wait_until((tmp_path / "job").exists)
    subprocess.run([program, "attach", "-q", "-o", "run", (tmp_path / "job").read_text()], env=alone, cwd=tmp_path)
    assert job.wait(60) == 0
    assert set(marked_steps(program, tmp_path / "run")) == {1, 101}


def test_a_package_older_than_the_program_is_told(program, alone, tmp_path):  # noqa: F811
    """It looks for a pid alone. It is not obeyed, nor does it obey; the user hears why there are no marks."""
    code = """
import os, socket, time
path = os.path.join(os.environ["XDG_RUNTIME_DIR"], "lowtide", str(os.getpid()))
while not os.path.exists(path + "/marks.sock"): time.sleep(0.02)
assert not os.path.exists(path + "/page")
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'{"v":1,"step":7}', path + "/marks.sock")
while not os.path.exists("go"): time.sleep(0.02)
"""
    job = subprocess.Popen([sys.executable, "-c", code], env=alone, cwd=tmp_path)
    with open(tmp_path / "said", "wb") as said:
        watcher = subprocess.Popen(
            [program, "attach", "-o", "run", str(job.pid)], env=alone, cwd=tmp_path,
            stdout=subprocess.DEVNULL, stderr=said,
        )
        wait_until(lambda: "hint: install the same version" in (tmp_path / "said").read_text())
    (tmp_path / "go").touch()
    assert job.wait(60) == 0 and watcher.wait(60) == 0
    assert "package is older than this program" in (tmp_path / "said").read_text()
    assert marked_steps(program, tmp_path / "run") == []


def test_a_program_older_than_the_package_is_told(environment, tmp_path):
    code = """
import lowtide, os
runtime = os.path.join(os.environ["XDG_RUNTIME_DIR"], "lowtide")
os.mkdir(runtime, 0o700)
os.symlink(os.path.join(runtime, "watcher-7"), os.path.join(runtime, str(os.getpid())))
assert not lowtide._marks.watched() and not lowtide._marks.watched()
"""
    done = run(environment, code, XDG_RUNTIME_DIR=str(tmp_path))
    assert done.stderr.count("older than this package") == 1 and "hint: install" in done.stderr


def test_a_page_of_another_folder_is_not_obeyed(watcher, environment):
    watcher.write_page(request=1, stop_at=0)
    code = "import lowtide; lowtide.mark(step=1); print(lowtide.guard())"
    for name, obeyed in ((b"another", "False"), (os.fsencode(watcher.folder.name), "True")):
        with open(watcher.page_path, "r+b") as page:
            page.seek(64)
            page.write(name.ljust(64, b"\0"))
        assert run(environment, code, LOWTIDE_DIR=str(watcher.folder)).stdout.strip() == obeyed


@pytest.fixture
def victim():
    """A user whose folder in /tmp somebody else made first, with a home; nobody else has this number."""
    uid = 40000 + os.getpid() % 20000
    taken = Path("/tmp/lowtide-%d" % uid)
    taken.mkdir()
    taken.chmod(0o777)
    os.chown(taken, ATTACKER, ATTACKER)
    home = tempfile.mkdtemp(prefix="lt-")
    os.chown(home, uid, uid)
    yield uid, Path(home), taken
    shutil.rmtree(home)
    shutil.rmtree(taken)


def as_user(uid, command):
    return ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups", *command]


def of_user(environment, home, **more):
    names = ("XDG_RUNTIME_DIR", "XDG_STATE_HOME")
    clean = {name: value for name, value in environment.items() if name not in names}
    # The source tree may be closed to others: the package goes with the user.
    if not (home / "package").exists():
        shutil.copytree(PACKAGE / "lowtide", home / "package" / "lowtide", ignore=shutil.ignore_patterns("__pycache__"))
    return {**clean, "HOME": str(home), "TMPDIR": "/tmp", "PYTHONPATH": str(home / "package"), **more}


def usable(uid, *paths):
    """The first of these programs that the user may run; what setpriv itself may run says nothing of that."""
    for path in filter(os.path.exists, map(str, paths)):
        asked = as_user(uid, ["sh", "-c", '"$0" --version', path])
        if subprocess.run(asked, capture_output=True, cwd="/").returncode == 0:
            return path
    pytest.skip("another user cannot run %s" % (paths,))


def python_of(uid):
    """The package needs nothing but the standard library: any Python will do."""
    return usable(uid, sys.executable, "/usr/local/bin/python3", "/usr/bin/python3")


@needs_root
def test_a_folder_that_somebody_else_made_first_is_told_and_another_is_found(program, environment, victim):
    uid, home, taken = victim
    binary, python = usable(uid, shutil.copy(program, home / "lowtide")), python_of(uid)
    env = of_user(environment, home)
    code = """
import lowtide, os
assert not os.environ["LOWTIDE_DIR"].startswith("/tmp/lowtide-%d/" % os.getuid()), os.environ["LOWTIDE_DIR"]
assert lowtide._marks.watched()
for step in (1, 2, 3): lowtide.mark(step=step, phase="train")
"""
    done = subprocess.run(
        as_user(uid, [binary, "run", "--guard", "-o", str(home / "run"), "--", python, "-c", code]),
        env=env, cwd=home, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "%s is not a folder of this user alone; the job's marks go through" % taken in done.stderr
    assert "hint: set XDG_RUNTIME_DIR" in done.stderr
    assert marked_steps(program, home / "run") == [1, 2, 3]
    assert not list(Path("/tmp").glob("lowtide-%d-*" % uid)), "nothing stays behind"


@needs_root
def test_watch_finds_another_place_too(program, environment, victim):
    uid, home, taken = victim
    binary, python = usable(uid, shutil.copy(program, home / "lowtide")), python_of(uid)
    code = """
import lowtide, time
print(lowtide.watch(output="run", quiet=True).log, flush=True)
while not lowtide._marks.watched(): time.sleep(0.02)
for step in (1, 2, 3): lowtide.mark(step=step, phase="train")
"""
    done = subprocess.run(
        as_user(uid, [python, "-c", code]), env=of_user(environment, home, LOWTIDE_BIN=binary), cwd=home,
        capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr
    log = Path(done.stdout.strip())
    try:
        assert log.parent != taken and log.stat().st_uid == uid and log.parent.stat().st_mode & 0o77 == 0
        wait_until(lambda: marked_steps(program, home / "run") == [1, 2, 3])
    finally:
        shutil.rmtree(log.parent)


@needs_root
def test_nobody_swaps_the_log_of_watch_for_a_link(environment, victim):
    """The attacker owns the folder and replaces each log in it at once by a link to a private file of the victim."""
    uid, home, taken = victim
    python = python_of(uid)
    private = home / "private"
    private.write_text("mine\n")
    private.chmod(0o600)
    os.chown(private, uid, uid)
    swap = """
import os, sys
folder, target = sys.argv[1:]
print("ready", flush=True)
while True:
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        try:
            if not os.path.islink(path):
                os.symlink(target, path + ".link"); os.rename(path + ".link", path)
        except OSError: pass
"""
    attacker = subprocess.Popen(
        as_user(ATTACKER, [sys.executable, "-c", swap, str(taken), str(private)]), stdout=subprocess.PIPE, text=True,
    )
    assert attacker.stdout.readline() == "ready\n"
    env = of_user(environment, home, LOWTIDE_BIN=str(fake_program(home / "bin")))
    code = """
import lowtide, time
log = lowtide.watch(quiet=True).log
until = time.monotonic() + 60
while "ppid" not in open(log).read() and time.monotonic() < until: time.sleep(0.02)
print(log)
"""
    for _ in range(5):
        done = subprocess.run(as_user(uid, [python, "-c", code]), env=env, cwd=home, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        log = Path(done.stdout.strip())
        assert "ppid" in log.read_text() and log.parent != taken
        shutil.rmtree(log.parent)
        assert private.read_text() == "mine\n"
    attacker.kill()
    attacker.wait()
