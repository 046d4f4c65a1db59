"""The front door: options, fingerprints, independence of the path."""

import dataclasses
from typing import Any, get_args

import pytest

from pipelines.errors import DocumentError
from pipelines.parsing import parser
from pipelines.parsing.document import MediaType
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import parse, parser_fingerprint
from pipelines.settings import Settings

MEDIA_TYPES: tuple[MediaType, ...] = get_args(MediaType)


def other(value: Any, name: str) -> Any:
    """A value of the option that is not its default."""
    choices = {"publication": "opt-in", "secrets": "off", "ocr_engine": "off"}
    if name in choices:
        return choices[name]
    if isinstance(value, bool):
        return not value
    return (*value, "fr") if isinstance(value, tuple) else value + 1


@pytest.mark.parametrize("option", [field.name for field in dataclasses.fields(ParseOptions)])
def test_an_option_changes_the_fingerprints_that_it_affects_and_no_others(option: str) -> None:
    default = ParseOptions()
    changed = dataclasses.replace(default, **{option: other(getattr(default, option), option)})
    (field,) = [field for field in dataclasses.fields(ParseOptions) if field.name == option]
    differing = {
        media_type
        for media_type in MEDIA_TYPES
        if parser_fingerprint(media_type, default) != parser_fingerprint(media_type, changed)
    }
    assert differing == set(field.metadata["affects"])
    assert differing


def test_a_version_changes_one_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {media_type: parser_fingerprint(media_type, ParseOptions()) for media_type in MEDIA_TYPES}
    monkeypatch.setitem(parser.VERSIONS, "text", 999)
    after = {media_type: parser_fingerprint(media_type, ParseOptions()) for media_type in MEDIA_TYPES}
    assert {media_type for media_type in MEDIA_TYPES if before[media_type] != after[media_type]} == {"text"}


def test_fingerprints_are_short_and_differ_between_types() -> None:
    fingerprints = {parser_fingerprint(media_type, ParseOptions()) for media_type in MEDIA_TYPES}
    assert len(fingerprints) == len(MEDIA_TYPES)
    assert all(len(fingerprint) == 16 for fingerprint in fingerprints)


def test_every_option_has_its_setting_with_the_same_default() -> None:
    assert ParseOptions.from_settings(Settings.load(_env_file=None)) == ParseOptions()


def test_lists_come_from_the_environment_as_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARSE_ANONYMIZE", "Ana López, José")
    monkeypatch.setenv("PARSE_SECRETS", "quarantine")
    options = ParseOptions.from_settings(Settings.load(_env_file=None))
    assert (options.anonymize, options.secrets) == (("Ana López", "José"), "quarantine")


def test_a_document_in_its_encoding_with_metadata_behind_the_mark() -> None:
    """B12 (c, d)."""
    source = "---\r\ntitle: Canción\r\ntags: [a]\r\n---\r\n\r\nUna canción española\r\n"
    for data, encoding in (
        (b"\xef\xbb\xbf" + source.encode(), "utf-8-sig"),
        (b"\xff\xfe" + source.encode("utf-16-le"), "utf-16-le"),
        (source.encode("cp1252"), "iso-8859-1"),
    ):
        document = parse(data, media_type="markdown", options=ParseOptions())
        assert (document.title, document.tags, document.text) == ("Canción", ("a",), "Una canción española")
        assert document.encoding == encoding
        assert document.blocks[0].line_start == 6
    assert any("guess" in warning for warning in document.warnings)


def test_nul_in_text_and_metadata() -> None:
    """B12 (a)."""
    document = parse(b'---\ntitle: a\x00b\nk: "c\\0d"\n---\nte\x00xt\n', media_type="markdown", options=ParseOptions())
    assert (document.title, document.properties["k"], document.text) == ("ab", "cd", "text")


def test_a_picture_named_as_a_note_is_refused() -> None:
    """B12 (e)."""
    for media_type in ("markdown", "text", "canvas"):
        with pytest.raises(DocumentError, match="PNG"):
            parse(b"\x89PNG\r\n\x1a\n\x00\x00", media_type=media_type, options=ParseOptions())  # type: ignore[arg-type]


def test_empty_files_are_empty_documents() -> None:
    """B19."""
    for media_type in ("markdown", "text", "canvas"):
        document = parse(b"", media_type=media_type, options=ParseOptions())  # type: ignore[arg-type]
        assert (document.text, document.blocks, document.excluded_reason) == ("", (), None)


def test_opt_in_leaves_out_what_cannot_say_yes() -> None:
    options = ParseOptions(publication="opt-in")
    for media_type in MEDIA_TYPES:
        data = b'{"nodes": []}' if media_type == "canvas" else b"anything"
        assert parse(data, media_type=media_type, options=options).excluded_reason
    assert parse(b"---\nrag: true\n---\ntext", media_type="markdown", options=options).text == "text"


def test_a_note_over_the_bound_is_cut_and_said() -> None:
    document = parse(b"word\n\n" * 50_000, media_type="markdown", options=ParseOptions(max_characters=10_000))
    assert 4_000 < len(document.text) <= 10_000
    assert any("PARSE_MAX_CHARACTERS" in warning for warning in document.warnings)
