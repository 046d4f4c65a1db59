"""What a note's properties say about it: title, tags, aliases, date, language."""

import re
from collections.abc import Iterable
from datetime import date, datetime

from pipelines.parsing.document import Json

MOST_TAGS = 1_000
_DATE_KEYS = (
    "updated",
    "modified",
    "lastmod",
    "last_modified",
    "date modified",
    "modificado",
    "actualizado",
    "date",
    "fecha",
    "created",
    "date created",
    "creado",
)
_LOCALE_KEYS = ("lang", "locale", "language", "idioma")
_LOCALE = re.compile(r"[a-zA-Z]{2,3}(?:[-_][a-zA-Z0-9]{2,8})*$")
_LOCALE_NAMES = {
    "english": "en", "inglés": "en", "ingles": "en", "spanish": "es", "español": "es", "espanol": "es",
    "castellano": "es", "french": "fr", "français": "fr", "german": "de", "deutsch": "de", "portuguese": "pt",
    "português": "pt", "italian": "it", "italiano": "it", "catalan": "ca", "català": "ca", "中文": "zh",
}  # fmt: skip


def find(properties: dict[str, Json], *names: str) -> Json:
    """Value of the first of `names` that is there with a value, whatever its case."""
    folded = {key.casefold().strip(): value for key, value in reversed(properties.items())}
    return next((folded[name] for name in names if folded.get(name) is not None), None)


def title_of(properties: dict[str, Json]) -> str | None:
    """The title in the properties: one line, or None."""
    value = find(properties, "title", "título", "titulo")
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return " ".join(str(value).split())[:500] or None
    return None


def words_of(value: Json, *, separators: str = r",|\n") -> list[str]:
    """A property that is a list of words, however it was written: list, one string, words between commas."""
    if isinstance(value, dict):
        return words_of(list(value))
    if isinstance(value, list):
        return [word for item in value for word in words_of(item, separators=r"\n")]
    if value is None or isinstance(value, bool):
        return []
    return [word for part in re.split(separators, str(value)) if (word := part.strip())]


def tags_of(properties: dict[str, Json], inline: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """All tags without `#`, each once, in the order of their first place; and whether some were too many."""
    written = [word for key in ("tags", "tag") for word in words_of(find(properties, key), separators=r"[,\s]")]
    unique = dict.fromkeys(tag for word in [*written, *inline] if (tag := word.strip().lstrip("#").strip("/")))
    return tuple(unique)[:MOST_TAGS], len(unique) > MOST_TAGS


def aliases_of(properties: dict[str, Json]) -> tuple[str, ...]:
    """Other names of the note."""
    return tuple(dict.fromkeys(word for key in ("aliases", "alias") for word in words_of(find(properties, key))))[
        :MOST_TAGS
    ]


def locale_of(properties: dict[str, Json]) -> str | None:
    """The language that the note says it has: an ISO 639 code in lower case without region, or None."""
    value = find(properties, *_LOCALE_KEYS)
    if not isinstance(value, str):
        return None
    named = _LOCALE_NAMES.get(value.strip().casefold())
    return named or (re.split("[-_]", value.strip())[0].lower() if _LOCALE.match(value.strip()) else None)


def date_of(properties: dict[str, Json]) -> str | None:
    """The content's date in ISO 8601: of the last change where it is given, otherwise of its making."""
    for key in _DATE_KEYS:
        value = find(properties, key)
        if isinstance(value, str) and (found := _iso_date(value.strip())):
            return found
    return None


def _iso_date(written: str) -> str | None:
    short = re.sub(r"(?<=\d)\s+(?=[+-]\d|Z)", "", written)
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}|\d{8}", short):
            return date.fromisoformat(short).isoformat()
        moment = datetime.fromisoformat(short)
    except ValueError:
        return _european_date(written)
    return moment.isoformat()


def _european_date(written: str) -> str | None:
    """`24/05/2026` and `2026/05/24`; none where the day may be the month (America writes that first)."""
    numbers = re.fullmatch(r"(\d{1,4})[/.](\d{1,2})[/.](\d{1,4})", written)
    if not numbers:
        return None
    first, second, third = (int(number) for number in numbers.groups())
    try:
        if first > 31:
            return date(first, second, third).isoformat()
        if third > 31 and first > 12:
            return date(third, second, first).isoformat()
    except ValueError:
        pass
    return None
