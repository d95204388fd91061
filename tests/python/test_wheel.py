"""What scripts/release made: the wheel installed and used where there is no Rust, the static program where there is
nothing at all, and what both ask of a machine. LOWTIDE_DIST names the folder; scripts/test makes it."""

import csv
import hashlib
import io
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT

elffile = pytest.importorskip("elftools.elf.elffile")

# What clusters have (RHEL 8); scripts/release says it in the wheel's name, here it is read from the program.
OLDEST_GLIBC = (2, 28)
# The parts of glibc, and the unwinder that comes with every compiler. Everything else is in the program.
EVERYWHERE = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|ld-linux-[a-z0-9-]+)\.so\.\d+")


CONTENTS = ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "THIRD-PARTY.txt", "lowtide"]


@pytest.fixture(scope="module")
def dist():
    if "LOWTIDE_DIST" not in os.environ:
        pytest.skip("needs what scripts/release makes, and LOWTIDE_DIST with the path of its dist folder")
    return Path(os.environ["LOWTIDE_DIST"])


def wheels(dist, library):
    """The wheels of one C library, for every processor that was built for."""
    found = sorted(dist.glob(f"lowtide-*-py3-none-{library}_*.whl"))
    if not found:
        pytest.skip(f"no {library} wheel was made here")
    return found


def program_in(wheel):
    with zipfile.ZipFile(wheel) as packed:
        (script,) = (name for name in packed.namelist() if name.endswith(".data/scripts/lowtide"))
        return packed.read(script)


def elf(program):
    return elffile.ELFFile(io.BytesIO(program))


