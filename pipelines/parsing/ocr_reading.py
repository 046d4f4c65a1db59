"""What an OCR engine gives back, whichever engine it is."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from pipelines.parsing.pdf_layout import Box, Line

SIZE_OF_HEIGHT = 0.75
"""Font size over the height of a line's box, so that lines from OCR and from text layers can be compared."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What OCR found on one picture: upright lines in pixels, after `turns` clockwise quarter turns of the picture."""

    lines: tuple[Line, ...]
    turns: int = 0


SAME_SIZE = (0.7, 1.4)
"""Sizes within these factors of the page's median are its body: a box is a third lower around `are` than `Ápg`."""

Reader = Callable[[bytes, int, int], Reading]
"""Reads a picture given as RGB bytes (3 a pixel, no padding), width and height."""


def ocr_line(text: str, box: Box) -> Line:
    """A line that OCR found, with the font size guessed from its height."""
    return Line(text, box, (box[3] - box[1]) * SIZE_OF_HEIGHT)


def majority(votes: Iterable[tuple[int, float]]) -> int:
    """The value with the greatest weight, 0 without votes."""
    weights: dict[int, float] = {}
    for value, weight in votes:
        weights[value] = weights.get(value, 0.0) + weight
    return max(sorted(weights), key=lambda value: weights[value], default=0)


def settle_sizes(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines of a page with the guessed sizes of its body made one, so that paragraphs are not cut by noise."""
    if not lines:
        return ()
    body = median(line.size for line in lines)
    return tuple(
        replace(line, size=body) if SAME_SIZE[0] * body <= line.size <= SAME_SIZE[1] * body else line for line in lines
    )
