"""The vault that scale is measured on: real notes, and no text twice, or the cache would do half of the work."""

import re
from pathlib import Path

from benchmarks.edits import notes
from benchmarks.large_vault import CHARACTERS, FOLDERS, make_vault, originals


def test_the_notes_are_short_and_real() -> None:
    texts = originals()
    assert len(texts) >= 20
    assert all(200 < len(text) <= CHARACTERS for text in texts)
    assert not any(text.startswith("---\n") for text in texts)


def test_every_note_has_paragraphs_of_its_own(tmp_path: Path) -> None:
    number = 2 * len(originals()) + 5
    characters = make_vault(tmp_path, number)
    files = notes(tmp_path)
    assert len(files) == number
    assert len({path.parent for path in files}) == min(FOLDERS, number)
    texts = [path.read_bytes().decode() for path in files]
    assert sum(map(len, texts)) == characters
    assert len(set(texts)) == number
    cases = [case for text in texts for case in re.findall(r"\(case \d+-\d+\)", text)]
    assert len(cases) == len(set(cases)) > number


def test_it_is_the_same_at_every_call(tmp_path: Path) -> None:
    for name in "ab":
        make_vault(tmp_path / name, 50)
    one, two = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in notes(tmp_path / name)} for name in "ab"
    )
    assert one == two
