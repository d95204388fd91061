"""What the project promises to those who install it: versions, and crates that are whole."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import PACKAGE, ROOT

WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
OLDEST = (3, 9)


def only(pattern, path):
    [found] = re.findall(pattern, (ROOT / path).read_text(), re.MULTILINE)
    return found


def test_the_package_is_written_in_the_grammar_of_the_oldest_python():
    for file in sorted(PACKAGE.rglob("*.py")):
        ast.parse(file.read_text(), str(file), feature_version=OLDEST)
    with pytest.raises(SyntaxError):  # a check that can fail
        ast.parse("match word:\n    case 1: pass", feature_version=OLDEST)


def test_the_package_asks_nothing_of_a_newer_python(tmp_path):
    """Modules and functions of the standard library: grammar does not see them."""
    pytest.importorskip("vermin")
    newer = tmp_path / "newer.py"
    newer.write_text("import tomllib\n")
    assert too_new(newer) and not too_new(PACKAGE)


def too_new(path):
    command = [str(Path(sys.executable).parent / "vermin"), "--target=%d.%d-" % OLDEST, "--violations", "--no-tips"]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True)
    assert "Minimum required versions" in done.stdout, done.stdout + done.stderr
    return done.stdout if done.returncode else ""


def test_the_oldest_python_is_the_one_that_is_declared_and_tried():
    declared = only(r'^requires-python = ">=(.*)"$', "pyproject.toml")
    assert declared == "%d.%d" % OLDEST
    tried = re.search(r"^ +python: \[(.*)\]$", WORKFLOW, re.MULTILINE).group(1)
    versions = [tuple(map(int, version.strip('" ').split("."))) for version in tried.split(",")]
    assert versions == [(3, minor) for minor in range(OLDEST[1], versions[-1][1] + 1)], "none is left out"
    assert versions[-1] >= sys.version_info[:2], "the newest is tried too"


def test_the_oldest_rust_is_the_one_that_everybody_builds_with():
    channel = only(r'^channel = "(.*)"$', "rust-toolchain.toml")
    declared = only(r'^rust-version = "(.*)"$', "Cargo.toml")
    assert channel == declared + ".0"
    tried = re.search(r"^ +rust: \[(.*)\]$", WORKFLOW, re.MULTILINE).group(1)
    assert tried == '"%s", stable' % channel


def test_what_a_crate_embeds_is_packed_with_it():
    """A file outside the crate's folder would be missing on crates.io; a link into it is followed."""
    embedded = 0
    for source in (ROOT / "crates").glob("*/src/**/*.rs"):
        crate = ROOT.joinpath(*source.relative_to(ROOT).parts[:2])
        built, _, _tests = source.read_text().partition("#[cfg(test)]")
        for path in re.findall(r'include_(?:str|bytes)!\(\s*"([^"]*)"', built):
            embedded += 1
            assert os.path.normpath(source.parent / path).startswith(f"{crate}{os.sep}"), (source, path)
    assert embedded >= 10, "the page is embedded"
