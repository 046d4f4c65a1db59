"""Which language a document is in."""

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from pipelines.parsing.document import ParsedDocument

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier  # type: ignore[import-untyped]

# Characters of prose that are looked at, and letters below which nothing is said. Measured on 527 notes and 2,531
# paragraphs in English and Spanish: docs/decisions/0003-parsing.md.
SAMPLE = 600
FEWEST_LETTERS = 25
LEAST_CERTAIN = 0.8

_loading = Lock()

# Folders that hold one language each, as documentation sites lay them out; ISO 639-1.
_FOLDERS = frozenset(
    str.split(
        "ar bg ca cs da de el en es et eu fa fi fr gl he hi hr hu id it ja ko lt lv nb nl no pl pt ro ru sk sl sr sv th"
        " tr uk vi zh"
    )
)


def detect_locale(document: ParsedDocument, languages: tuple[str, ...]) -> str | None:
    """The likeliest of `languages` for the document's prose, or None where there is too little to say."""
    if not languages:
        return None
    sample = _prose(document)
    if sum(map(str.isalpha, sample)) < FEWEST_LETTERS:
        return None
    if len(languages) == 1:
        return languages[0]
    language, certainty = load_identifier(languages).classify(sample)
    return str(language) if certainty >= LEAST_CERTAIN else None


def locale_for(source: str, document: ParsedDocument, *, default: str) -> str:
    """The document's language: what it says, or the language folder it is in, or what it looks like, or `default`."""
    if document.declared_locale:
        return document.declared_locale
    for part in reversed(source.split("/")[:-1]):
        language = part.lower().replace("_", "-").split("-")[0]
        if language in _FOLDERS and (len(part) == 2 or (len(part) == 5 and part[2] in "-_")):
            return language
    return document.detected_locale or default


def _prose(document: ParsedDocument) -> str:
    """Beginning of the document's sentences, without code and tables where there is enough else."""
    parts: list[str] = []
    length = 0
    for block in document.blocks:
        if block.kind in ("paragraph", "list", "quote", "heading"):
            parts.append(document.text[block.start : min(block.end, block.start + SAMPLE)])
            length += len(parts[-1])
            if length >= SAMPLE:
                break
    return "\n".join(parts)[:SAMPLE] if length >= FEWEST_LETTERS else document.text[:SAMPLE]


def load_identifier(languages: tuple[str, ...]) -> "LanguageIdentifier":
    """The model that tells `languages` apart, loaded once: it takes half a second to decompress."""
    with _loading:  # who comes while it is being loaded waits for it
        return _load(languages)


@cache
def _load(languages: tuple[str, ...]) -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = set(identifier.labels if not callable(identifier.labels) else identifier.labels())
    identifier.set_languages([language for language in languages if language in known] or None)
    return identifier
