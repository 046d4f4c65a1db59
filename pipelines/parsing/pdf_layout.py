"""Lines with their place on a page -> paragraphs in the order a person reads them. For text layers and OCR alike."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

Box = tuple[float, float, float, float]
"""Left, top, right, bottom; y grows downwards. Points for text layers, pixels for OCR: only ratios are used."""


@dataclass(frozen=True, slots=True)
class Line:
    """A piece of text on one baseline. `size` is the font's size in the unit of the box; `pieces` counts what stood
    apart on it, such as the cells of a row."""

    text: str
    box: Box
    size: float
    pieces: int = 1


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines that belong together. `wraps[i]` says that line i runs on into line i + 1, so that no break is meant."""

    lines: tuple[str, ...]
    wraps: tuple[bool, ...]
    size: float


COLUMN_LINES = 4  # a side with fewer lines is a caption or a cell, not a column
COLUMN_LINE_SHARE = 0.22  # of the region's width, the median line of a column of prose; cells of tables are narrower
GUTTER_OF_SIZE = 0.8  # narrowest gap between columns, in font sizes
SPANNING_SHARE = 0.35  # of the lines may cross the gutter (titles, figures' captions)
ROW_OVERLAP = 0.6
PARAGRAPH_LEADING = 1.3  # times the usual distance of baselines
SIZE_CHANGE = 1.15
WRAP_SLACK = 2  # characters: lines are not broken at the last possible place always

_BULLET = re.compile(r"^(?:[•◦▪‣·●○■□–—*]|-(?= )|\(?(?:\d{1,3}|[a-zA-Z])[.)](?= ))")


def paragraphs_of(lines: Sequence[Line]) -> list[Paragraph]:
    """Paragraphs of one page, in reading order: columns one after the other, rows of tables left to right."""
    return [paragraph for column in _columns([line for line in lines if line.text]) for paragraph in _divide(column)]


def _columns(lines: list[Line]) -> list[list[Line]]:
    """Runs of lines to be read from top to bottom, in order."""
    if not lines:
        return []
    gutter = _gutter(lines)
    if gutter is None:
        return [_rows(lines)]
    spanning = sorted((line for line in lines if line.box[0] < gutter < line.box[2]), key=lambda line: line.box[1])
    sides = [line for line in lines if not line.box[0] < gutter < line.box[2]]
    result: list[list[Line]] = []
    for title in [*spanning, None]:
        above = [line for line in sides if title is None or _middle(line) < _middle(title)]
        sides = [line for line in sides if not (title is None or _middle(line) < _middle(title))]
        result += _columns([line for line in above if line.box[2] <= gutter])
        result += _columns([line for line in above if line.box[0] >= gutter])
        if title is not None:
            if result and not above and result[-1][-1] in spanning:
                result[-1].append(title)  # titles on consecutive lines stay one run
            else:
                result.append([title])
    return result


def _gutter(lines: list[Line]) -> float | None:
    """x of the clearest vertical gap between two columns of prose, or None."""
    left = min(line.box[0] for line in lines)
    right = max(line.box[2] for line in lines)
    width = right - left
    size = median(line.size for line in lines)
    best: tuple[int, float, float] | None = None
    edges = sorted({line.box[2] for line in lines})
    for edge in edges:
        if not left + 0.2 * width < edge < left + 0.8 * width:
            continue
        starts = [line.box[0] for line in lines if line.box[0] > edge]
        if not starts:
            continue
        gap = min(starts) - edge
        if gap < GUTTER_OF_SIZE * size:
            continue
        middle = edge + gap / 2
        crossing = sum(1 for line in lines if line.box[0] < middle < line.box[2])
        if crossing > SPANNING_SHARE * len(lines):
            continue
        before = [line for line in lines if line.box[2] <= middle]
        after = [line for line in lines if line.box[0] >= middle]
        if _is_column(before, width) and _is_column(after, width):
            candidate = (-crossing, gap, middle)
            best = candidate if best is None else max(best, candidate)
    return None if best is None else best[2]


def _is_column(lines: list[Line], width: float) -> bool:
    if len({round(_middle(line) / max(line.size, 1.0)) for line in lines}) < COLUMN_LINES:
        return False
    return median(line.box[2] - line.box[0] for line in lines) >= COLUMN_LINE_SHARE * width


def _middle(line: Line) -> float:
    return (line.box[1] + line.box[3]) / 2


def _rows(lines: list[Line]) -> list[Line]:
    """Lines from top to bottom; pieces on one baseline (cells, a label and its value) joined left to right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (_middle(line), line.box[0])):
        if rows and _same_row(rows[-1][0], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [_join_row(sorted(row, key=lambda line: line.box[0])) for row in rows]


def _same_row(first: Line, second: Line) -> bool:
    overlap = min(first.box[3], second.box[3]) - max(first.box[1], second.box[1])
    return overlap >= ROW_OVERLAP * min(first.box[3] - first.box[1], second.box[3] - second.box[1])


def _join_row(row: list[Line]) -> Line:
    if len(row) == 1:
        return row[0]
    boxes = [line.box for line in row]
    whole = (min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes))
    largest = max(row, key=lambda line: len(line.text))
    return replace(largest, text=" ".join(line.text for line in row), box=whole, pieces=len(row))


def _divide(column: list[Line]) -> list[Paragraph]:
    """Cut a run of lines where the distance, the size or a bullet says that a paragraph begins."""
    steps = [_step(one, two) for one, two in pairwise(column) if _same_size(one, two)]
    usual = median(step for step in steps) if steps else 1.2
    usual = min(usual, 2.0)  # of short lists of single lines, the usual distance is that between paragraphs
    groups: list[list[Line]] = []
    for line in column:
        last = groups[-1][-1] if groups else None
        if last is not None and _same_size(last, line) and _step(last, line) <= usual * PARAGRAPH_LEADING:
            groups[-1].append(line)
        else:
            groups.append([line])
    right = max(line.box[2] for line in column)
    return [_paragraph(group, right) for group in groups]


def _step(first: Line, second: Line) -> float:
    """Distance between two lines in font sizes; by their middles, since OCR's boxes end with or without descenders."""
    return (_middle(second) - _middle(first)) / max(first.size, 1e-6)


def _same_size(first: Line, second: Line) -> bool:
    small, large = sorted((max(first.size, 1e-6), max(second.size, 1e-6)))
    return large / small <= SIZE_CHANGE


def _paragraph(lines: list[Line], right: float) -> Paragraph:
    wraps = [_has_wrapped(line, following, right) for line, following in pairwise(lines)]
    size = median(line.size for line in lines)
    return Paragraph(lines=tuple(line.text for line in lines), wraps=(*wraps, False), size=size)


def _has_wrapped(line: Line, following: Line, right: float) -> bool:
    """Whether the next line's first word had no room on this one, so that the break means nothing."""
    if is_bullet(following.text) or (line.pieces > 1 and following.pieces > 1):
        return False
    character = (line.box[2] - line.box[0]) / max(len(line.text), 1)
    word = following.text.split(" ", 1)[0]
    return line.box[2] + character * (min(len(word), 20) + WRAP_SLACK) >= right


def is_bullet(text: str) -> bool:
    """Whether a line begins an item of a list."""
    return _BULLET.match(text) is not None
