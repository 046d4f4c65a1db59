"""Passages for tests."""

from datetime import UTC, datetime

from pipelines.retrieval.passage import Passage


def passage(source: str, ordinal: int, content: str, *, pages: tuple[int, int] | None = None) -> Passage:
    return Passage(
        source=source,
        ordinal=ordinal,
        section="A",
        lines=(1, 2),
        pages=pages,
        content=content,
        score=0.5,
        similarity=0.5,
        locale="en",
        modified_at=datetime(2026, 1, 1, tzinfo=UTC),
        title="Title",
    )
