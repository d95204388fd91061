"""Real Python interpreters of many versions, and some that are none of ours to read, for tests that look into them.

`all_interpreters()` offers what this machine has (pyenv's, `python3.X` on the PATH) and what the distributions carry:
their packages, fetched once per checkout into `target/interpreters/` and unpacked into a root of their own, where
they run as in a container. What cannot be had is named in `missing()`, with the reason, and is no failure.

The mirror is the one this machine's own apt uses; see distributions.py for another. A build of one's own (free-threaded,
with musl) is found in `target/interpreters/own/BUILD/bin/python3.X`.
"""

import contextlib
import fcntl
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from altered import ALTERATIONS
from distributions import Apt, Unavailable, Unreachable, run

PLACE = Path(__file__).resolve().parents[2] / "target" / "interpreters"
TRUTH = Path(__file__).resolve().parent / "inside" / "truth.py"
VERSIONS = ["3.%d" % minor for minor in range(9, 16)]
# What the interpreters of a root need to start and to import the standard library's common modules.
LIBRARIES = ["libc6", "libgcc-s1", "zlib1g", "libexpat1", "libffi8", "libbz2-1.0", "liblzma5", "libzstd1"]
OTHERS = {"pypy3": ["pypy3", "pypy3-lib", "libncursesw6", "libtinfo6"], "micropython": ["micropython"]}
# One root a suite: which interpreters it should give. Ubuntu's are the two ends of the incremental collector.
ROOTS = {
    "debian-sid": ["3.13", "3.14", "3.15", "pypy3", "micropython"],
    "ubuntu-questing": ["3.14"],
    "ubuntu-resolute": ["3.14"],
}
# Raised when a root or the packages are made otherwise: older ones are made anew.
RECIPE = 2
TQDM = {"newest": "tqdm", "older": "tqdm==4.62.3"}
# Seconds after which a mirror that did not answer is asked again.
AGAIN = 600

PROBE = """
import json, sys
name = sys.implementation.name
if name == "cpython" and "t" in sys.abiflags:
    name = "free-threaded"
print(json.dumps([name, "%d.%d.%d" % sys.version_info[:3], sys.prefix]))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python that can be started. `kind` is `cpython`, `free-threaded`, `pypy` or `micropython`."""

    kind: str
    version: str
    executable: str  # as seen from its root
    root: Path = Path("/")
    prefix: str = ""
    # What was done to it: `shared` (libpython), `no-sections`, `no-symbols`, `stripped`, `free-threaded-word`;
    # or the name of one's own build; or nothing.
    build: str = ""
    extra: dict = field(default_factory=dict, hash=False)

    def __str__(self):
        where = "" if self.root == Path("/") else "@" + self.root.name
        return "-".join(filter(None, [self.kind, self.version, self.build])) + where

    @property
    def contained(self):
        return self.root != Path("/")

    def command(self, script, *args):
        """The arguments that start a script there; a copy of it lies in the root by then."""
        if self.contained:
            for file in (TRUTH, Path(script)):
                _write(self.root / "jobs" / file.name, file.read_bytes(), 0o644)
            script = "/jobs/" + Path(script).name
        return [*self._entry(), self.executable, str(script), *map(str, args)]

    def inside(self, path):
        """A path of ours as a job there sees it."""
        return "/" + str(Path(path).relative_to(self.root)) if self.contained else str(path)

    def folder(self, tmp_path):
        """A folder that both sides can write to: `tmp_path` itself, or one in the root."""
        if not self.contained:
            return tmp_path
        (self.root / "tmp").mkdir(exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=self.root / "tmp"))
        made.chmod(0o755)
        return made

    def environment(self, tqdm="newest"):
        """The environment to start it with: tqdm is importable there, and the jobs' log, `truth`."""
        clean = {**self._clean_environment(), **self.extra}
        folder = packages(tqdm)
        if self.contained:
            copy = self.root / "packages" / tqdm
            if not _is_made(copy):
                with _one_at_a_time(), _made_whole(copy) as new:
                    shutil.copytree(folder, new, dirs_exist_ok=True)
            folder = self.inside(copy)
        # In a root the log's module lies beside the jobs.
        clean["PYTHONPATH"] = str(folder) if self.contained else "%s:%s" % (folder, TRUTH.parent)
        return clean

    def run(self, code):
        """What a line of code prints there."""
        command = [*self._entry(), self.executable, "-c", code]
        environment = {**self._clean_environment(), **self.extra}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=60, stdin=subprocess.DEVNULL
        ).stdout

    def _clean_environment(self):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("LOWTIDE_", "PYTHON"))}
        clean["PYTHONDONTWRITEBYTECODE"] = "1"
        if self.contained:
            # A root has no other locale, and PyPy does not start with one that is not there.
            clean["LC_ALL"] = "C"
        return clean

    def _entry(self):
        if not self.contained:
            return []
        # Both start the interpreter in their own process: its number is the one that was started.
        return ["chroot", str(self.root)] if os.geteuid() == 0 else ["unshare", "-r", "-R", str(self.root)]


