"""The API against its own description, by a tool that tries everything the description allows and forbids."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Enough to reach every parameter and body; a finding is the same with more.
EXAMPLES = "30"


@pytest.fixture
def server(program, tmp_path):
    # Any command may be started by this API: here the only program that can be found is one that does nothing.
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "true").symlink_to(shutil.which("true"))
    environment = {**os.environ, "LOWTIDE_HOME": str(tmp_path / "home")}
    lab = [sys.executable, str(ROOT / "labs" / "stable.py"), "--steps", "20", "--seconds", "3", "--size", "5"]
    subprocess.run([program, "run", "-q", "-i", "100ms", "--", *lab], check=True, env=environment, stdout=subprocess.DEVNULL)
    environment["PATH"] = str(programs)
    command = [program, "serve", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd=programs)
    base = re.search(r"http://[^/]+", process.stderr.readline()).group()
    token = process.stderr.readline().removeprefix("token: ").strip()
    yield base, token
    process.kill()
    process.wait()


def test_the_api_keeps_to_its_description(server, tmp_path):
    base, token = server
    command = [
        str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(Path(__file__).with_name("schemathesis.toml")), "run", f"{base}/api/v1/openapi.json",
        "--max-examples", EXAMPLES, "--seed", "7", "--generation-database", "none", "--suppress-health-check", "all",
        "--header", f"Authorization: Bearer {token}", "--exclude-operation-id", "followRun",
        "--exclude-checks", "ignored_auth", "--phases", "examples,coverage,fuzzing",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    # Bodies that were tried can be megabytes long.
    said = "\n".join(line[:300] for line in (done.stdout + done.stderr).splitlines())
    assert done.returncode == 0, said
