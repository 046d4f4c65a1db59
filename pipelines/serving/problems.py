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
    LlmMisbehaved,
    LlmRefused,
    LlmUnavailable,
    ModelChanged,
    NoActiveGeneration,
    SessionBusy,
    SessionFull,
    SessionNotFound,
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
        seconds = {HTTPStatus.SERVICE_UNAVAILABLE: "2", HTTPStatus.TOO_MANY_REQUESTS: "10"}.get(HTTPStatus(self.status))
        return {"Retry-After": seconds} if seconds else {}


class Refused(VaultlineError):
    """A request is refused with a problem that is ready to be told."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


NOT_FOUND = Problem(404, "not_found", "there is no such document in the index")
UNEXPECTED = Problem(500, "internal_error", "something went wrong here; the server's log says what")


def problem_of(error: Exception) -> Problem:
    """What to tell a caller of an error. Details that are not the caller's business stay in the log."""
    if isinstance(error, Refused):
        return error.problem
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
    if isinstance(error, SessionNotFound):
        return Problem(404, "session_not_found", str(error))
    if isinstance(error, SessionBusy):
        return Problem(409, "session_busy", str(error))
    if isinstance(error, SessionFull):
        return Problem(409, "session_full", str(error))
    if isinstance(error, LlmUnavailable):
        return Problem(503, "llm_unavailable", "the language model does not answer at the moment: try again")
    if isinstance(error, LlmMisbehaved):
        return Problem(502, "llm_misbehaved", "the language model came to no answer within its bounds")
    if isinstance(error, LlmRefused):
        return Problem(502, "llm_refused", "the language model refused the request; the server's log says why")
    if isinstance(error, DraftRefused):
        return Problem(409, "draft_refused", str(error))
    if isinstance(error, VaultError):
        return Problem(503, "vault_unavailable", "the vault cannot be written to; the server's log says why")
    if isinstance(error, VaultlineError):
        return Problem(500, "failed", "the request failed; the server's log says why")
    return UNEXPECTED