_missing = {}


def missing():
    """{name: reason} of what was looked for and cannot be had here."""
    all_interpreters()
    return dict(_missing)


@functools.lru_cache(maxsize=None)
def all_interpreters():
    """Every interpreter that can be had here, CPython by version first; also the ones that have to be refused."""
    found = _of_this_machine()
    for name, wanted in ROOTS.items():
        try:
            found += _of_root(_root(name, wanted), wanted)
        except Unavailable as reason:
            _missing[name] = str(reason)
    found += _altered(found)
    for version in VERSIONS:
        if not any(each.kind == "cpython" and each.version.startswith(version + ".") for each in found):
            _missing.setdefault("CPython " + version, "neither on this machine nor with a mirror it may use")
    for kind in ("free-threaded", "pypy"):
        if not any(each.kind == kind for each in found):
            _missing.setdefault(kind, "neither on this machine nor with a mirror it may use")
    return sorted(found, key=lambda each: (each.kind != "cpython", each.kind, _order(each.version), each.build))


def plain_cpythons():
    """The ones that have to be read: with the GIL, and as somebody built them."""
    return [each for each in all_interpreters() if each.kind == "cpython" and each.build in ("", "shared")]


def one(kind, version="", build=""):
    """The newest of a kind; without one the test is skipped."""
    fit = [each for each in all_interpreters() if (each.kind, each.build) == (kind, build) and each.version.startswith(version)]
    if not fit:
        reasons = "; ".join("%s: %s" % pair for pair in missing().items())
        pytest.skip("no %s here (%s)" % (" ".join(filter(None, [kind, version, build])), reasons or "nothing was missing"))
    return fit[-1]


def _order(version):
    return [int(part) for part in re.findall(r"\d+", version)]


# What this machine has.


def _of_this_machine():
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    paths = [path for path in pyenv.glob("*/bin/python3*") if re.fullmatch(r"python3\.\d+t?", path.name)]
    # No distribution has these, and they take minutes to build.
    paths += [path for path in PLACE.glob("own/*/bin/python3*") if re.fullmatch(r"python3\.\d+t?", path.name)]
    for folder in os.get_exec_path():
        paths += [Path(folder) / name for version in VERSIONS for name in ("python" + version, "python" + version + "t")]
        paths.append(Path(folder) / "pypy3")
    found = {}
    for path in paths:
        # pyenv's shims are scripts: the process would be another file's. A virtual environment's is its base's.
        if path.is_file() and os.access(path, os.X_OK) and path.read_bytes()[:4] == b"\x7fELF":
            found.setdefault(os.path.realpath(path), None)
    known = [_probed(Interpreter("", "", path, build=_own_build(path))) for path in found]
    return [each for each in known if each and each.version.rpartition(".")[0] in VERSIONS]


def _own_build(path):
    own = str(PLACE / "own") + os.sep
    name = path[len(own) :].split(os.sep)[0] if path.startswith(own) else ""
    # That is a kind, which it tells itself.
    return "" if name == "free-threaded" else name


def _probed(interpreter):
    """The interpreter with its kind and version as it tells them itself, or None if it does not start."""
    try:
        kind, version, prefix = json.loads(interpreter.run(PROBE))
    except (subprocess.SubprocessError, OSError, ValueError) as reason:
        told = (getattr(reason, "stderr", "") or str(reason)).strip().splitlines()
        _missing[str(interpreter.executable)] = "does not start: " + (told[-1] if told else "")
        return None
    return replace(interpreter, kind=kind, version=version, prefix=prefix)


# What the distributions have.


def _of_root(root, wanted):
    found = []
    for name in wanted:
        executable = "/usr/bin/" + (name if name in OTHERS else "python" + name)
        if not (root / executable[1:]).exists():
            _missing["%s in %s" % (name, root.name)] = "the suite has none"
        elif name == "micropython":
            found.append(Interpreter("micropython", "", executable, root))
        else:
            found.append(_probed(Interpreter("", "", executable, root)))
            embedder = executable + "-shared"
            if (root / embedder[1:]).exists():
                found.append(_probed(Interpreter("", "", embedder, root, build="shared")))
    return [each for each in found if each]


