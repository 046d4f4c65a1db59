"""A parsed document -> its chunks."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import takewhile

from pipelines.chunking.boundaries import Group, Grouping
from pipelines.chunking.chunk import Chunk, CountTokens
from pipelines.chunking.options import ChunkOptions, chunker_fingerprint
from pipelines.chunking.ranks import Rank
from pipelines.chunking.sentences import sentences
from pipelines.chunking.units import Unit, units
from pipelines.parsing.document import Page, ParsedDocument

__all__ = ["ChunkOptions", "chunk", "chunker_fingerprint"]


def chunk(document: ParsedDocument, *, options: ChunkOptions, count_tokens: CountTokens) -> tuple[Chunk, ...]:
    """Cut a document into chunks.

    The ranges of the chunks cover everything that is not white space, in order; no embedded text is over
    `options.max_tokens`; the same document gives the same chunks; a document of white space only gives none.
    `count_tokens` must be additive over white space: the count of a text is the sum over its words.
    """
    parts = units(document, options=options, count_tokens=count_tokens)
    if not parts:
        return ()
    grouping = Grouping(document.text, parts, options)
    groups = grouping.structural() if options.strategy == "structural" else grouping.paragraphs()
    starts = [parts[first].start for first, _ in groups]
    costs = [grouping.tokens(first, last) for first, last in groups]
    if options.overlap_sentences:
        starts, costs = _overlap(document.text, parts, groups, costs, options=options, count_tokens=count_tokens)
    pages = tuple(page for page in document.pages if page.end > page.start)
    page_starts = [page.start for page in pages]
    chunks: list[Chunk] = []
    for (first, last), start, tokens in zip(groups, starts, costs, strict=True):
        run = parts[first:last]
        page_start, page_end = _pages(pages, page_starts, start, run[-1].end)
        chunks.append(
            Chunk(
                ordinal=len(chunks),
                content=_content(document.text, start, run[0], run[-1]),
                context=run[0].lead.text,
                section=_section(run),
                start=start,
                end=run[-1].end,
                line_start=max(1, run[0].line_start - document.text.count("\n", start, run[0].start)),
                line_end=run[-1].line_end,
                page_start=page_start,
                page_end=page_end,
                tokens=tokens,
            )
        )
    return tuple(chunks)


def _content(text: str, start: int, opener: Unit, closer: Unit) -> str:
    """The slice of the text, between the lines that make a piece of a table or a fence readable by itself."""
    slice_ = text[start : closer.end]
    return "\n".join(part for part in (opener.opening.text, slice_, closer.closing.text) if part)


def _section(run: Sequence[Unit]) -> tuple[str, ...]:
    """The heading path that all the text of a chunk shares; that of its first heading if it is headings only."""
    paths = [unit.section for unit in run if not unit.heading_level] or [unit.section for unit in run]
    shared = [names[0] for names in takewhile(lambda names: len(set(names)) == 1, zip(*paths, strict=False))]
    return tuple(shared) or paths[0]


def _overlap(
    text: str,
    parts: Sequence[Unit],
    groups: Sequence[Group],
    costs: Sequence[int],
    *,
    options: ChunkOptions,
    count_tokens: CountTokens,
) -> tuple[list[int], list[int]]:
    """Where chunks begin, and their tokens, when the last sentences of the text before are repeated.

    As many as the budget allows: only prose of the same section, never a heading, never all of the chunk before, and
    nothing in front of a table's or fence's piece or inside a word.
    """
    starts: list[int] = []
    tokens: list[int] = []
    chunk_before = 0
    for (first, last), cost in zip(groups, costs, strict=True):
        start, repeated = parts[first].start, 0
        opener, before = parts[first], parts[first - 1] if first else None
        follows = opener.rank != Rank.CHARACTER and not opener.opening.text
        if before and before.prose and before.section == opener.section and follows:
            widest = parts[last - 1].end + len(parts[first].lead.text) - options.max_characters * 3 // 4
            for begin, _ in reversed(sentences(text, before.start, before.end)[-options.overlap_sentences :]):
                [more] = count_tokens([text[begin : parts[first].start]])
                if cost + more > options.max_tokens or begin < widest or begin <= chunk_before:
                    break
                start, repeated = begin, more
        chunk_before = parts[first].start
        starts.append(start)
        tokens.append(cost + repeated)
    return starts, tokens


def _pages(pages: Sequence[Page], starts: Sequence[int], start: int, end: int) -> tuple[int | None, int | None]:
    """Numbers of the first and last page that a range of the text touches; (None, None) without pages."""
    if not pages:
        return None, None
    last = max(bisect_left(starts, end) - 1, 0)
    first = min(max(bisect_right(starts, start) - 1, 0), last)
    return pages[first].number, pages[last].number
