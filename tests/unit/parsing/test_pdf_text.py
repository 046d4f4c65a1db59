"""Characters of a text layer: what search needs is folded, what carries meaning stays."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.pdf_text import is_junk, join_lines, junk_share, normalize_line, words_of


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("misﬁts diﬀerently ﬃ", "misfits differently ffi"),
        ("a\u00adb soft\u00ad", "ab soft"),
        ("\x00nul\x07 bell\x1f sep", "nul bell sep"),
        ("a\u00a0b\u2029c\t d", "a b c d"),
        ("\ufeffbom\u200bzero\u200e", "bomzero"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("ﻣﺮﺣﺒﺎ", "مرحبا"),
        ("ＡＢＣ１２３", "ABC123"),
        ("𝑥 = 𝟐", "x = 2"),
        ("⼀⼆", "一二"),
        ("10² ½ 1.ª 2.º ™", "10² ½ 1.ª 2.º ™"),
        ("constara´ y accio´n", "constará y acción"),
        ("n˜ del an˜o", "ñ del año"),
        ("los ´ındices probabil´ısticos", "los índices probabilísticos"),
        ("los ´índices", "los índices"),
        ("`code` ^x^ ~5 a'b", "`code` ^x^ ~5 a'b"),
        ("cafe\u0301", "café"),
        ("(cid:12)hola(cid:7)", "hola"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_normalize_line(raw: str, stored: str) -> None:
    assert normalize_line(raw) == stored


@given(st.text())
def test_a_normal_line_is_storable_and_stays_as_it_is(text: str) -> None:
    line = normalize_line(text)
    line.encode()
    assert "\x00" not in line
    assert "\n" not in normalize_line("a\nb") or line == line.strip()
    assert unicodedata.is_normalized("NFC", line)
    assert normalize_line(line) == line


@given(st.text(alphabet=st.characters(categories=["Lu", "Ll", "Nd", "Po"], max_codepoint=0x24F)))
def test_ordinary_letters_and_signs_are_never_lost(text: str) -> None:
    assert normalize_line(text).replace(" ", "") == unicodedata.normalize("NFC", text)


def test_junk_is_told_from_text() -> None:
    assert junk_share("") == 0.0
    assert junk_share("\ue001\ue002 \x01") == 1.0
    assert is_junk("(cid:12)(cid:7)")
    assert is_junk("ab\ufffd\ufffd")
    assert not is_junk("\uf0b7 una lista con viñeta de Symbol")
    assert not is_junk("¿Qué? 你好 مرحبا สวัสดี ½ €")


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("con espacio", "normal", "con espacio normal"),
        ("it is dan-", "gerous for use", "it is dangerous for use"),
        ("a well-", "known case", "a well-known case"),
        ("el Sr. Juan-", "Carlos vino", "el Sr. Juan-Carlos vino"),
        ("the SHA-", "256 digest", "the SHA-256 digest"),
        ("entre 10 -", "y 20", "entre 10 - y 20"),
        ("una pausa –", "y sigue", "una pausa – y sigue"),
        ("你好", "世界", "你好世界"),
        ("", "solo", "solo"),
    ],
)
def test_join_lines(first: str, second: str, joined: str) -> None:
    assert join_lines(first, second, words_of(["A well-known thing", "and dangerous"])) == joined


def test_the_halves_of_a_broken_word_are_no_words() -> None:
    assert words_of(["it is dan-", "Well-Known"]) == {"it", "is", "well-known"}
