"""Thirty scenarios of `scripts/chaos`, by seed: every fault is among them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from chaos import story
from conftest import ROOT
from guarding import needs_limit

SEEDS = [2, *range(4, 12), 13, 14, 15, *range(17, 23), 32, 37, 38, 49, 55, 75, 76, 80, 97, 176, 293, 938]


def test_every_fault_is_among_them():
    assert len(SEEDS) == 30 and story.cover(SEEDS) == []


def test_a_seed_tells_one_story():
    assert story.of(17) == story.of(17) != story.of(18)


@needs_limit
@pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="needs /dev/fuse, for disks that fail")
def test_what_has_to_hold_holds(program):
    words = [sys.executable, "-m", "chaos", "--program", program, "--jobs", "4", "--seeds", *map(str, SEEDS)]
    env = {**os.environ, "PYTHONPATH": str(Path(ROOT, "tests/python")), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