def _root(name, wanted):
    """The folder with a suite's interpreters, made if it is not there."""
    distribution, _, suite = name.partition("-")
    _must_be_enterable()
    root = PLACE / name
    if _is_made(root):
        return root
    with _one_at_a_time():
        if _is_made(root):
            return root
        with _remembered(root), _made_whole(root) as new, tempfile.TemporaryDirectory(dir=PLACE) as scratch:
            apt = Apt(Path(scratch), distribution, suite)
            packages = []
            for each in wanted:
                if each in OTHERS:
                    parts = OTHERS[each]
                else:
                    parts = [part % each for part in ("python%s", "python%s-minimal", "libpython%s-minimal", "libpython%s-stdlib", "libpython%s")]
                if apt.has(parts[0]):
                    packages += parts
            if not packages:
                raise Unavailable("the suite has none of %s" % ", ".join(wanted))
            apt.unpack(packages + [library for library in LIBRARIES if apt.has(library)], new)
            for each in wanted:
                _embed(new, each)
    return root


@contextlib.contextmanager
def _remembered(root):
    """A mirror that did not answer is asked again after a while only: every test process would wait for it."""
    note = root.with_name(root.name + ".unavailable")
    with contextlib.suppress(OSError):
        if time.time() - note.stat().st_mtime < AGAIN:
            raise Unavailable(note.read_text())
    try:
        yield
    except Unreachable as reason:
        note.write_text(str(reason))
        raise


def _must_be_enterable():
    if os.geteuid() == 0:
        return
    try:
        subprocess.run(["unshare", "-r", "-R", "/", "true"], check=True, capture_output=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        raise Unavailable("only root can enter another root here (no user namespaces)") from None


def _embed(root, version):
    """A program that is no python but has one in a shared library, as embedders do; without a compiler there is none."""
    library = next(root.glob("usr/lib/*/libpython%s.so.1.0" % version), None)
    if not library or not shutil.which("cc"):
        return
    source = "int Py_BytesMain(int, char **); int main(int c, char **v) { return Py_BytesMain(c, v); }"
    command = ["cc", "-x", "c", "-", "-o", str(root / ("usr/bin/python%s-shared" % version)), "-x", "none", str(library)]
    # The root's C library may be newer than the compiler's.
    command += ["-Wl,--unresolved-symbols=ignore-in-shared-libs"]
    subprocess.run(command, input=source.encode(), capture_output=True, timeout=60, check=False)


# tqdm for all of them.


@functools.lru_cache(maxsize=None)
def packages(which="newest"):
    """The folder with tqdm, which is Python alone: one for all interpreters."""
    folder = PLACE / "packages" / which
    with _one_at_a_time():
        if _is_made(folder):
            return folder
        with _made_whole(folder) as new:
            ways = [[sys.executable, "-m", "pip"], ["pip3"], ["uv", "pip"]]
            for way in ways:
                try:
                    run([*way, "install", "--quiet", "--no-deps", "--target", str(new), TQDM[which]])
                    break
                except Unavailable as reason:
                    last = reason
            else:
                pytest.skip("tqdm cannot be fetched: %s" % last)
    return folder


# Interpreters that are hard to read, or must not be: copies of real ones, changed in the file.


def _altered(found):
    """The newest static CPython of this machine and of the roots, in copies without what leads to its runtime."""
    made = []
    for contained in (False, True):
        fit = [each for each in found if each.contained == contained and each.kind == "cpython" and not each.build]
        fit = [each for each in fit if b"\0_PyRuntime\0" in _bytes(each)]
        if not fit:
            continue
        whole = max(fit, key=lambda each: _order(each.version))
        for build, change in ALTERATIONS.items():
            changed = change(bytearray(_bytes(whole)))
            if changed is None:
                continue
            place = whole.root / "usr/bin" if whole.contained else PLACE / "altered"
            place.mkdir(parents=True, exist_ok=True)
            file = place / ("python%s-%s" % (whole.version, build))
            if not file.is_file() or file.read_bytes() != changed:
                _write(file, changed, 0o755)
            # A copy outside its prefix finds the standard library by name only.
            extra = {} if whole.contained else {"PYTHONHOME": whole.prefix}
            altered = _probed(replace(whole, executable=whole.inside(file), build=build, extra=extra))
            if altered:
                made.append(replace(altered, kind="free-threaded" if build == "free-threaded-word" else altered.kind))
    return made


def _bytes(interpreter):
    return (interpreter.root / interpreter.executable[1:]).read_bytes()


# Files and folders that are whole or not there.


def _write(path, content, mode):
    """Replaces a file in one step: others may be starting it at this moment."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    os.chmod(file.name, mode)
    os.rename(file.name, path)


def _is_made(folder):
    try:
        return int((folder / ".made").read_text()) == RECIPE
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def _made_whole(folder):
    """A new folder that takes its name only once everything is in it; a half-made one is thrown away."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
    try:
        new.chmod(0o755)
        yield new
        (new / ".made").write_text(str(RECIPE))
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


@contextlib.contextmanager
def _one_at_a_time():
    """Test processes beside each other fetch once."""
    PLACE.mkdir(parents=True, exist_ok=True)
    with open(PLACE / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    for each in all_interpreters():
        print(each, each.executable)
    for name, reason in missing().items():
        print("missing: %s: %s" % (name, reason))
