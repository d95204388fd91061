"""The source as somebody finds it who opens it for the first time."""

from conftest import ROOT


def test_every_crate_and_module_opens_with_what_it_is_for():
    files = [file for place in ("crates", "bench") for file in (ROOT / place).rglob("*.rs") if "target" not in file.parts]
    assert len(files) > 100
    silent = [str(file.relative_to(ROOT)) for file in files if not file.read_text().startswith("//! ")]
    assert not silent, silent
