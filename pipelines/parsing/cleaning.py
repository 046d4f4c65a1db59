"""What happens to every document after it was read, whatever it was: rules of publication, bounds, secrets, names.

All of it happens before anything is stored, embedded or sent anywhere.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pipelines.errors import DocumentError
from pipelines.parsing.anonymize import (
    PLACEHOLDER,
    PLACEHOLDER_WORD,
    anonymize_text,
    joined_names,
    name_pattern,
    names_in,
)
from pipelines.parsing.contacts import find_contacts
from pipelines.parsing.document import Json, Link, ParsedDocument
from pipelines.parsing.locale import detect_locale
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.password_words import ORDINARY_WORDS
from pipelines.parsing.publication import exclusion_reason
from pipelines.parsing.secrets import find_secrets

SECRET_PLACEHOLDER = "[secret removed]"
MOST_LINES_NAMED = 20

_DATA_URI = re.compile(
    r"data:[\w/+.-]*(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/=%]{32,}"
    r"(?:\n[> ]*[A-Za-z0-9+/=]{60,})*(?:\n[> ]*[A-Za-z0-9+/]{4,}={1,2})?",
    re.IGNORECASE,
)
_PASSWORD_KEY = re.compile(r"(?:passw(?:or)?d|passphrase|pwd|contrase[ñn]a|contrasenya)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of the text that is replaced."""

    start: int
    end: int
    text: str


def clean(document: ParsedDocument, *, options: ParseOptions) -> ParsedDocument:
    """Apply publication rules, bounds, secrets, names and contacts to every field, and detect the language.

    Raises DocumentError, naming lines, where secrets are found and `options.secrets` is `quarantine`.
    """
    reason = exclusion_reason(document.properties, options.publication)
    if document.excluded_reason or reason:
        return ParsedDocument(text="", encoding=document.encoding, excluded_reason=document.excluded_reason or reason)
    names = joined_names(options.anonymize, names_in(document.properties))
    document = _bounded(document, options)
    if options.secrets != "off":
        document = _without_secrets(document, options)
    properties = {key: value for key, value in document.properties.items() if key.casefold().strip() not in _NAME_KEYS}
    document = replace(document, properties=properties)
    if pattern := name_pattern(names):
        document = _without_names(document, pattern)
    if options.mask_contacts:
        document = _without_contacts(document)
    return replace(document, detected_locale=detect_locale(document, options.detect_languages))


_NAME_KEYS = frozenset(("anonymize", "anonymise", "anonimizar"))


def apply_edits(document: ParsedDocument, edits: Iterable[Edit]) -> ParsedDocument:
    """Replace parts of the text, and move blocks and pages along. Edits that overlap are made into one.

    A block whose whole text is replaced together with its neighbour's keeps no text, and is left out.
    """
    merged: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if merged and edit.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Edit(last.start, max(last.end, edit.end), last.text)
        else:
            merged.append(edit)
    if not merged:
        return document
    parts, at = [], 0
    starts, ends, shifts, shift = [], [], [], 0
    for edit in merged:
        parts += [document.text[at : edit.start], edit.text]
        at = edit.end
        starts.append(edit.start)
        ends.append(edit.end)
        shift += len(edit.text) - (edit.end - edit.start)
        shifts.append(shift)
    parts.append(document.text[at:])

    def moved(offset: int) -> int:
        """Where an offset is in the new text; within a part that was replaced, the end of what replaced it."""
        number = bisect_right(starts, offset) - 1
        if number < 0:
            return offset
        if offset >= ends[number]:
            return offset + shifts[number]
        if offset == starts[number]:
            return offset + (shifts[number - 1] if number else 0)
        return ends[number] + shifts[number]

    blocks = [replace(block, start=moved(block.start), end=moved(block.end)) for block in document.blocks]
    pages = [replace(page, start=moved(page.start), end=moved(page.end)) for page in document.pages]
    return replace(
        document,
        text="".join(parts),
        blocks=tuple(block for block in blocks if block.start < block.end),
        pages=tuple(pages),
    )


def _bounded(document: ParsedDocument, options: ParseOptions) -> ParsedDocument:
    """Embedded data and endless runs made short, and the text cut at the bound; each with a warning."""
    text = document.text
    edits = []
    if "data:" in text or "DATA:" in text:
        for match in _DATA_URI.finditer(text):
            edits.append(Edit(*match.span(), "[embedded data]" + "\n" * match.group().count("\n")))
    warnings = list(document.warnings)
    most = options.max_run_characters
    if len(text) > most:
        for match in re.finditer(rf"\S{{{most + 1},}}", text):
            if any(edit.start <= match.start() and match.end() <= edit.end for edit in edits):
                continue
            edits.append(Edit(match.start() + most, match.end(), ""))
            warnings.append(
                f"line {line_at(document, match.start())}: {match.end() - match.start():,} characters without a space; "
                f"only the first {most:,} were kept"
            )
    document = apply_edits(replace(document, warnings=tuple(warnings)), edits)
    if len(document.text) > options.max_characters:
        document = _cut(document, options.max_characters)
    return document


