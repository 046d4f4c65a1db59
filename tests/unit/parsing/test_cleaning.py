"""Promise 8: what must stay out is in no field, and the rest keeps its place."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.errors import DocumentError
from pipelines.parsing.cleaning import Edit, apply_edits, clean
from pipelines.parsing.document import Block, Link, Page, ParsedDocument
from pipelines.parsing.options import ParseOptions
from tests.unit.parsing.notes import check_blocks, note

MASK = ParseOptions(detect_languages=())
QUARANTINE = ParseOptions(detect_languages=(), secrets="quarantine")

LEAKY = """---
title: Access of José Pérez
anonymize: [José Pérez, Ana]
tags: [jose-perez, ops]
aliases: [Ana's note]
db_password: hunter2
servers:
  - host: db.internal
    token: abcd1234efgh
  - url: https://user:s3cret99@example.org
pin: "contraseña: gatito22"
JOSE PEREZ: owner
---

# How ANA gets in

Password: hunter2 and see [[people/José Pérez|him]] or [[Ana#José Pérez]], says Jose Pérez.

| user | contraseña |
|------|------------|
| contraseña | hunter2 |

```sh
export DB_PASSWORD=Tr0ub4dor&3
curl -H "Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345"
```

-----BEGIN RSA PRIVATE KEY-----
MIIEpAIBAAKCAQEA0123456789abcdefghijklmnopqrstuvwxyz0123456789AB
aB1+/aB1+/aB1+/aB1+/aB1+/aB1+/aB1+/aB1+/aB1+/aB1+/aB1+/aB1+/aB1=
-----END RSA PRIVATE KEY-----

AKIAIOSFODNN7EXAMPLE stays out; da39a3ee5e6b4b0d3255bfef95601890afd80709 and 550e8400-e29b-41d4-a716-446655440000 stay.

[config](José%20Pérez/config.md) #JosePerez
"""
FORBIDDEN = (
    *("hunter2", "s3cret99", "abcd1234efgh", "gatito22", "Tr0ub4dor", "abcdefghijklmnopqrstuvwxyz012345", "MIIE"),
    *("aB1+", "AKIAIOSFODNN7EXAMPLE", "josé", "jose", "pérez", "perez", "ana'"),
)


def everything(document: ParsedDocument) -> str:
    """All that would be stored, as one text."""
    return str(dataclasses.asdict(document))


def test_nothing_that_must_stay_out_is_in_any_field() -> None:
    document = note(LEAKY, MASK)
    stored = everything(document).casefold()
    for word in FORBIDDEN:
        assert word.casefold() not in stored, word
    assert "da39a3ee5e6b4b0d3255bfef95601890afd80709" in document.text
    assert "550e8400-e29b-41d4-a716-446655440000" in document.text
    assert document.title == "Access of [anonymized]"
    assert document.tags == ("anonymized", "ops", "anonymized")
    assert document.aliases == ("[anonymized]'s note",)
    assert document.properties["db_password"] == "[secret removed]"
    assert document.properties["[anonymized]"] == "owner"
    assert "anonymize" not in document.properties
    assert Link("people/anonymized") in document.links
    assert Link("anonymized", "#anonymized") in document.links
    assert Link("anonymized/config.md", None, "markdown") in document.links


def test_places_are_named_and_values_are_not() -> None:
    (warning,) = [warning for warning in note(LEAKY, MASK).warnings if "secrets" in warning]
    for place in (
        "line 17 (password)",
        "line 21 (password)",
        "line 24 (password)",
        "line 25 (bearer token)",
        "line 28 (private key)",
        "line 33 (AWS key)",
        "metadata",
    ):
        assert place in warning
    assert not any(word in warning for word in FORBIDDEN)


def test_the_rest_keeps_its_place() -> None:
    document = note(LEAKY, MASK)
    check_blocks(document, LEAKY.count("\n") + 1)
    places = {document.text[block.start : block.end].split("\n")[0]: block.line_start for block in document.blocks}
    assert places["# How [anonymized] gets in"] == 15
    assert places["```sh"] == 23
    assert places["[secret removed]"] == 28
    assert places["config #[anonymized]"] == 35


def test_quarantine_names_lines_without_values() -> None:
    with pytest.raises(DocumentError, match=r"line 3 \(password\).*PARSE_SECRETS") as caught:
        note("text\n\npassword: hunter2\n", QUARANTINE)
    assert "hunter2" not in str(caught.value)
    assert note("no secrets here", QUARANTINE).text == "no secrets here"
    with pytest.raises(DocumentError, match="metadata"):
        note("---\npassword: hunter2\n---\ntext", QUARANTINE)


def test_off_leaves_the_text_as_it_is() -> None:
    assert "hunter2" in note("password: hunter2", ParseOptions(secrets="off")).text


def test_taking_the_secret_out_leaves_no_trace_of_it() -> None:
    assert note("a\n\nb", MASK) == dataclasses.replace(note("a\n\nb", MASK))
    assert not note("a\n\nb", MASK).warnings


@pytest.mark.parametrize(
    "front", ["rag: false", "draft: true", "publish: no", "title: Tema: x\nrag: false", "\trag: x\nrag: false"]
)
def test_excluded_notes_carry_nothing(front: str) -> None:
    document = note(f"---\ntitle: Secret plan\ntags: [plan]\n{front}\n---\n\nprivate words [[link]]", MASK)
    assert document.excluded_reason
    assert document == ParsedDocument(text="", encoding="ascii", excluded_reason=document.excluded_reason)


def test_excluded_notes_with_secrets_are_excluded_and_not_quarantined() -> None:
    assert note("---\nrag: false\n---\npassword: hunter2", QUARANTINE).excluded_reason


def test_names_of_the_vault_count_in_every_note() -> None:
    options = ParseOptions(anonymize=("Ana López",), detect_languages=())
    assert note("ana lopez wrote", options).text == "[anonymized] wrote"


def test_contacts_by_setting() -> None:
    text = "Write to ana@example.org or +34 600 123 456"
    assert note(text).text == text
    masked = note(f"---\nmail: ana@example.org\nphone: 600123456\n---\n{text}", ParseOptions(mask_contacts=True))
    assert "ana@example.org" not in everything(masked)
    assert "600123456" not in everything(masked)
    assert masked.text == "Write to [e-mail removed] or [telephone removed]"


def test_a_secret_over_several_blocks_leaves_one_mark() -> None:
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEabcd\n\nMIIEefgh\n-----END RSA PRIVATE KEY-----"
    )
    source = f"before\n\n{key}\n\nafter"
    document = note(source, MASK)
    assert document.text.split() == ["before", "[secret", "removed]", "after"]
    check_blocks(document, 11)
    assert document.blocks[-1].line_start == 11


def test_pages_move_with_the_text() -> None:
    text = "page one password: hunter2 end\n\npage two José Pérez"
    document = ParsedDocument(
        text,
        blocks=(Block("paragraph", 0, 30, 1, 1), Block("paragraph", 32, len(text), 1, 1)),
        properties={"author": "JOSE PEREZ"},
        pages=(Page(1, 0, 30, "text"), Page(2, 32, len(text), "ocr"), Page(3, len(text), len(text), "blank")),
    )
    cleaned = clean(document, options=ParseOptions(anonymize=("José Pérez",)))
    assert [cleaned.text[page.start : page.end] for page in cleaned.pages] == [
        "page one password: [secret removed] end",
        "page two [anonymized]",
        "",
    ]
    assert cleaned.properties == {"author": "[anonymized]"}
    assert any("page 1 (password)" in warning for warning in cleaned.warnings)


def test_the_bound_cuts_blocks_and_pages() -> None:
    text = "\n\n".join(f"paragraph {number}" for number in range(1_000))
    at, blocks = 0, []
    for part in text.split("\n\n"):
        blocks.append(Block("paragraph", at, at + len(part), 1, 1))
        at += len(part) + 2
    document = clean(
        ParsedDocument(text, blocks=tuple(blocks), pages=(Page(1, 0, len(text), "text"),)),
        options=ParseOptions(max_characters=5_000),
    )
    assert 2_500 < len(document.text) <= 5_000
    assert document.blocks[-1].end == document.pages[0].end == len(document.text)
    assert document.warnings


@given(st.data())
def test_edits_move_every_block_to_its_words(data: st.DataObject) -> None:
    words = data.draw(st.lists(st.text(alphabet="abc", min_size=1, max_size=6), min_size=1, max_size=12))
    text, blocks = " ".join(words), []
    at = 0
    for word in words:
        blocks.append(Block("paragraph", at, at + len(word), 1, 1))
        at += len(word) + 1
    spans = data.draw(
        st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, 8), st.text("XY", max_size=4)), max_size=5)
    )
    edits = [Edit(start, min(len(text), start + length), new) for start, length, new in spans]
    edited = apply_edits(ParsedDocument(text, blocks=tuple(blocks)), edits)
    at = 0
    for block in edited.blocks:
        assert at <= block.start < block.end <= len(edited.text)
        assert not set(edited.text[at : block.start]) & set("abc"), "words of the text stay within blocks"
        at = block.end
    touched = set().union(*(range(edit.start, edit.end) for edit in edits)) if edits else set()
    kept = [word for word, block in zip(words, blocks, strict=True) if not touched & set(range(block.start, block.end))]
    remaining = edited.text.replace("X", "").replace("Y", "")
    for word in kept:
        assert word in remaining


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("db_password: two words here", "[secret removed]"),
        ("PASSWORD: 12345678", "[secret removed]"),
        ("pwd: hunter2", "[secret removed]"),
        ("contraseña: gatito", "[secret removed]"),
        ("token: abcd1234efgh", "[secret removed]"),
        ("password: required", "required"),
        ("max_tokens: 4096", 4096),
        ("tokenizer: bert2-base-uncased", "bert2-base-uncased"),
        ("secretary: Ana López", "Ana López"),
        ("note: 'password: hunter2 now'", "password: [secret removed] now"),
        ("n: 1.5", 1.5),
        ("yes_or_no: true", True),
    ],
)
def test_properties_are_judged_by_their_names(line: str, value: object) -> None:
    assert list(note(f"---\ntitle: x\n{line}\n---\ntext", MASK).properties.values())[1] == value
