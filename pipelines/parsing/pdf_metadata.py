"""What a PDF says about itself, as far as it can be believed. Nothing here raises on what a file contains."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

from pipelines.parsing.document import Json
from pipelines.parsing.pdf_text import normalize_line

PROPERTIES = ("author", "subject", "keywords", "creator", "producer")

_DATE = re.compile(
    r"^\s*(?:D:)?\s*(?P<year>\d{4})(?:(?P<month>\d\d)(?:(?P<day>\d\d)(?:(?P<hour>\d\d)(?:(?P<minute>\d\d)(?P<second>\d\d)?)?)?)?)?"
    r"\s*(?:(?P<zone>[Zz+-])(?:(?P<zone_hour>\d\d)'?(?P<zone_minute>\d\d)?'?)?)?"
)
_PROGRAM_TITLE = re.compile(
    r"^(?:microsoft (?:word|powerpoint|excel|office|visio|publisher)|powerpoint presentation"
    r"|presentaci[oó]n de powerpoint|adobe photoshop|print job|pdf24|writer|untitled|sin t[ií]tulo|sans titre"
    r"|unbenannt|ohne titel|no title|title|document\d*|documento\d*|dokument\d*|presentation\d*|book\d+|libro\d+"
    r"|scan(?:ned)?|escaneado|image|img|binder\d*|slide \d+|diapositiva \d+|layout \d+|noname|none|null|test)\b",
    re.IGNORECASE,
)
_FILE_ENDINGS = "docx?|odt|rtf|pdf|pptx?|xlsx?|indd|qxd|qxp|dvi|tex|eps|ps|ai|cdr|html?|jpe?g|png|tiff?|pmd|fm|md|txt"
_WHOLE_JUNK = re.compile(
    rf"^(?:microsoft .*|.*\.(?:{_FILE_ENDINGS})|.*[\\/][^\\/ ]+\.\w+|[\W\d_]+"
    r"|(?:img|scan|dsc|doc|image)?[-_ ]?\d[\d_ -]*|[0-9a-f]{16,}|(?:https?|file|about):\S*)$",
    re.IGNORECASE,
)


def believable_title(title: object) -> str | None:
    """The title from a PDF's metadata, or None where a program or a file name stands in its place.

    `untitled`, `Microsoft Word - x.doc`, `Binder1.pdf`, `IMG_2041`, `sample_pdf` and the like are no titles.
    """
    if not isinstance(title, str):
        return None
    title = normalize_line(title)
    if len(title) < 3 or len(title) > 300 or _WHOLE_JUNK.match(title):
        return None
    match = _PROGRAM_TITLE.match(title)
    if match and (
        len(title) <= len(match[0]) + 4 or match[0].lower().startswith(("microsoft", "adobe", "powerpoint", "untitled"))
    ):
        return None
    if "_" in title and " " not in title:  # a file name without its ending
        return None
    return title


def iso_date(value: object) -> str | None:
    """A PDF date (`D:20161104181349-04'00'`, ISO 32000-1, 7.9.4) as ISO 8601; None for what is no date."""
    match = _DATE.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    part = {name: int(digits) if digits and digits.isdigit() else None for name, digits in match.groupdict().items()}
    zone = match["zone"]
    try:
        offset = timedelta(hours=part["zone_hour"] or 0, minutes=part["zone_minute"] or 0)
        moment = datetime(
            part["year"] or 0,
            part["month"] or 1,
            part["day"] or 1,
            part["hour"] or 0,
            part["minute"] or 0,
            part["second"] or 0,
            tzinfo=None if zone is None else timezone(-offset if zone == "-" else offset),
        )
    except ValueError:
        return None
    if not 1985 <= moment.year <= 2200:  # PDF is from 1993; zeros and overflows give years like 0001 and 9999
        return None
    if part["hour"] is None:
        return moment.date().isoformat()
    return moment.isoformat()


def declared_date(metadata: Mapping[str, object]) -> str | None:
    """When the content was last changed, or made; None where the file does not say."""
    return iso_date(metadata.get("modDate")) or iso_date(metadata.get("creationDate"))


def properties_of(metadata: Mapping[str, object], *, pages: int) -> dict[str, Json]:
    """Author, subject, keywords, programs, dates and the number of pages; only what is there."""
    result: dict[str, Json] = {}
    for name in PROPERTIES:
        value = metadata.get(name)
        text = normalize_line(value)[:2000] if isinstance(value, str) else ""
        if text:
            result[name] = text
    for name, key in (("created", "creationDate"), ("modified", "modDate")):
        moment = iso_date(metadata.get(key))
        if moment is not None:
            result[name] = moment
    result["page_count"] = pages
    return result