def needed_libraries(program):
    dynamic = elf(program).get_section_by_name(".dynamic")
    return [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")] if dynamic else []


def glibc_versions(program):
    """Every version of glibc that a symbol of this program asks for: {(2, 17), …}"""
    needs = elf(program).get_section_by_name(".gnu.version_r")
    names = [version.name for _library, versions in needs.iter_versions() for version in versions]
    return {tuple(map(int, name[len("GLIBC_"):].split("."))) for name in names if name.startswith("GLIBC_2")}


@pytest.fixture(scope="module")
def installed(dist, tmp_path_factory):
    """The scripts folder of a fresh environment with this machine's wheel in it."""
    (wheel,) = dist.glob(f"lowtide-*-py3-none-manylinux_*_{platform.machine()}.whl")
    place = tmp_path_factory.mktemp("wheel")
    venv.create(place / "env", with_pip=True)
    scripts = place / "env" / "bin"
    install = [scripts / "python", "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel]
    subprocess.run(install, check=True, env={"PATH": str(scripts)})
    return scripts


@pytest.fixture
def use(installed, tmp_path):
    """Runs a command of the environment. Nothing else is on the path: no Rust, no other lowtide, no source tree."""

    def use(*command):
        clean = {"PATH": str(installed), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
        done = subprocess.run([str(part) for part in command], cwd=tmp_path, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return use


def test_the_program_and_the_module_are_one_version(use):
    program = use("lowtide", "--version")
    module = use("python", "-c", "import lowtide; print(lowtide.__version__, lowtide.__file__)")
    assert program.split()[1] == module.split()[0]
    assert "site-packages" in module


def test_python_m_lowtide_runs_the_installed_program(use):
    assert use("python", "-m", "lowtide", "--version") == use("lowtide", "--version")


def test_the_module_is_typed(use):
    code = "import lowtide, pathlib; print((pathlib.Path(lowtide.__file__).parent / 'py.typed').exists())"
    assert use("python", "-c", code).strip() == "True"


def test_watch_finds_the_installed_program(use, installed):
    code = "from lowtide import _binary; print(_binary.find())"
    assert use("python", "-c", code).strip() == str(installed / "lowtide")


def test_a_job_is_run_and_its_marks_are_heard(use):
    code = "import lowtide\nfor step in (1, 2, 3): lowtide.mark(step=step)\nprint('trained')"
    assert "trained" in use("lowtide", "run", "-o", "run", "--", "python", "-c", code)
    marks = use("lowtide", "export", "run", "--what", "marks", "--format", "csv")
    heard = [int(row["step"]) for row in csv.DictReader(io.StringIO(marks)) if row["source"] == "callback"]
    assert heard[-1] == 3  # of steps within one millisecond some are left out


def test_a_file_is_judged(use, tmp_path):
    judged(lambda file: use("lowtide", "judge", file, "--json"), tmp_path)


def judged(judge, folder):
    """A warm-up that has ended: a file of the first hour."""
    rows = [f"{step},{2000 + 10 * min(step, 100)}" for step in range(1, 400)]
    (folder / "memory.csv").write_text("step,rss_mb\n" + "\n".join(rows) + "\n")
    assert json.loads(judge("memory.csv"))["verdict"] == "warm-up"


def test_the_wheels_need_no_newer_glibc_than_they_say_and_nothing_else(dist):
    for wheel in wheels(dist, "manylinux_2_28"):
        program = program_in(wheel)
        versions = glibc_versions(program)
        assert versions and max(versions) <= OLDEST_GLIBC, wheel.name
        strange = [name for name in needed_libraries(program) if not EVERYWHERE.fullmatch(name)]
        assert not strange, wheel.name


def test_auditwheel_says_the_same(dist):
    for wheel in wheels(dist, "manylinux_2_28"):
        command = [sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        oldest = re.fullmatch(r"manylinux_(\d+)_(\d+)_\w+", told["overall_tag"])
        assert oldest and tuple(map(int, oldest.groups())) <= OLDEST_GLIBC, told
        assert not told["external_libs"] and not told["unsupported_isa"], told


def test_no_wheel_tells_where_it_was_built(dist):
    for wheel in dist.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            for name in packed.namelist():
                for folder in (ROOT, Path.home() / ".cargo"):
                    assert str(folder).encode() not in packed.read(name), f"{wheel.name}: {name}"


def test_the_checksums_are_those_of_every_file(dist):
    told = dict(reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines())
    files = {file.name: file for file in dist.iterdir() if file.name != "SHA256SUMS"}
    assert told == {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}


@pytest.fixture(scope="module")
def unpacked(dist, tmp_path_factory):
    """The folder in the tarball of this machine's processor."""
    found = list(dist.glob(f"lowtide-*-{platform.machine()}-linux.tar.gz"))
    if not found:
        pytest.skip("no static program was made here: scripts/release says why")
    place = tmp_path_factory.mktemp("tarball")
    with tarfile.open(found[0]) as tar:
        tar.extractall(place)
    (folder,) = place.iterdir()
    return folder


def test_the_tarball_has_the_program_of_the_musl_wheel_and_its_licences(dist, unpacked):
    assert sorted(file.name for file in unpacked.iterdir()) == CONTENTS
    (wheel,) = dist.glob(f"lowtide-*-musllinux_*_{platform.machine()}.whl")
    assert (unpacked / "lowtide").read_bytes() == program_in(wheel)


def test_static_programs_need_no_loader_and_no_library(dist):
    for wheel in wheels(dist, "musllinux_1_2"):
        program = program_in(wheel)
        segments = {segment["p_type"] for segment in elf(program).iter_segments()}
        assert "PT_LOAD" in segments and "PT_INTERP" not in segments, wheel.name
        assert needed_libraries(program) == [], wheel.name


@pytest.fixture
def alone(unpacked, tmp_path):
    """Runs the static program without an environment, as root also without a file system: a folder is all there is."""
    (tmp_path / "lowtide").write_bytes((unpacked / "lowtide").read_bytes())
    (tmp_path / "lowtide").chmod(0o755)
    as_root = os.geteuid() == 0

    def enter():
        os.chdir(tmp_path)
        if as_root:
            os.chroot(tmp_path)

    def alone(*words):
        program = "/lowtide" if as_root else str(tmp_path / "lowtide")
        done = subprocess.run([program, *words], env={}, preexec_fn=enter, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return alone


def test_the_static_program_runs_where_there_is_nothing(alone, use):
    assert alone("--version") == use("lowtide", "--version")


def test_the_static_program_says_that_it_is_one(alone, use):
    """It cannot load NVIDIA's library: `doctor` has to say which lowtide this is."""
    assert re.search(r"this program .* static$", alone("doctor"), re.MULTILINE)
    assert re.search(r"this program .* linked to the C library$", use("lowtide", "doctor"), re.MULTILINE)


def test_the_static_program_judges_a_file(alone, tmp_path):
    judged(lambda file: alone("judge", file, "--json"), tmp_path)


def test_the_static_program_watches_a_job(unpacked, tmp_path):
    code = "for step in range(1, 4): print('step', step)"
    command = [unpacked / "lowtide", "run", "-o", tmp_path / "run", "--", sys.executable, "-c", code]
    done = subprocess.run(command, env={"HOME": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "step 3\n" in done.stdout and (tmp_path / "run").exists()
