"""Where a text can be cut."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.chunking import sentences as cuts


def pieces(cutter: Callable[[str, int, int], list[tuple[int, int]]], text: str) -> list[str]:
    return [text[start:end] for start, end in cutter(text, 0, len(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four.", ["One.", "Two!", "Three?", "Four."]),
        ("¿Qué es? ¡Esto! Ábrelo. ¿Ya?", ["¿Qué es?", "¡Esto!", "Ábrelo.", "¿Ya?"]),
        ("Version 3.14 is out. See v. 2", ["Version 3.14 is out.", "See v. 2"]),
        ("El Sr. García llegó. La Dra. Ruiz no.", ["El Sr. García llegó.", "La Dra. Ruiz no."]),
        ("He said “no.” Then left.", ["He said “no.”", "Then left."]),
        ("a wrapped\nsentence. Another\none.", ["a wrapped\nsentence.", "Another\none."]),
        ("一つ。二つ！三つ", ["一つ。", "二つ！", "三つ"]),
        ("e.g. this stays", ["e.g. this stays"]),
        ("no end", ["no end"]),
    ],
)
def test_sentences(text: str, expected: list[str]):
    assert pieces(cuts.sentences, text) == expected


def test_lines_keep_their_indentation():
    assert pieces(cuts.lines, "a\n\tb\n\n    c  \n") == ["a", "\tb", "    c"]


def test_items_keep_what_belongs_to_them():
    text = "- a\n  - b\n    more\n- c\n\n  text of c\n- d"
    assert pieces(cuts.items, text) == ["- a\n  - b\n    more", "- c\n\n  text of c", "- d"]
    assert pieces(cuts.nested_items, text) == ["- a", "  - b\n    more", "- c\n\n  text of c", "- d"]


def test_a_program_is_cut_before_what_is_not_indented():
    text = "import x\n\ndef f():\n\ta\n\n\tb\n\n\ndef g():\n\tc"
    assert pieces(cuts.outer_stanzas, text) == ["import x", "def f():\n\ta\n\n\tb", "def g():\n\tc"]
    assert pieces(cuts.stanzas, text) == ["import x", "def f():\n\ta", "\tb", "def g():\n\tc"]


def test_clauses_words_and_characters():
    assert pieces(cuts.clauses, "a, b; c (d) e") == ["a,", "b;", "c (d)", "e"]
    assert pieces(cuts.words, "  a\tb\nc ") == ["a", "b", "c"]
    assert pieces(partial(cuts.characters, size=3), "abcdefgh") == ["abc", "def", "gh"]


ALL = [cuts.sentences, cuts.lines, cuts.items, cuts.nested_items, cuts.stanzas, cuts.outer_stanzas, cuts.clauses]
ALL += [cuts.words, partial(cuts.characters, size=2)]
BITS = [*"aB1.!?。,:;-*+|>)(#¿¡ \n\t", "- ", ". ", "\n\n", "\x0b", "\u2028", "é"]
LIKE_A_NOTE = st.lists(st.sampled_from(BITS), max_size=60).map("".join)


@pytest.mark.parametrize("cutter", ALL)
@given(text=LIKE_A_NOTE, data=st.data())
@settings(max_examples=60, deadline=None)
def test_nothing_is_lost_and_nothing_is_blank(
    cutter: Callable[[str, int, int], list[tuple[int, int]]], text: str, data: st.DataObject
):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    spans = cutter(text, start, end)
    edge = start
    for first, last in spans:
        assert edge <= first < last <= end
        assert not text[edge:first].strip()
        assert text[first:last].strip()
        assert not text[last - 1].isspace()
        edge = last
    assert not text[edge:end].strip()
