"""Plain text keeps its paragraphs."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.encoding import clean_text
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import parse
from pipelines.parsing.text import parse_text


def test_paragraphs_and_lines() -> None:
    document = parse_text("one\nstill one\n\n\n  two\n \nthree")
    assert [document.text[block.start : block.end] for block in document.blocks] == ["one\nstill one", "  two", "three"]
    assert [(block.line_start, block.line_end) for block in document.blocks] == [(1, 2), (5, 5), (7, 7)]


def test_metadata_of_a_text_file_counts() -> None:
    document = parse_text("---\ntitle: T\ntags: [a]\nlang: es\n---\n\nBody")
    assert (document.title, document.tags, document.declared_locale) == ("T", ("a",), "es")
    assert [(block.line_start, block.line_end) for block in document.blocks] == [(7, 7)]


def test_empty_and_blank_files_give_no_blocks() -> None:
    """B19."""
    for text in ("", "\n", " \n\t\n"):
        assert (parse_text(text).text, parse_text(text).blocks) == ("", ())


def test_a_log_over_the_bound_is_cut_at_a_line_and_said() -> None:
    log = "\n".join(f"2026-01-01 00:00:{number % 60:02} INFO request {number} done" for number in range(5_000))
    document = parse(log.encode(), media_type="text", options=ParseOptions(max_characters=50_000))
    assert 25_000 < len(document.text) <= 50_000
    assert log.startswith(document.text)
    assert document.text.endswith("done")
    assert any("PARSE_MAX_CHARACTERS" in warning for warning in document.warnings)


def test_a_line_of_two_megabytes_without_a_space_is_bounded_and_named() -> None:
    document = parse(
        b"start\n\n" + b"0123456789abcdef" * 131_072 + b"\n\nend\n", media_type="text", options=ParseOptions()
    )
    assert len(document.text) < 21_000
    assert document.text.startswith("start")
    assert document.text.endswith("end")
    assert any(warning.startswith("line 3: 2,097,152 characters") for warning in document.warnings)


def test_a_long_line_of_words_is_kept_whole() -> None:
    line = "word " * 50_000
    assert parse(line.encode(), media_type="text", options=ParseOptions()).text == line.strip()


@given(st.text(alphabet=st.sampled_from("ab \n\t¿ñ-"), max_size=200))
def test_blocks_cover_everything_but_white_space(text: str) -> None:
    text = clean_text(text)
    document = parse_text(text)
    if text.lstrip().startswith("---"):
        return
    lines = text.split("\n")
    at = 0
    for block in document.blocks:
        assert not document.text[at : block.start].strip()
        written = "\n".join(lines[block.line_start - 1 : block.line_end])
        assert document.text[block.start : block.end].rstrip() == written.rstrip()
        at = block.end
    assert not document.text[at:].strip()
    assert document.text.split() == text.split()
