"""What a provider's HTTP answer means. The only place that turns HTTP into Vaultline's errors.

401, 403                      ProviderRefused: the key
404, a refusal of the model   ModelUnavailable: the model's name or the address
400, 413, 422                 RequestRejected: this request as it is; smaller ones may pass
408, 425, 429, 5xx            ProviderBusy: later, after `retry_after` seconds where the server said so
429 for an empty account      ProviderRefused: waiting does not fill it
no answer                     ProviderBusy
"""

import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from pipelines.errors import EmbeddingError, ModelUnavailable, ProviderRefused, ProviderUnavailable, SettingsError

MAX_RETRY_AFTER = 120.0
"""Seconds: a longer wish of a server is not waited for in one go, it is tried again sooner."""

_SIZE = re.compile(
    r"(?=.*(token|length|context|input|batch|payload|size|large))"
    r"(?=.*(exceed|limit|max|too (many|long|large)|at most))",
    re.IGNORECASE | re.DOTALL,
)
_MODEL = re.compile(
    r"model.{0,80}(not (supported|found|exist|available)|does(n't| not) exist|unknown|invalid|unsupported)"
    r"|(unknown|invalid|unsupported|no such) model",
    re.IGNORECASE | re.DOTALL,
)
_ACCOUNT = re.compile(r"insufficient_quota|exceeded your current quota|billing|payment|credit balance", re.IGNORECASE)

log = logging.getLogger(__name__)


class ProviderBusy(ProviderUnavailable):
    """Not now. `retry_after` is what the server asked for in seconds, or None."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RequestRejected(ProviderRefused):
    """This request as it is will never pass. `size` says that it is too large, `inputs` that it has too many texts;
    `reason` is the provider's, cleaned."""

    def __init__(self, message: str, *, size: bool, reason: str) -> None:
        super().__init__(message)
        self.size = size
        self.reason = reason
        self.inputs = size and not re.search("token|context", reason, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Whom a request went to, and what must not appear in a message about it."""

    model: str
    address: str
    key_setting: str
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Endpoint({self.model} at {self.address})"


def error_of_status(
    endpoint: Endpoint, *, status: int, headers: Mapping[str, str], body: str, texts: Sequence[str] = ()
) -> EmbeddingError:
    """The error that an answer of this status means. `texts` are what was sent: they never get into the message."""
    said = clean(message_of(body), secrets=endpoint.secrets, texts=texts)
    where = f"{endpoint.model} at {endpoint.address}"
    log.warning("%s answered HTTP %d: %s", where, status, said)
    if status in (401, 403):
        return ProviderRefused(
            f"{where} refused the key (HTTP {status}): {said}. Check {endpoint.key_setting} and what it may use"
        )
    if status == 404 or (status in (400, 422) and _MODEL.search(said)):
        return ModelUnavailable(
            f"{where} was not found (HTTP {status}): {said}. Check the model's name in EMBEDDING_MODEL and the address"
        )
    if status == 402 or (status == 429 and _ACCOUNT.search(said)):
        return ProviderRefused(f"{where} wants to be paid first (HTTP {status}): {said}")
    if status in (408, 425, 429) or status >= 500:
        return ProviderBusy(
            f"{where} answered HTTP {status}: {said}",
            retry_after=retry_after_seconds(headers),
        )
    if status in (400, 413, 422):
        size = status == 413 or bool(_SIZE.search(said))
        return RequestRejected(f"{where} rejected the request (HTTP {status}): {said}", size=size, reason=said)
    return ProviderRefused(f"{where} answered HTTP {status}: {said}. Check the address")


def unreachable(endpoint: Endpoint, error: Exception) -> ProviderBusy:
    """The error of a request that got no answer: nobody there, cut off, or out of time."""
    what = "did not answer in time" if "timeout" in type(error).__name__.lower() else "cannot be reached"
    return ProviderBusy(f"{endpoint.model} at {endpoint.address} {what} ({type(error).__name__})")


def not_an_answer(endpoint: Endpoint, problem: str) -> ProviderRefused:
    """The error of an answer that reports success and holds no embeddings."""
    return ProviderRefused(f"{endpoint.model} at {endpoint.address} {problem}. Check the address and the model's name")


def message_of(body: str) -> str:
    """The words of an error body: of the usual JSON shapes, else of the text; markup is only named."""
    try:
        content: Any = json.loads(body)
    except ValueError:
        stripped = body.strip()
        return "a page of HTML instead of JSON" if stripped.startswith("<") else stripped or "no reason given"
    for _ in range(3):
        if isinstance(content, dict):
            content = next((content[key] for key in ("error", "detail", "message", "msg") if content.get(key)), content)
        elif isinstance(content, list) and content:
            content = content[0]
    return content if isinstance(content, str) else json.dumps(content)


def clean(message: str, *, secrets: Sequence[str], texts: Sequence[str] = (), longest: int = 300) -> str:
    """One line without keys; left out whole where it quotes 24 characters or more of a text that was sent."""
    for secret in filter(None, secrets):
        message = message.replace(secret, "***")
    line = " ".join(message.split())[:longest].rstrip(". ")
    sent = "\n".join(" ".join(text.split()) for text in texts)
    quoted = len(line) > 24 and any(line[at : at + 24] in sent for at in range(len(line) - 23))
    return "(its message quotes the text and is left out)" if sent and quoted else line


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Seconds from a `Retry-After` header, in its form of seconds or of a date (RFC 9110 section 10.2.3), capped."""
    value = next((headers[name] for name in headers if name.lower() == "retry-after"), "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        seconds = (when - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), MAX_RETRY_AFTER) if seconds == seconds else None


def checked_address(url: str, *, setting: str, key_setting: str) -> str:
    """A base URL without its last slash. Raises SettingsError for one that is no http(s) URL or holds a key."""
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(f"{setting} must be an address like http://localhost:11434/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SettingsError(f"{setting} must be a bare address: no user, password or query. Keys go in {key_setting}")
    return url.strip().rstrip("/")
