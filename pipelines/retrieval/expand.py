"""Results shown with their neighbours: what stands before and after a short passage often says what it is about."""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.retrieval.fusion import Scored
from pipelines.retrieval.passage import Passage
from pipelines.storage import search as storage
from pipelines.storage.database import Connection
from pipelines.storage.generations import Generation
from pipelines.storage.search import PassageRow

SHORT = 400
"""Characters below which a passage is shown with twice as many neighbours."""


def expand(
    connection: Connection,
    generation: Generation,
    kept: Sequence[Scored],
    passages: Sequence[Passage],
    *,
    around: int,
) -> tuple[Passage, ...]:
    """Passages with up to `around` chunks of the same section before and after them in their content and lines.

    A chunk that is a result itself is not shown again inside another one.
    """
    taken = {(item.candidate.document_id, item.candidate.ordinal) for item in kept}
    spans: list[tuple[int, int]] = []
    for item, passage in zip(kept, passages, strict=True):
        reach = around * (2 if len(passage.content) < SHORT else 1)
        document, ordinal = item.candidate.document_id, item.candidate.ordinal
        spans.extend((document, ordinal + step) for step in range(-reach, reach + 1) if step)
    rows = {
        (row.document_id, row.ordinal): row
        for row in storage.neighbours(connection, generation, sorted(set(spans) - taken))
    }
    expanded = []
    for item, passage in zip(kept, passages, strict=True):
        reach = around * (2 if len(passage.content) < SHORT else 1)
        key = (item.candidate.document_id, item.candidate.ordinal)
        before = _run(rows, key, passage, range(-1, -reach - 1, -1))
        after = _run(rows, key, passage, range(1, reach + 1))
        expanded.append(_joined(list(reversed(before)), passage, after))
    return tuple(expanded)


def _run(
    rows: dict[tuple[int, int], PassageRow], key: tuple[int, int], passage: Passage, steps: range
) -> list[PassageRow]:
    """Neighbours in one direction, up to the first that is missing, taken or of another section."""
    run = []
    for step in steps:
        row = rows.get((key[0], key[1] + step))
        if row is None or row.section != passage.section:
            break
        run.append(row)
    return run


def _joined(before: list[PassageRow], passage: Passage, after: list[PassageRow]) -> Passage:
    around = [*before, *after]
    lines = (
        min([passage.lines[0], *(row.line_start for row in around)]),
        max([passage.lines[1], *(row.line_end for row in around)]),
    )
    pages = passage.pages
    if pages is not None:
        firsts = [row.page_start for row in around if row.page_start is not None]
        lasts = [row.page_end for row in around if row.page_end is not None]
        pages = (min([pages[0], *firsts]), max([pages[1], *lasts]))
    content = "\n\n".join([*(row.content for row in before), passage.content, *(row.content for row in after)])
    return replace(passage, content=content, lines=lines, pages=pages)
