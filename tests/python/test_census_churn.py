"""A process that makes and frees objects at full speed, with its collector at work all the time: every census of it ends, names
no type that is not there, and counts what stays; with a stop it is of one moment.

`python tests/python/census/churn.py 50` prints the table of all interpreters.
"""

import os
import sys

import pytest
from census.churn import TARGET, Churn, on
from interpreters import one, plain_cpythons

FULL = os.environ.get("LOWTIDE_FULL") == "1"
COUNT = 50 if FULL else 10
HOW = [(stop, how) for stop in (False, True) for how in ("alone", "threads")]


def chosen():
    """One that keeps attributes in tables apart, and the newest; or all."""
    return plain_cpythons() if FULL else [one("cpython", "3.11"), plain_cpythons()[-1]]


def is_right(churn, stop):
    assert churn.failed == []
    assert len(churn.censuses) == churn.count
    assert churn.collected > 0, "the collector was not at work"
    assert churn.false_names() == []
    worst = churn.errors()
    if not stop:
        assert max(worst.values()) <= 0.1, worst
        assert churn.stops() == []
        return
    assert set(worst.values()) == {0}, worst
    assert set(churn.torn()) == {0} and set(churn.late()) == {0}, (churn.torn(), churn.late())
    assert len(churn.stops()) == churn.count


@pytest.mark.parametrize("stop, how", HOW, ids=lambda value: {True: "stop", False: "no-stop"}.get(value, value))
@pytest.mark.parametrize("interpreter", chosen(), ids=str)
def test_what_stays_is_counted_while_all_else_comes_and_goes(interpreter, stop, how, program):
    is_right(Churn(*on(interpreter, how), COUNT, stop, program), stop)


@pytest.mark.parametrize("stop", [False, True] if FULL else [True], ids=lambda stop: "stop" if stop else "no-stop")
def test_beside_torch_and_transformers(stop, program, environment):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    is_right(Churn([sys.executable, str(TARGET), "torch"], environment, COUNT if FULL else 2, stop, program), stop)
