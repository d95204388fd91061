"""One wheel holds the program and the module: built, installed in a fresh environment, used."""

import os
import subprocess
import sys
import venv

import pytest

from conftest import ROOT

pytest.importorskip("maturin")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The scripts folder of a fresh environment with the wheel in it."""
    place = tmp_path_factory.mktemp("wheel")
    # The dev profile: it shares what `cargo test` has built, and the contents are the same.
    subprocess.run(
        [sys.executable, "-m", "maturin", "build", "--profile", "dev", "--out", str(place / "dist")],
        cwd=ROOT, check=True,
    )
    (wheel,) = (place / "dist").glob("*.whl")
    assert "-py3-none-" in wheel.name, "one wheel for all Pythons"
    venv.create(place / "env", with_pip=True)
    scripts = place / "env" / "bin"
    subprocess.run([scripts / "python", "-m", "pip", "install", "-q", "--no-index", wheel], check=True)
    return scripts


def run(installed, *command):
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "LOWTIDE_BIN")}
    # From the root of the file system: the source tree must not stand in for the wheel.
    done = subprocess.run([str(part) for part in command], cwd="/", env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_program_and_the_module_are_one_version(installed):
    program = run(installed, installed / "lowtide", "--version")
    module = run(installed, installed / "python", "-c", "import lowtide; print(lowtide.__version__, lowtide.__file__)")
    assert program.split()[1] == module.split()[0]
    assert "site-packages" in module


def test_python_m_lowtide_runs_the_installed_program(installed):
    assert run(installed, installed / "python", "-m", "lowtide", "--version") == run(
        installed, installed / "lowtide", "--version"
    )


def test_the_module_is_typed(installed):
    code = "import lowtide, pathlib; print((pathlib.Path(lowtide.__file__).parent / 'py.typed').exists())"
    assert run(installed, installed / "python", "-c", code).strip() == "True"


def test_watch_finds_the_installed_program(installed):
    code = "from lowtide import _binary; print(_binary.find())"
    assert run(installed, installed / "python", "-c", code).strip() == str(installed / "lowtide")
