"""Sessions as they are shown: turns with their sources, whose text is looked up where it still may be read."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from pipelines.assistant import extract
from pipelines.assistant.extract import Excerpt
from pipelines.assistant.usage import Usage
from pipelines.storage import chats
from pipelines.storage.chats import ShownPassage, StoredTurn
from pipelines.storage.database import Connection


def read_session(connection: Connection, session: UUID) -> dict[str, Any]:
    """A session with its turns, as JSON values. Raises SessionNotFound."""
    found = chats.get_session(connection, session)
    chats.end_abandoned(connection, session=session)
    turns = chats.turns(connection, session)
    references = [reference for turn in turns for reference in turn.sources]
    passages = chats.passages(
        connection,
        sorted({reference["source"] for reference in references}),
        sorted({reference["hash"] for reference in references if reference["hash"]}),
    )
    known = {(passage.source, passage.hash): passage for passage in passages}
    return {
        "id": found.id,
        "title": found.title,
        "documents": found.documents,
        "turns": [_turn(turn, known) for turn in turns],
    }


def _turn(turn: StoredTurn, known: Mapping[tuple[str, str], ShownPassage]) -> dict[str, Any]:
    sources = [_source(reference, known) for reference in turn.sources]
    return {
        "id": turn.id,
        "question": turn.question,
        "query": turn.query,
        "rewritten": turn.rewritten,
        "answer": _passages(turn, sources) if turn.style == "passages" and turn.state == "complete" else turn.answer,
        "answered": turn.answered,
        "complete": turn.state == "complete",
        "running": turn.state == "running",
        "cancelled": turn.state == "cancelled",
        "problem": turn.problem,
        "removed_citations": turn.removed_citations,
        "created_at": turn.created_at,
        "sources": sources,
        "usage": Usage(turn.input_tokens, turn.output_tokens, turn.cached_tokens, turn.cost_usd, turn.model).to_json(),
    }


def _source(reference: Mapping[str, Any], known: Mapping[tuple[str, str], ShownPassage]) -> dict[str, Any]:
    """A source as the event had it; `gone` where its passage cannot be read any more."""
    passage = known.get((reference["source"], reference["hash"]))
    lines, pages = reference["lines"], reference["pages"]
    if passage is not None:
        paged = passage.page_start is not None
        lines = None if paged else [passage.line_start, passage.line_end]
        pages = [passage.page_start, passage.page_end] if paged else None
    return {
        "n": reference["n"],
        "id": f"c{reference['n']}",
        "source": reference["source"],
        "title": "" if passage is None else passage.title,
        "section": "" if passage is None else passage.section,
        "lines": lines,
        "pages": pages,
        "text": "" if passage is None else passage.content,
        "score": reference["score"],
        "locale": reference["locale"],
        "gone": passage is None and bool(reference["hash"]),
    }


def _passages(turn: StoredTurn, sources: Sequence[Mapping[str, Any]]) -> str:
    excerpts = [
        Excerpt(item["n"], item["source"], item["title"], item["section"], None if item["gone"] else item["text"])
        for item in sources
    ]
    return "".join(extract.compose(excerpts, turn.query, turn.locale if turn.locale in ("es", "en") else "en"))