def _cut(document: ParsedDocument, most: int) -> ParsedDocument:
    end = document.text.rfind("\n", most // 2, most) if "\n" in document.text[most // 2 : most] else most
    kept = len(document.text[:end].rstrip())
    blocks = tuple(replace(block, end=min(block.end, kept)) for block in document.blocks if block.start < kept)
    pages = tuple(replace(page, start=min(page.start, kept), end=min(page.end, kept)) for page in document.pages)
    note = f"the text has {len(document.text):,} characters; only the first {kept:,} were kept (PARSE_MAX_CHARACTERS)"
    return replace(document, text=document.text[:kept], blocks=blocks, pages=pages, warnings=(*document.warnings, note))


def _without_secrets(document: ParsedDocument, options: ParseOptions) -> ParsedDocument:
    secrets = find_secrets(document.text)
    places: dict[str, None] = {}
    for secret in secrets[:1_000]:
        places.setdefault(f"{_place(document, secret.start)} ({secret.kind})")
    edits = [
        Edit(one.start, one.end, SECRET_PLACEHOLDER + "\n" * document.text.count("\n", one.start, one.end))
        for one in secrets
    ]
    document = apply_edits(document, edits)
    masked = _map_strings(document, _mask_secrets, _mask_property)
    if masked != document:
        places.setdefault("metadata")
    if not places:
        return document
    listed = ", ".join([*places][:MOST_LINES_NAMED]) + (
        f" and {len(places) - MOST_LINES_NAMED} more" if len(places) > MOST_LINES_NAMED else ""
    )
    if options.secrets == "quarantine":
        raise DocumentError(f"secrets found at {listed}: take them out of the file, or set PARSE_SECRETS to mask")
    return replace(masked, warnings=(*masked.warnings, f"secrets removed at {listed}"))


def _mask_secrets(text: str) -> str:
    secrets = find_secrets(text)
    for secret in reversed(secrets):
        text = text[: secret.start] + SECRET_PLACEHOLDER + text[secret.end :]
    return text


def _mask_property(key: str, text: str) -> str:
    """A property's text: all of it where its name says that it is a password, otherwise judged as `name: text`."""
    if _PASSWORD_KEY.search(key) and len(text) >= 4 and text.casefold() not in ORDINARY_WORDS:
        return SECRET_PLACEHOLDER
    named = f"{key}: {text}"
    for secret in reversed(find_secrets(named)):
        if secret.start >= len(named) - len(text):
            named = named[: secret.start] + SECRET_PLACEHOLDER + named[secret.end :]
    return named[len(key) + 2 :]


def _without_names(document: ParsedDocument, pattern: re.Pattern[str]) -> ParsedDocument:
    edits = [
        Edit(*found.span(), PLACEHOLDER + "\n" * found.group().count("\n")) for found in pattern.finditer(document.text)
    ]
    document = apply_edits(document, edits)
    return _map_strings(
        document,
        lambda text: anonymize_text(text, pattern),
        word=lambda text: anonymize_text(text, pattern, PLACEHOLDER_WORD),
    )


def _without_contacts(document: ParsedDocument) -> ParsedDocument:
    def mask(text: str) -> str:
        for start, end, placeholder in sorted(find_contacts(text), reverse=True):
            text = text[:start] + placeholder + text[end:]
        return text

    document = apply_edits(document, [Edit(*found) for found in find_contacts(document.text)])
    return _map_strings(document, mask)


def _map_strings(
    document: ParsedDocument,
    change: Callable[[str], str],
    change_property: Callable[[str, str], str] | None = None,
    *,
    word: Callable[[str], str] | None = None,
) -> ParsedDocument:
    """The document with every text outside `text` changed: title, properties with their keys, tags, aliases, links."""
    word = word or change
    of_property = change_property or (lambda _key, text: change(text))

    def converted(key: str, value: Json) -> Json:
        if isinstance(value, str):
            return of_property(key, value)
        if isinstance(value, list):
            return [converted(key, item) for item in value]
        if isinstance(value, dict):
            return {change(name): converted(name, item) for name, item in value.items()}
        if isinstance(value, int | float) and not isinstance(value, bool):
            changed = of_property(key, str(value))
            return value if changed == str(value) else changed
        return value

    links = tuple(
        Link(word(one.target), word(one.anchor) if one.anchor else one.anchor, one.kind) for one in document.links
    )
    return replace(
        document,
        title=change(document.title) if document.title else document.title,
        properties={change(key): converted(key, value) for key, value in document.properties.items()},
        tags=tuple(map(word, document.tags)),
        aliases=tuple(map(change, document.aliases)),
        links=links,
    )


def line_at(document: ParsedDocument, offset: int) -> int:
    """The file's line, from 1, at an offset of the text; exact within blocks whose lines are the file's."""
    number = bisect_right(document.blocks, offset, key=lambda block: block.start) - 1
    if number < 0:
        return 1
    block = document.blocks[number]
    return min(block.line_start + document.text.count("\n", block.start, offset), block.line_end)


def _place(document: ParsedDocument, offset: int) -> str:
    page = next((page.number for page in document.pages if page.start <= offset < page.end), None)
    return f"page {page}" if page is not None else f"line {line_at(document, offset)}"
