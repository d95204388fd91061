"""The Trainer tests again under transformers 4 (full tier: it installs a second version)."""

import os
import subprocess
import sys

import pytest

from conftest import ROOT

OVERLAY = ROOT / ".cache" / "transformers4"


@pytest.mark.skipif(os.environ.get("LOWTIDE_FULL") != "1", reason="full tier: scripts/test --full")
def test_the_callback_under_transformers_4():
    if not (OVERLAY / "transformers").is_dir():
        # Laid over the environment by PYTHONPATH: torch need not be there twice.
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(OVERLAY),
             "transformers>=4.57,<5", "datasets<5"],
            check=True,
        )
    environment = {**os.environ, "PYTHONPATH": str(OVERLAY), "LOWTIDE_FULL": "0"}
    version = subprocess.run(
        [sys.executable, "-c", "import transformers; print(transformers.__version__)"],
        env=environment, capture_output=True, text=True, check=True,
    )
    assert version.stdout.startswith("4.")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not lightning",
         str(ROOT / "tests" / "python" / "test_hf.py")],
        env=environment, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
