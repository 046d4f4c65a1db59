"""B12: bytes that are not clean UTF-8."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.errors import DocumentError
from pipelines.parsing.encoding import clean_text, decode

SPANISH = (
    "La póliza de año nuevo: ¿qué cubre el seguro del señor Ibáñez? La canción, según él, es «única» y cuesta 20 €.\n"
    * 3
)


@pytest.mark.parametrize(
    ("codec", "mark", "name"),
    [
        ("utf-8", b"", "utf-8"),
        ("utf-8", b"\xef\xbb\xbf", "utf-8-sig"),
        ("utf-16-le", b"\xff\xfe", "utf-16-le"),
        ("utf-16-be", b"\xfe\xff", "utf-16-be"),
        ("utf-32-le", b"\xff\xfe\x00\x00", "utf-32-le"),
        ("utf-32-be", b"\x00\x00\xfe\xff", "utf-32-be"),
        ("utf-16-le", b"", "utf-16-le"),
        ("utf-16-be", b"", "utf-16-be"),
        ("utf-32-le", b"", "utf-32-le"),
        ("utf-32-be", b"", "utf-32-be"),
        ("cp1252", b"", "windows-1252"),
        ("cp850", b"", "cp850"),
        ("mac_roman", b"", "mac_roman"),
    ],
)
def test_the_same_text_comes_out_of_every_encoding(codec: str, mark: bytes, name: str) -> None:
    text = SPANISH if codec != "cp850" else SPANISH.replace("€", "$")
    decoded = decode(mark + text.encode(codec))
    assert decoded.text == text
    assert decoded.encoding == name


def test_latin_1_of_a_short_spanish_note_is_read_and_reported_as_a_guess() -> None:
    decoded = decode("Canción del niño".encode("iso-8859-1"))
    assert (decoded.text, decoded.encoding) == ("Canción del niño", "iso-8859-1")
    assert any("guess" in warning for warning in decoded.warnings)


def test_utf_8_is_certain() -> None:
    assert decode(SPANISH.encode()).warnings == ()


def test_nul_bytes_are_gone_before_anything_is_counted() -> None:
    assert decode(b"cont\x00rase\xc3\xb1a\x00").text == "contraseña"


def test_a_text_with_many_nul_bytes_is_still_text() -> None:
    assert decode(b"<p>hello world</p>\n" * 20 + b"\x00" * 200).text.startswith("<p>hello world</p>")


def test_line_ends_are_normalised() -> None:
    assert decode(b"a\r\nb\rc\n").text == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("so\u00adft", "soft"),
        ("zero\u200bwidth", "zerowidth"),
        ("\ufeffbom", "bom"),
        ("a\u2028b", "a b"),
        ("a\x0cb", "a b"),
        ("hid\U000e0041\U000e0042den", "hidden"),
        ("right\u202eleft", "rightleft"),
        ("cancio\u0301n", "canción"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("lone \ud800 surrogate", "lone  surrogate"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_what_no_reader_sees_is_taken_out(written: str, read: str) -> None:
    assert clean_text(written) == read


def test_surrogates_encoded_as_utf_8_do_not_stop_the_document() -> None:
    decoded = decode(("Una nota con tildes: áéíóú ñ ü ¿?\n" * 3).encode() + b"\xed\xa0\x80 fin")
    decoded.text.encode()
    assert decoded.text.endswith("fin")
    assert decoded.warnings


def test_a_foreign_line_in_an_utf_8_file_is_read_and_named() -> None:
    decoded = decode("Configuración de señales: año, niño\n".encode() * 4 + "canción\n".encode("cp1252"))
    assert decoded.text.endswith("canción\n")
    assert any("line 5" in warning for warning in decoded.warnings)


def test_damaged_utf_16_is_reported() -> None:
    decoded = decode(b"\xff\xfe" + "hola".encode("utf-16-le") + b"\x00")
    assert decoded.text.startswith("hola")
    assert any("not clean" in warning for warning in decoded.warnings)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 50, "PNG"),
        (b"\xff\xd8\xff\xe0" + b"\x00" * 50, "JPEG"),
        (b"%PDF-1.7\n", "PDF"),
        (b"PK\x03\x04rest", "zip"),
        (bytes(range(256)) * 20, "binary"),
    ],
)
def test_a_binary_with_a_text_name_is_refused_by_what_it_is(data: bytes, kind: str) -> None:
    with pytest.raises(DocumentError, match=kind):
        decode(data)


@given(st.binary(max_size=400))
def test_any_bytes_give_text_that_postgres_stores_or_a_plain_refusal(data: bytes) -> None:
    try:
        text = decode(data).text
    except DocumentError:
        return
    text.encode()
    assert "\x00" not in text
    assert "\r" not in text


@given(st.text(max_size=300))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    once = clean_text(text)
    assert clean_text(once) == once


@pytest.mark.shared
def test_the_shared_encodings_are_all_readable(shared_data: Path) -> None:
    """Folder names are the true encodings; the expected text is what they decode to."""
    for path in sorted((shared_data / "encodings").glob("*/*")):
        data = path.read_bytes()
        expected = data.decode(path.parent.name, "replace").lstrip("\ufeff").replace("\x00", "")
        read = decode(data).text
        words = clean_text(expected).split()
        found = set(read.split())
        share = sum(word in found for word in words) / max(1, len(words))
        assert share > 0.99, (path.parent.name, path.name, share)
