"""Reading order and paragraphs, from nothing but lines with their places."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.pdf_layout import Line, paragraphs_of


def line(text: str, x: float, y: float, *, size: float = 10, width: float | None = None) -> Line:
    return Line(text, (x, y, x + (width or len(text) * size * 0.5), y + size * 1.2), size)


def texts(lines: list[Line]) -> list[str]:
    return ["\n".join(paragraph.lines) for paragraph in paragraphs_of(lines)]


def column(name: str, x: float, rows: int, *, y: float = 100) -> list[Line]:
    return [line(f"{name}{row}", x, y + 12 * row, width=200) for row in range(rows)]


def test_two_columns_below_a_title_and_above_a_footer() -> None:
    lines = [line("Title", 50, 50, size=20, width=450), *column("l", 50, 6), *column("r", 300, 6)]
    lines += [line("footer", 50, 400, width=450)]
    expected = ["Title", "\n".join(f"l{n}" for n in range(6)), "\n".join(f"r{n}" for n in range(6)), "footer"]
    assert texts(lines) == expected
    assert texts(lines[::-1]) == expected, "whatever the order in the file"


def test_three_columns() -> None:
    lines = [
        one for row in zip(column("a", 50, 5), column("b", 280, 5), column("c", 510, 5), strict=True) for one in row
    ]
    assert [text[0] for text in texts(lines)] == ["a", "b", "c"]


def test_a_picture_across_both_columns_divides_them() -> None:
    lines = [*column("l", 50, 5), *column("r", 300, 5), line("caption", 50, 200, width=450)]
    lines += [*column("m", 50, 5, y=260), *column("s", 300, 5, y=260)]
    assert [text[0] for text in texts(lines)] == ["l", "r", "c", "m", "s"]


def test_the_cells_of_a_table_stay_on_their_row() -> None:
    lines = [line(f"{name}{row}", x, 100 + 12 * row) for name, x in (("k", 50), ("v", 300)) for row in range(6)]
    assert texts(lines) == ["\n".join(f"k{row} v{row}" for row in range(6))]


def test_paragraphs_end_at_gaps_and_at_changes_of_size() -> None:
    lines = [line("Heading", 50, 50, size=16), line("one", 50, 80), line("two", 50, 92), line("three", 50, 104)]
    lines += [line("next", 50, 134), line("more", 50, 146)]
    assert texts(lines) == ["Heading", "one\ntwo\nthree", "next\nmore"]


def test_a_line_wraps_when_the_next_word_had_no_room() -> None:
    full, short = line("x" * 40, 50, 100), line("end.", 50, 112)
    after = line("Another sentence here with some", 50, 124)
    assert paragraphs_of([full, short, after])[0].wraps == (True, False, False)


def test_bullets_begin_lines_of_their_own() -> None:
    lines = [line("x" * 40, 50, 100), line("• item one is as long as this li", 50, 112), line("- item", 50, 124)]
    assert paragraphs_of(lines)[0].wraps == (False, False, False)


coordinates = st.floats(min_value=-1e4, max_value=1e4, allow_nan=False)


@given(st.lists(st.tuples(st.text("ab", min_size=1), coordinates, coordinates, st.floats(0, 300), st.floats(0, 100))))
def test_no_line_is_lost_or_doubled_wherever_it_stands(places: list[tuple[str, float, float, float, float]]) -> None:
    lines = [
        Line(f"{number}{text}", (x, y, x + width, y + size), size)
        for number, (text, x, y, width, size) in enumerate(places)
    ]
    found = sorted(" ".join(one for paragraph in paragraphs_of(lines) for one in paragraph.lines).split())
    assert found == sorted(one.text for one in lines)
