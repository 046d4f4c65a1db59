"""Bodies of the HTTP API, for its OpenAPI description. `SearchAnswer` is the contract of `search --json`."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

State = Literal["indexed", "excluded", "quarantined", "pending"]
Status = Literal["healthy", "degraded", "unhealthy"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FoundPassage(_Body):
    """A passage that answers, and where it stands."""

    source: str = Field(description="Path of the file, relative to the vault.")
    ordinal: int = Field(description="Number of the passage in its document, from 0.")
    section: str = Field(description="Headings above the passage.")
    lines: tuple[int, int] = Field(description="First and last line in the file.")
    pages: tuple[int, int] | None = Field(description="First and last page, where the file has pages.")
    content: str
    score: float = Field(description="Orders the results of one answer; not comparable between questions.")
    similarity: float | None = Field(description="Cosine between question and passage.")
    locale: str
    modified_at: datetime
    citation: str


class SearchAnswer(_Body):
    """The answer to a question. Where `answered` is false there are no results, and `reason` says why."""

    query: str
    answered: bool
    reason: str | None
    generation: int = Field(description="The index that was searched.")
    model: str = Field(description="The embedding model of that index.")
    results: list[FoundPassage]
    seconds: float


class DocumentEntry(_Body):
    """A document in the list."""

    source: str
    folder: str = Field(description="Partition key: the top-level folder, percent-encoded.")
    title: str
    state: State
    reason: str | None = Field(description="Why it is in quarantine or left out.")
    locale: str
    media_type: str
    tags: list[str]
    modified_at: datetime
    chunks: int = Field(description="Passages that search can find.")


class DocumentPage(_Body):
    """Documents by name. `next` is the `after` of the next page, null on the last."""

    documents: list[DocumentEntry]
    next: str | None


class Heading(_Body):
    """A heading: its line in the file and its character in the text."""

    level: int
    title: str
    line: int
    offset: int | None


class DocumentText(_Body):
    """A document's indexed text, from `offset` on. `next_offset` is where the next part begins, null at the end."""

    source: str
    folder: str
    title: str
    locale: str
    media_type: str
    tags: list[str]
    properties: dict[str, Any]
    modified_at: datetime
    outline: list[Heading]
    content: str
    characters: int = Field(description="Of the whole text.")
    offset: int
    next_offset: int | None


class UnansweredQuestion(_Body):
    """A question that found nothing good enough; contacts, secrets and anonymised names are masked."""

    id: str = Field(description="For /api/unanswered/{id}/draft.")
    question: str
    locale: str
    times: int
    first_at: datetime
    last_at: datetime
    drafted_at: datetime | None = Field(description="When a FAQ draft was written for it.")


class UnansweredPage(_Body):
    """Unanswered questions, the most frequent first. `next_offset` is null on the last page."""

    questions: list[UnansweredQuestion]
    next_offset: int | None


class FaqDraft(_Body):
    """A new note in the vault, not published, for a person to finish."""

    path: str = Field(description="Relative to the vault.")


class ComponentHealth(_Body):
    """How one part is."""

    status: Status
    detail: str | None


class HealthReport(_Body):
    """The worst of the components, and each of them. "degraded" still answers."""

    status: Status
    components: dict[Literal["database", "index", "embedder"], ComponentHealth]


class ProblemBody(_Body):
    """An error, after RFC 9457. `code` is for programs, `detail` for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
