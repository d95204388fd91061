"""What the tests' own care for processes promises: none is left, and none depends on how pytest was started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

# A child, a grandchild in a session of its own, an orphan, one that ignores all it can.
LEAVES = """
import subprocess
import pytest

SCRIPT = '''
tells='echo $$ >> "$PIDS"; echo; exec sleep 1000'
sh -c "$tells" &
setsid sh -c 'sh -c "$0" & exec sleep 1000' "$tells" &
sh -c 'setsid sh -c "$0" &' "$tells"
sh -c "trap '' HUP INT TERM; $tells" &
wait
'''

def start():
    shell = subprocess.Popen(["sh", "-c", SCRIPT], stdout=subprocess.PIPE)
    for _ in range(4):
        shell.stdout.readline()

@pytest.fixture(scope="module")
def broken():
    start()
    assert False, "as a fixture that fails"

def test_that_fails():
    start()
    assert False, "as a test that fails"

def test_whose_fixture_fails(broken):
    pass
"""

SAYS = """
import subprocess

def test_signals():
    said = subprocess.run(["grep", "SigIgn", "/proc/self/status"], capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (0, "SigIgn:\\t0000000000000000\\n")
"""


def run_tests(folder, text, ignored=()):
    """Runs a file of tests as a pytest of its own."""
    (folder / "test_inner.py").write_text(text)

    def ignore():
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conftest", "test_inner.py"],
        # Without the plugins of all that is installed here, which take seconds to load.
        cwd=folder, env={**os.environ, "PYTHONPATH": str(HERE), "PIDS": str(folder / "pids"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        preexec_fn=ignore, restore_signals=False, capture_output=True, text=True,
    )


def test_a_failing_test_leaves_no_process(tmp_path):
    done = run_tests(tmp_path, LEAVES)
    assert "1 failed, 1 error" in done.stdout, done.stdout
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 8, pids
    left = [pid for pid in pids if os.path.exists("/proc/%s" % pid)]
    assert not left, done.stdout


@pytest.mark.parametrize("ignored", [(), (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD)])
def test_a_program_finds_no_signal_ignored_and_is_waited_for(tmp_path, ignored):
    done = run_tests(tmp_path, SAYS, ignored)
    assert done.returncode == 0, done.stdout
