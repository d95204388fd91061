"""scripts/release without its compilers: what it does where a target is missing, and what it packs."""

import importlib.machinery
import importlib.util
import tarfile
import zipfile

import pytest

from conftest import ROOT


@pytest.fixture
def release(tmp_path, monkeypatch):
    """The script as a module, with a folder of its own and a stand-in for maturin."""
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "scripts" / "release"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    loader.exec_module(module)

    def make_wheel(_target, tag, processor):
        wheel = module.DIST / f"lowtide-1.2.3-py3-none-{tag}_{processor}.whl"
        with zipfile.ZipFile(wheel, "w") as packed:
            packed.writestr("lowtide-1.2.3.data/scripts/lowtide", f"the program of {tag}")
        return wheel

    monkeypatch.setattr(module, "DIST", tmp_path / "dist")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    for document in ("LICENSE-APACHE", "LICENSE-MIT", "README.md"):
        (tmp_path / document).write_text(document)
    for name, stand_in in {
        "install_tools": lambda: None,
        "has_target": lambda _target: True,
        "make_wheel": make_wheel,
        "third_party": lambda _target: "notices",
        "commit_time": lambda: 1_700_000_000,
    }.items():
        monkeypatch.setattr(module, name, stand_in)
    monkeypatch.setattr("sys.argv", ["release"])
    return module


def ended(release):
    with pytest.raises(SystemExit) as end:
        release.main()
    return end.value.code, sorted(file.name for file in release.DIST.iterdir())


def test_every_processor_gets_both_wheels_and_a_tarball(release):
    assert ended(release) == (0, [
        "SHA256SUMS",
        "lowtide-1.2.3-aarch64-linux.tar.gz",
        "lowtide-1.2.3-py3-none-manylinux_2_28_aarch64.whl",
        "lowtide-1.2.3-py3-none-manylinux_2_28_x86_64.whl",
        "lowtide-1.2.3-py3-none-musllinux_1_2_aarch64.whl",
        "lowtide-1.2.3-py3-none-musllinux_1_2_x86_64.whl",
        "lowtide-1.2.3-x86_64-linux.tar.gz",
    ])


def test_a_target_that_cannot_be_had_is_told_and_the_rest_is_made(release, monkeypatch, capsys):
    monkeypatch.setattr(release, "has_target", lambda target: target == "x86_64-unknown-linux-gnu")
    code, files = ended(release)
    assert (code, files) == (3, ["SHA256SUMS", "lowtide-1.2.3-py3-none-manylinux_2_28_x86_64.whl"])
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 3
    assert "nothing was made for x86_64-unknown-linux-musl" in told[0]
    assert told[0].endswith("(hint: rustup target add x86_64-unknown-linux-musl)")


def test_nothing_of_an_earlier_release_stays(release):
    release.DIST.mkdir()
    (release.DIST / "lowtide-1.2.2-x86_64-linux.tar.gz").write_text("old")
    assert "lowtide-1.2.2-x86_64-linux.tar.gz" not in ended(release)[1]


def test_a_tarball_is_the_same_bytes_every_time_and_names_nobody(release):
    ended(release)
    made = release.DIST / "lowtide-1.2.3-x86_64-linux.tar.gz"
    first = made.read_bytes()
    ended(release)
    assert made.read_bytes() == first
    with tarfile.open(made) as tar:
        entries = tar.getmembers()
        program = tar.extractfile("lowtide-1.2.3-x86_64-linux/lowtide").read()
    assert program == b"the program of musllinux_1_2"
    assert {(entry.uid, entry.gid, entry.uname, entry.gname, entry.mtime) for entry in entries} == {
        (0, 0, "", "", 1_700_000_000)
    }
    assert [entry.mode for entry in entries if entry.name.endswith("/lowtide")] == [0o755]


@pytest.mark.parametrize("found, fits", [
    ("manylinux_2_17_x86_64", True),
    ("manylinux_2_28_x86_64", True),
    ("manylinux_2_34_x86_64", False),
    ("linux_x86_64", False),
])
def test_a_wheel_that_needs_a_newer_system_than_its_name_says_ends_the_release(release, monkeypatch, found, fits):
    monkeypatch.setattr(release, "output", lambda *_command: '{"overall_tag": "%s"}' % found)
    wheel = ROOT / "lowtide-1.2.3-py3-none-manylinux_2_28_x86_64.whl"
    if fits:
        release.audit(wheel, "manylinux_2_28")
    else:
        with pytest.raises(SystemExit, match="auditwheel"):
            release.audit(wheel, "manylinux_2_28")
