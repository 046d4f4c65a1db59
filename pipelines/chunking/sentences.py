"""Where a text can be cut: sentences, lines, list items, words, and, when nothing else is left, characters.

Every function takes a text and a range of it and returns consecutive `(start, end)` ranges: trimmed of white space at
the end, never blank, in order, covering everything in the range that is not white space.
"""

import re
from collections.abc import Callable, Iterable, Iterator

Span = tuple[int, int]
Cutter = Callable[[str, int, int], list[Span]]

# A full stop, question or exclamation mark or an ellipsis, then closing marks, then white space before something that
# can begin a sentence in English or Spanish (capital, digit, opening, list or quote mark). CJK stops need no space.
_SENTENCE_END = re.compile(
    r"""[.!?…]["'”’»)\]*_`]*\s+(?=["'“‘«(\[*_`¿¡>#\-\d]*[^\W\d_a-zß-öø-ÿ]|[¿¡]|\d|[-*+>]\s)|[。！？]["”’」』）]*\s*"""
)
# The commonest abbreviations of both languages: a full stop after them ends nothing.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:Sr|Sra|Dr|Dra|Ud|Uds|D|pág|págs|núm|art|ej|aprox|Mr|Mrs|Ms|St|vs|etc|e\.g|i\.e|cf|v|No|[A-ZÁÉÍÓÚÑ])\.\s+$"
)
_ITEM = re.compile(r"^([ \t]*)(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)", re.MULTILINE)
_CLAUSE_END = re.compile(r"[,;:)\]}>|–—]\s+")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+(?=[ \t]*\S)")
_SPACE = re.compile(r"\s+")


def sentences(text: str, start: int, end: int) -> list[Span]:
    """Ranges of sentences."""
    cuts = (
        match.end()
        for match in _SENTENCE_END.finditer(text, start, end)
        if not _ABBREVIATION.search(text, max(start, match.start() - 8), match.end())
    )
    return _spans(text, start, end, cuts)


def lines(text: str, start: int, end: int) -> list[Span]:
    """Ranges of lines, each with its indentation."""
    return _spans(text, start, end, _line_starts(text, start, end), keep_indent=True)


def stanzas(text: str, start: int, end: int) -> list[Span]:
    """Ranges of line groups that blank lines part."""
    return _spans(
        text, start, end, (match.end() for match in _BLANK_LINES.finditer(text, start, end)), keep_indent=True
    )


def outer_stanzas(text: str, start: int, end: int) -> list[Span]:
    """Stanzas that begin without indentation, each with the indented ones that follow: the parts of a program."""
    cuts = (match.end() for match in _BLANK_LINES.finditer(text, start, end) if not text[match.end()].isspace())
    return _spans(text, start, end, cuts, keep_indent=True)


def clauses(text: str, start: int, end: int) -> list[Span]:
    """Ranges that end at a comma, colon, bracket or cell border."""
    return _spans(text, start, end, (match.end() for match in _CLAUSE_END.finditer(text, start, end)))


def words(text: str, start: int, end: int) -> list[Span]:
    """Ranges of words."""
    return _spans(text, start, end, (match.end() for match in _SPACE.finditer(text, start, end)))


def items(text: str, start: int, end: int) -> list[Span]:
    """Ranges of the outermost list items; what belongs to an item (its own lists too) stays with it."""
    starts = [(len(match[1].expandtabs(4)), match.start()) for match in _ITEM.finditer(text, start, end)]
    if not starts:
        return _spans(text, start, end, ())
    outermost = min(indent for indent, _ in starts)
    return _spans(text, start, end, (cut for indent, cut in starts if indent <= outermost + 1), keep_indent=True)


def nested_items(text: str, start: int, end: int) -> list[Span]:
    """Ranges of all list items, of any depth."""
    cuts = (match.start() for match in _ITEM.finditer(text, start, end))
    return _spans(text, start, end, cuts, keep_indent=True)


def characters(text: str, start: int, end: int, size: int) -> list[Span]:
    """Ranges of at most `size` characters, for a run without white space."""
    return _spans(text, start, end, range(start + size, end, size))


def _line_starts(text: str, start: int, end: int) -> Iterator[int]:
    position = text.find("\n", start, end)
    while position >= 0:
        yield position + 1
        position = text.find("\n", position + 1, end)


def _spans(text: str, start: int, end: int, cuts: Iterable[int], *, keep_indent: bool = False) -> list[Span]:
    found: list[Span] = []
    previous = start
    for cut in (*cuts, end):
        if cut <= previous:
            continue
        piece = text[previous:cut]
        stripped = piece.rstrip()
        if stripped:
            left = 0 if keep_indent else len(stripped) - len(stripped.lstrip())
            found.append((previous + left, previous + len(stripped)))
        previous = cut
    return found
