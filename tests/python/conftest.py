"""Fixtures that all Python tests share. The package is tested from the source tree."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python"
sys.path.insert(0, str(PACKAGE))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import processes  # noqa: E402
from watcher import Watcher  # noqa: E402

processes.expect_nothing_inherited()
processes.keep_in_our_tree()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """A test is over with all that it started, also when it fails, and when a fixture of its module does."""
    before = processes.below_us()
    try:
        return (yield)
    finally:
        processes.end_all_but(before)


@pytest.fixture
def watcher(tmp_path):
    made = Watcher(tmp_path / "w")
    yield made
    made.close()


@pytest.fixture
def environment():
    """The environment for a Python process that imports the package from the source tree."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LOWTIDE_")}
    clean["PYTHONPATH"] = str(PACKAGE)
    clean["PYTHONDONTWRITEBYTECODE"] = "1"
    return clean


@pytest.fixture
def watched(watcher, monkeypatch):
    """A watcher of this very process: the package finds it at the next mark."""
    from lowtide import _marks

    monkeypatch.setenv("LOWTIDE_DIR", str(watcher.folder))
    _marks._after_fork()  # forgets all that other tests said
    yield watcher
    _marks._after_fork()


@pytest.fixture(scope="session")
def program():
    """The lowtide program: LOWTIDE_BIN, or what cargo built in this tree."""
    given = os.environ.get("LOWTIDE_BIN")
    candidates = [Path(given)] if given else [ROOT / "target" / kind / "lowtide" for kind in ("release", "debug")]
    for path in candidates:
        if path.is_file():
            return str(path)
    pytest.fail("no lowtide program: run `cargo build`, or set LOWTIDE_BIN")


@pytest.fixture(scope="session")
def recordings(program, tmp_path_factory):
    """Recordings of examples/vision by mode: each mode runs once in a test run."""
    from vision import Recordings

    return Recordings(program, tmp_path_factory.mktemp("vision"))


@pytest.fixture(scope="session")
def interpreters():
    """Every Python that can be had here, and some that must be refused: see interpreters.py."""
    from interpreters import all_interpreters

    return all_interpreters()
