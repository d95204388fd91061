"""scripts/dependencies refuses what deny.toml does not allow, on small workspaces made for it."""

import subprocess
import sys

import pytest

from conftest import ROOT

if sys.version_info < (3, 11):
    pytest.skip("scripts/dependencies reads TOML with Python 3.11", allow_module_level=True)

SCRIPT = ROOT / "scripts" / "dependencies"
RULES = (ROOT / "deny.toml").read_text()
OURS = 'version = "0.1.0"\nlicense = "MIT"\nedition = "2021"\n'


class Workspace:
    """A crate `ours` that needs one other, which is no member of its workspace."""

    def __init__(self, folder, licence="MIT", needs='other = { path = "../other", version = "0.1.0" }', section="dependencies"):
        self.folder = folder / "ours"
        self.write("Cargo.toml", f'[workspace]\n[package]\nname = "ours"\n{OURS}[{section}]\n{needs}\n')
        self.crate("../other", licence)
        self.write("src/lib.rs", "")
        self.write("deny.toml", RULES)

    def write(self, path, text):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)

    def crate(self, path, licence):
        named = f'license = "{licence}"\n' if licence else ""
        self.write(f"{path}/Cargo.toml", f'[package]\nname = "other"\nversion = "0.1.0"\nedition = "2021"\n{named}')
        self.write(f"{path}/src/lib.rs", "")

    def faults(self):
        """What the script says of it, line by line."""
        subprocess.run(["cargo", "generate-lockfile", "--quiet"], cwd=self.folder, check=True)
        done = subprocess.run([sys.executable, str(SCRIPT), str(self.folder)], capture_output=True, text=True)
        said = [line.removeprefix("error: ") for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert done.returncode == (1 if said else 0), done.stderr
        return said


@pytest.mark.parametrize(
    "licence",
    ["MIT", "MIT/Apache-2.0", "GPL-3.0-only OR MIT", "(MIT OR GPL-2.0-only) AND Unicode-3.0",
     "Apache-2.0 WITH LLVM-exception", "GPL-3.0-only AND MIT OR ISC"],
)
def test_a_crate_that_can_be_used_under_an_allowed_licence_passes(tmp_path, licence):
    assert Workspace(tmp_path, licence).faults() == []


@pytest.mark.parametrize(
    "licence",
    ["GPL-3.0-only", "MIT AND GPL-3.0-only", "(MIT OR ISC) AND CC0-1.0", "MIT WITH Some-exception", "GPL-3.0-only / LGPL-3.0-only"],
)
def test_a_crate_under_another_licence_is_refused(tmp_path, licence):
    assert Workspace(tmp_path, licence).faults() == [f"other 0.1.0 is licensed under {licence}"]


def test_a_crate_without_a_licence_is_refused(tmp_path):
    assert Workspace(tmp_path, licence=None).faults() == ["other 0.1.0 names no licence"]


def test_crates_of_builds_and_tests_are_held_to_the_same(tmp_path):
    for section in ("build-dependencies", "dev-dependencies"):
        faults = Workspace(tmp_path / section, "GPL-3.0-only", section=section).faults()
        assert faults == ["other 0.1.0 is licensed under GPL-3.0-only"]


def test_a_crate_that_no_feature_asks_for_is_not_held_to_anything(tmp_path):
    needs = 'other = { path = "../other", version = "0.1.0", optional = true }'
    assert Workspace(tmp_path, "GPL-3.0-only", needs).faults() == []


def test_a_published_crate_names_the_versions_that_it_takes(tmp_path):
    needs = 'other = { path = "../other" }'
    assert Workspace(tmp_path / "public", needs=needs).faults() == ["ours 0.1.0 takes any version of other"]
    assert Workspace(tmp_path / "tests", needs=needs, section="dev-dependencies").faults() == []
    private = Workspace(tmp_path / "private", needs=needs)
    manifest = (private.folder / "Cargo.toml").read_text()
    private.write("Cargo.toml", manifest.replace(OURS, OURS + "publish = false\n"))
    assert private.faults() == []


def test_a_crate_from_a_git_repository_is_refused(tmp_path):
    upstream = tmp_path / "upstream"
    workspace = Workspace(tmp_path, needs=f'other = {{ git = "file://{upstream}", version = "0.1.0" }}')
    workspace.crate(upstream, "MIT")
    identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    for words in (["init", "--quiet"], ["add", "."], [*identity, "commit", "--quiet", "-m", "other"]):
        subprocess.run(["git", *words], cwd=upstream, check=True)
    [fault] = workspace.faults()
    assert fault.startswith(f"other 0.1.0 comes from git+file://{upstream}"), fault


def test_a_rule_that_the_script_does_not_know_is_not_passed_over(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.write("deny.toml", RULES.replace("[bans]", '[bans]\ndeny = ["openssl"]'))
    assert workspace.faults() == ["deny.toml: bans.deny = ['openssl'] is not known to scripts/dependencies"]
