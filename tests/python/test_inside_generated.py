"""Generated programs: of what is read from their memory nothing is wrong, and most of it is read."""

import os

import pytest

from inside.generated import several

pytest.importorskip("tqdm")
pytest.importorskip("torch")

SEEDS = range(200) if os.environ.get("LOWTIDE_FULL") == "1" else range(24)


def test_no_step_is_wrong(program, tmp_path):
    found = several(program, SEEDS, tmp_path)
    counts = {word: len(lines) for word, lines in found.items()}
    print(counts)
    assert not found["wrong"], "%s\n%s" % (counts, "\n".join(found["wrong"]))
    # Who says nothing is never wrong: that alone would prove nothing.
    assert len(found["right"]) + len(found["doubtful"]) >= len(SEEDS) * 0.6, (counts, found["none"])
