"""B13, B14, X09, X10: the metadata block in every shape, and never at the cost of text."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.encoding import decode
from pipelines.parsing.frontmatter import Frontmatter, split_frontmatter


def note(block: str, body: str = "Body\n") -> Frontmatter:
    return split_frontmatter(f"---\n{block}\n---\n{body}")


def test_metadata_and_body_are_separated_and_lines_are_counted() -> None:
    front = note("title: Guide\ntags: [a, b]")
    assert front.properties == {"title": "Guide", "tags": ["a", "b"]}
    assert (front.body, front.lines_before, front.warnings) == ("Body\n", 4, ())


def test_a_bare_colon_in_the_title_keeps_the_title_and_the_other_keys() -> None:
    front = note("title: Tema: subtema\ntags: [a, b]\nrag: false")
    assert front.properties == {"title": "Tema: subtema", "tags": ["a", "b"], "rag": False}
    assert front.body == "Body\n"
    assert "line 2" in front.warnings[0]


def test_a_tab_as_indentation_does_not_discard_the_good_keys() -> None:
    front = note("title: x\nlist:\n\t- one\nrag: false")
    assert front.properties["title"] == "x"
    assert front.properties["rag"] is False
    assert front.warnings


@pytest.mark.parametrize(
    "block", ["- a\n- b", "una frase sencilla", "function f() {\n  return 1;\n}", '"quoted"', "42"]
)
def test_what_is_no_mapping_stays_readable(block: str) -> None:
    front = note(block)
    assert front.properties == {}
    assert block in front.body
    assert front.body.endswith("Body\n")
    assert front.warnings


def test_keys_are_the_words_that_were_written() -> None:
    assert note("1: a\ntrue: b\nnull: c\n2026-01-01: d\ntitle: ok").properties == {
        "1": "a",
        "true": "b",
        "null": "c",
        "2026-01-01": "d",
        "title": "ok",
    }


def test_a_key_called_content_is_a_key() -> None:
    assert note("content: x\ntitle: y").properties == {"content": "x", "title": "y"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-05-24", "2026-05-24"),
        ("2026-05-24 10:00:00", "2026-05-24 10:00:00"),
        ("08:30", "08:30"),
        ("1:30:00", "1:30:00"),
        ("no", "no"),
        ("NO", "NO"),
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("007", "007"),
        ("0x1F", "0x1F"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("42", 42),
        ("-3", -3),
        ("1.50", 1.5),
        ("1e5", "1e5"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("Infinity", "Infinity"),
        ("NaN", "NaN"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("null", None),
        ("~", None),
        ("", None),
        ("[[Other note]]", "[[Other note]]"),
        ('"[[Other note]]"', "[[Other note]]"),
        ("!!python/object/apply:os.system [echo]", ["echo"]),
        ("!custom value", "value"),
        ("2.0.1", "2.0.1"),
        ("'a\\0b'", "a\\0b"),
        ('"a\\0b"', "ab"),
    ],
)
def test_values_are_what_a_person_reads(written: str, read: object) -> None:
    front = note(f"key: {written}")
    assert front.properties == {"key": read}
    assert front.body == "Body\n"


def test_an_unclosed_block_stays_in_the_body_and_what_it_says_counts() -> None:
    front = split_frontmatter("---\ntitle: x\nrag: false\n\nBody")
    assert front.properties == {"title": "x", "rag": False}
    assert "Body" in front.body
    assert "title: x" in front.body
    assert front.warnings


def test_dots_close_a_block() -> None:
    assert split_frontmatter("---\ntitle: x\n...\nBody") == Frontmatter({"title": "x"}, "Body", 3)


@pytest.mark.parametrize(
    "first",
    [
        "Primera parte del texto.",
        "Primera parte.\nReunión: con Ana",
        "Reunión: con Ana",
        "Reunión: con Ana: el lunes",
        "\nPrimera parte: con aire.\n",
        "El lunes vimos esto: nada",
        "Notas, ideas y planes\nOtra línea: con dos puntos\ny el resto",
    ],
)
def test_a_rule_at_the_top_is_not_metadata(first: str) -> None:
    """B14 (a, b): both paragraphs are searchable."""
    front = split_frontmatter(f"---\n{first}\n---\nSegunda parte.\n")
    for line in (*first.strip().split("\n"), "Segunda parte."):
        assert line in front.body


def test_rules_in_the_body_after_real_metadata_stay() -> None:
    """B14 (c)."""
    front = split_frontmatter("---\ntitle: x\n---\n\n---\ntexto entre reglas\n---\nfin\n")
    assert front.properties == {"title": "x"}
    assert "texto entre reglas" in front.body
    assert "fin" in front.body
    prose = split_frontmatter("---\ntitle: x\n---\n\n---\n\nNota: algo importante\n\n---\nfin\n")
    assert "Nota: algo importante" in prose.body


def test_two_blocks_in_a_row_are_both_read() -> None:
    """B14 (d): the sync tool's block does not cost the note's."""
    front = split_frontmatter("---\nsync_id: 7\ntags: [a]\n---\n---\ntitle: Real\ntags: [b]\n---\nBody\n")
    assert front.properties == {"sync_id": 7, "title": "Real", "tags": ["a", "b"]}
    assert (front.body, front.lines_before) == ("Body\n", 8)
    assert front.warnings


def test_conflict_marks_in_the_metadata_are_not_fatal() -> None:
    """X09."""
    front = note("<<<<<<< HEAD\ntitle: mine\n=======\ntitle: theirs\n>>>>>>> origin/main\ntags: [a]")
    assert front.properties == {"title": "theirs", "tags": ["a"]}
    assert front.body == "Body\n"
    assert any("merge" in warning for warning in front.warnings)


def test_huge_metadata_is_bounded_and_storable() -> None:
    """X10."""
    front = note(
        "title: kept\ntags:\n" + "\n".join(f"- tag{number}" for number in range(10_000)) + "\nlong: " + "x" * 500_000
    )
    assert front.properties["title"] == "kept"
    assert len(json.dumps(front.properties, allow_nan=False)) < 300_000
    assert front.warnings
    assert front.body == "Body\n"


def test_a_megabyte_that_is_never_metadata_is_text() -> None:
    front = note("title: x\nlong: " + "x" * 1_100_000)
    assert front.properties == {}
    assert len(front.body) > 1_100_000
    assert front.warnings


def test_aliases_of_yaml_cannot_explode() -> None:
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    front = note(f"l0: &l0 [x, x]\n{levels}\ntitle: ok")
    assert len(json.dumps(front.properties)) < 300_000
    assert note("a: &a [*a]\ntitle: ok").properties["title"] == "ok"


@pytest.mark.parametrize(
    ("text", "properties", "body"),
    [
        ("+++\ntitle = 'T'\ndate = 2026-01-02\n+++\nBody", {"title": "T", "date": "2026-01-02"}, "Body"),
        (';;;\n{"title": "T"}\n;;;\nBody', {"title": "T"}, "Body"),
        ('{\n"title": "T"\n}\nBody', {"title": "T"}, "Body"),
        ('---json\n{"title": "T", "n": 1e999}\n---\nBody', {"title": "T", "n": "inf"}, "Body"),
        ("---toml\ntitle = 'T'\n---\nBody", {"title": "T"}, "Body"),
        ("----\ntitle: T\n----\nBody", {"title": "T"}, "Body"),
        ("--- \ntitle: T\n--- \nBody", {"title": "T"}, "Body"),
        ("\n\n---\ntitle: T\n---\nBody", {"title": "T"}, "Body"),
        ("---\n---\nBody", {}, "Body"),
        ("---\ntitle: T\n---", {"title": "T"}, ""),
        ("", {}, ""),
        ("---", {}, "---"),
        ("{% include x %}\nBody", {}, "{% include x %}\nBody"),
        ("{not json}\nBody", {}, "{not json}\nBody"),
        ('{"only": "json"}', {}, '{"only": "json"}'),
    ],
)
def test_other_shapes(text: str, properties: dict[str, object], body: str) -> None:
    front = split_frontmatter(text)
    assert (front.properties, front.body) == (properties, body)


@given(st.text(alphabet=st.sampled_from("-:{}[]&*!|>'\"#%@`\n\t abcñ01.,"), max_size=120))
def test_any_block_is_read_and_the_body_is_never_lost(block: str) -> None:
    front = split_frontmatter(f"---\n{block}\n---\nBody of the note\n")
    assert "Body of the note" in front.body
    json.dumps(front.properties, allow_nan=False)


@given(st.text(max_size=200))
def test_body_is_the_end_of_the_text(text: str) -> None:
    front = split_frontmatter(text)
    assert text.endswith(front.body)
    assert text[: len(text) - len(front.body)].count("\n") == front.lines_before


@pytest.mark.shared
def test_fixtures_of_other_parsers(shared_data: Path) -> None:
    """Their expected metadata, as words (`yes` stays `yes`), and every word of the body."""
    for expected_file in (shared_data / "markdown_edge" / "python_frontmatter").glob("*/*.result.json"):
        stem = expected_file.name.removesuffix(".result.json")
        source = next(path for path in expected_file.parent.glob(f"{stem}.*") if path != expected_file)
        expected = json.loads(expected_file.read_text())
        front = split_frontmatter(decode(source.read_bytes()).text)
        content = expected.pop("content")
        assert front.body.strip() == content.strip(), source.name
        assert set(front.properties) == set(expected), source.name
        if stem != "unpretty":
            assert front.properties == expected, source.name
    for source in (shared_data / "markdown_edge" / "gray_matter").iterdir():
        text = source.read_text()
        front = split_frontmatter(text)
        assert text.endswith(front.body)
