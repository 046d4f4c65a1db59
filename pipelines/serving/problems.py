"""Errors as callers see them: a status, a code and a sentence, never SQL, an address, a path or a traceback."""

from dataclasses import dataclass
from http import HTTPStatus

from pipelines.errors import (
    DatabaseConflict,
    DatabaseError,
    DatabaseUnavailable,
    EmbeddingError,
    GenerationNotFound,
    InvalidQuery,
    ModelChanged,
    NoActiveGeneration,
    Transient,
    UsageError,
    VaultError,
    VaultlineError,
)
from pipelines.serving.drafts import DraftRefused
from pipelines.serving.workers import Overloaded, TookTooLong


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong, in the words of RFC 9457, with a code for programs."""

    status: int
    code: str
    detail: str

    def to_json(self) -> dict[str, object]:
        """The body of an answer of the type application/problem+json."""
        title = HTTPStatus(self.status).phrase
        return {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail, "code": self.code}

    @property
    def headers(self) -> dict[str, str]:
        """Transient problems say when to try again."""
        return {"Retry-After": "2"} if self.status == HTTPStatus.SERVICE_UNAVAILABLE else {}


NOT_FOUND = Problem(404, "not_found", "there is no such document in the index")
UNEXPECTED = Problem(500, "internal_error", "something went wrong here; the server's log says what")


def problem_of(error: Exception) -> Problem:
    """What to tell a caller of an error. Details that are not the caller's business stay in the log."""
    if isinstance(error, InvalidQuery | GenerationNotFound):
        return Problem(400, "invalid_query", str(error))
    if isinstance(error, UsageError):
        return Problem(500, "misconfigured", "a setting of the server is wrong; its log says which")
    if isinstance(error, Overloaded):
        return Problem(503, "overloaded", str(error))
    if isinstance(error, TookTooLong):
        return Problem(504, "timeout", str(error))
    if isinstance(error, NoActiveGeneration):
        return Problem(503, "not_indexed", "nothing is indexed yet: run `vaultline sync`")
    if isinstance(error, DatabaseUnavailable | DatabaseConflict):
        return Problem(503, "database_unavailable", "the database does not answer at the moment: try again")
    if isinstance(error, DatabaseError):
        return Problem(500, "database_error", "the database refused; the server's log says why")
    if isinstance(error, EmbeddingError | ModelChanged):
        if isinstance(error, Transient):
            return Problem(503, "embedder_unavailable", "the embedding model does not answer at the moment: try again")
        return Problem(500, "embedder_error", "the embedding model cannot be used; the server's log says why")
    if isinstance(error, DraftRefused):
        return Problem(409, "draft_refused", str(error))
    if isinstance(error, VaultError):
        return Problem(503, "vault_unavailable", "the vault cannot be written to; the server's log says why")
    if isinstance(error, VaultlineError):
        return Problem(500, "failed", "the request failed; the server's log says why")
    return UNEXPECTED
