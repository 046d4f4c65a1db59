"""From pages to one document: offsets, lines, headings, and what a person is told."""

import pytest

from pipelines.parsing.pdf_assembly import PageText, assemble, ranges, running_text
from pipelines.parsing.pdf_layout import Paragraph


def paragraph(*lines: str, size: float = 10, wraps: bool = True) -> Paragraph:
    return Paragraph(lines, tuple(wraps for _ in lines), size)


BODY = paragraph("The body of the text has many more characters than the headings have.")


def headings(*pages: PageText, outline: list[list[object]] | None = None) -> list[tuple[int, str]]:
    document = assemble(pages, {"pages": len(pages), "outline": outline or []})
    return [(one.level, document.text[one.start : one.end]) for one in document.blocks if one.kind == "heading"]


def test_pages_and_lines_are_found_again_in_the_text() -> None:
    pages = [
        PageText(1, "text", (paragraph("one", "two", wraps=False), paragraph("three"))),
        PageText(2, "blank"),
        PageText(3, "ocr", (paragraph("four"),)),
    ]
    document = assemble(pages, {"pages": 3})
    assert document.text == "one\ntwo\n\nthree\n\nfour"
    assert [document.text[page.start : page.end] for page in document.pages] == ["one\ntwo\n\nthree", "", "four"]
    assert [(block.line_start, block.line_end) for block in document.blocks] == [(1, 2), (4, 4), (6, 6)]


def test_levels_follow_sizes_within_a_little_noise() -> None:
    page = PageText(
        1, "text", (paragraph("A", size=20), BODY, paragraph("B", size=14), paragraph("C", size=14.2), BODY)
    )
    assert headings(page) == [(1, "A"), (2, "B"), (2, "C")]


def test_large_text_without_letters_in_bulk_or_in_a_list_is_no_heading() -> None:
    large = (paragraph("1", size=20), paragraph("x" * 300, size=20), paragraph("• item", size=20))
    assert headings(PageText(1, "text", (BODY, BODY, BODY, BODY, BODY, BODY, *large))) == []


def test_the_outline_names_headings_that_sizes_do_not_show() -> None:
    page = PageText(2, "text", (paragraph("1.2  Métodos"), BODY))
    assert headings(PageText(1, "blank"), page, outline=[[2, "Métodos", 2]]) == [(2, "1.2 Métodos".replace(" ", "  "))]


def test_sizes_of_ocr_are_compared_among_themselves_and_roughly() -> None:
    layer = PageText(1, "text", (BODY, BODY))
    scanned = PageText(
        2, "ocr", (paragraph("TITLE", size=40), paragraph("bigger", size=24), paragraph("body " * 40, size=20))
    )
    assert headings(layer, scanned) == [(1, "TITLE")]


def test_words_broken_at_the_end_of_a_line_are_made_whole_even_where_lines_are_ragged() -> None:
    ragged = paragraph("it is dan-", "gerous", "for use", wraps=False)
    assert running_text(ragged, frozenset()) == "it is dangerous\nfor use"


def test_a_table_of_contents_and_a_logo_are_no_title() -> None:
    contents = PageText(1, "text", (paragraph("Contents", size=20), BODY))
    assert assemble([contents], {"pages": 1}).title is None
    logo = PageText(1, "ocr", (paragraph("ACME", size=40), BODY))
    assert assemble([logo], {"pages": 1}).title is None


def test_warnings_gather_pages_by_reason() -> None:
    pages = [
        PageText(1, "text", (BODY,), cause="images cover 80% of it", why="OCR is off", pending=True),
        PageText(2, "skipped", cause="it has no text layer", why="OCR is off", pending=True),
        PageText(3, "skipped", cause="it has no text layer", why="OCR is off", pending=True),
        PageText(4, "failed", why="it is damaged: bad stream"),
    ]
    document = assemble(pages, {"pages": 4, "repaired": True, "attachments": 2, "xfa": True})
    assert document.warnings == (
        "the file is damaged and was repaired while reading: parts of it may be missing",
        "pages read without their images (1 of 4): 1: OCR is off",
        "pages not read (2 of 4): 2-3: OCR is off",
        "pages unreadable (1 of 4): 4: it is damaged: bad stream",
        "files attached inside it were not read: 2",
        "it is an XFA form: its fields may show only in Adobe Reader",
    )
    assert document.pages[0].reason == "images cover 80% of it; OCR is off"


@pytest.mark.parametrize(("numbers", "short"), [([], ""), ([3], "3"), ([5, 1, 2, 3], "1-3, 5"), ([1, 3], "1, 3")])
def test_ranges(numbers: list[int], short: str) -> None:
    assert ranges(numbers) == short
