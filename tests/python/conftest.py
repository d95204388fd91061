"""Fixtures that all Python tests share. The package is tested from the source tree."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python"
sys.path.insert(0, str(PACKAGE))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from watcher import Watcher  # noqa: E402


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
