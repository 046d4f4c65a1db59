"""Names: every name on disk has one source, no two names that people can tell apart share one."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.vault.sources import decode_name, source_of, source_of_text

NAMES = st.binary(min_size=1, max_size=40).filter(lambda name: b"\0" not in name)
TRICKY = st.lists(
    st.sampled_from(
        [b"\\", b"134", b"363", b"\xf3", b"\xff", "ñ".encode(), "n\u0303".encode(), b"\xcc\x81", b"e", b"/"]
    ),
    min_size=1,
    max_size=12,
).map(b"".join)


def original(source: str) -> bytes:
    r"""What a source stands for, in NFC: the inverse that the documentation of `source_of_text` promises."""

    def unescape(match: re.Match[bytes]) -> bytes:
        return b"\\" + match[1][3:] + match[2] if match[1] else bytes([int(match[2], 8)])

    return re.sub(rb"\\((?:134)*)([23][0-7]{2})", unescape, source.encode())


@pytest.mark.parametrize(
    ("disk", "source"),
    [
        (b"plan.md", "plan.md"),
        ("Reunión año.md".encode(), "Reunión año.md"),
        (unicodedata.normalize("NFD", "Reunión año.md").encode(), "Reunión año.md"),
        ('Árbol "b".md'.encode(), 'Árbol "b".md'),
        (b"two\nlines, and a comma.md", "two\nlines, and a comma.md"),
        ("日本/メモ.md".encode(), "日本/メモ.md"),
        (b"canci\xf3n.md", r"canci\363n.md"),
        (rb"canci\363n.md", r"canci\134363n.md"),
        (rb"canci\134363n.md", r"canci\134134363n.md"),
        (rb"C:\notes\2024.md", r"C:\notes\1342024.md"),
        (rb"a\b.md", r"a\b.md"),
        (b"caf%C3%A9.md", "caf%C3%A9.md"),
    ],
)
def test_the_source_of_a_name(disk: bytes, source: str) -> None:
    assert source_of(disk) == source


@given(NAMES | TRICKY)
def test_every_name_can_be_stored_and_is_nfc(name: bytes) -> None:
    source = source_of(name)
    source.encode("utf-8")  # a lone surrogate would raise, here as in Postgres
    assert unicodedata.is_normalized("NFC", source)
    assert "\0" not in source


@given(NAMES | TRICKY)
def test_the_escape_loses_nothing(name: bytes) -> None:
    assert original(source_of(name)) == decode_name(name).encode("utf-8", "surrogateescape")


@given(TRICKY, TRICKY)
def test_names_that_differ_in_nfc_have_different_sources(one: bytes, other: bytes) -> None:
    assert (source_of(one) == source_of(other)) == (decode_name(one) == decode_name(other))


@given(st.lists(NAMES | TRICKY, min_size=1, max_size=4))
def test_a_path_is_its_parts_joined(parts: list[bytes]) -> None:
    assert source_of(b"/".join(parts)) == "/".join(map(source_of, parts))


def test_plain_text_is_not_touched() -> None:
    assert source_of_text("notas/año/plan.md") == "notas/año/plan.md"
