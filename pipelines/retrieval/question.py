"""What is asked: the text, cleaned and bounded, and the filters."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal, get_args

from pipelines.errors import InvalidQuery
from pipelines.parsing.document import Json
from pipelines.storage.search import Filters
from pipelines.vault.folders import folder_key

Mode = Literal["hybrid", "vector", "text"]
MODES: tuple[str, ...] = get_args(Mode)

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Question:
    """A question ready to be asked. `notice` says what was done to it, if anything."""

    text: str
    filters: Filters
    k: int
    mode: Mode
    locale: str | None
    notice: str | None = None

    @property
    def language(self) -> str | None:
        """Language of the locale that was given: "es", "en", or "simple" for one without a stemmer here."""
        if self.locale is None:
            return None
        language = self.locale.lower().split("-")[0]
        return language if language in ("es", "en") else "simple"


def ask(
    query: str,
    *,
    k: int = 10,
    locale: str | None = None,
    folder: str | None = None,
    tags: Sequence[str] = (),
    properties: Mapping[str, Json] | None = None,
    since: datetime | date | str | None = None,
    until: datetime | date | str | None = None,
    source: str | None = None,
    sources: Sequence[str] | None = None,
    mode: str = "hybrid",
    most: int,
) -> Question:
    """Check and clean what a caller asks. Nothing in `query` is syntax.

    `most` bounds the characters. `since` is inclusive and `until` exclusive; both are ISO 8601 where they are
    text, and UTC where they carry no zone. Raises InvalidQuery, which names what is wrong.
    """
    text = " ".join(unicodedata.normalize("NFC", _UNSTORABLE.sub(" ", query)).split())
    if not text:
        raise InvalidQuery("the question is empty")
    if mode not in MODES:
        raise InvalidQuery(f"mode {mode!r} is not one of {', '.join(MODES)}")
    if k < 1:
        raise InvalidQuery("k must be 1 or more")
    notice = None
    if len(text) > most:
        notice = f"the question was cut to its first {most} characters"
        text = text[:most]
    folder = folder.strip("/") if folder else None
    return Question(
        text=text,
        filters=Filters(
            folders=None if folder is None else (folder, folder_key(folder)),
            prefix=None if folder is None else f"{folder}/",
            tags=tuple(tag.strip().lstrip("#").lower() for tag in tags),
            properties=dict(properties or {}),
            since=_moment(since, "since"),
            until=_moment(until, "until"),
            source=source,
            sources=None if sources is None else tuple(sources),
        ),
        k=k,
        mode="vector" if mode == "vector" else "text" if mode == "text" else "hybrid",
        locale=locale.strip().replace("_", "-") if locale and locale.strip() else None,
        notice=notice,
    )


def _moment(value: datetime | date | str | None, name: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise InvalidQuery(f"{name}={value!r} is not an ISO 8601 date, as in 2026-01-31") from None
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
