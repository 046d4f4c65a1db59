"""The front door: the bytes of one file -> a `ParsedDocument`, whatever the file is."""

import hashlib
from dataclasses import fields, replace
from pathlib import PurePosixPath

from pipelines.parsing.canvas import parse_canvas
from pipelines.parsing.cleaning import clean
from pipelines.parsing.document import MediaType, ParsedDocument
from pipelines.parsing.encoding import decode
from pipelines.parsing.note import ResolveEmbed, parse_note
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.publication import exclusion_reason
from pipelines.parsing.text import parse_text

# Raise a number by hand when the same bytes give another document than before: stored documents of that media type are
# then made again, and no others.
VERSIONS: dict[MediaType, int] = {"markdown": 1, "text": 1, "canvas": 1, "pdf": 1}

_EXTENSIONS: dict[str, MediaType] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".mdx": "markdown",
    ".qmd": "markdown",
    ".txt": "text",
    ".text": "text",
    ".log": "text",
    ".pdf": "pdf",
    ".canvas": "canvas",
}


def media_type_of(source: str) -> MediaType | None:
    """How a file is read, by its extension; None: it is not."""
    return _EXTENSIONS.get(PurePosixPath(source).suffix.lower())


def parse(
    data: bytes, *, media_type: MediaType, options: ParseOptions, resolve_embed: ResolveEmbed | None = None
) -> ParsedDocument:
    """Parse a file's bytes. The result does not depend on the file's name or place.

    `resolve_embed` gives the source text of the note that the target of `![[target]]` names, or None; it is asked only
    where `options.resolve_embeds` is on. Raises DocumentError with the reason that a person reads in the quarantine.
    """
    if media_type == "pdf":
        if reason := exclusion_reason({}, options.publication):
            return ParsedDocument(text="", excluded_reason=reason)  # a PDF cannot say that it is published
        from pipelines.parsing.pdf import parse_pdf

        return clean(parse_pdf(data, options=options), options=options)
    decoded = decode(data)
    text, warnings = _bounded(decoded.text, options)
    if media_type == "markdown":
        document = parse_note(text, options=options, resolve_embed=resolve_embed)
    elif media_type == "canvas":
        document = parse_canvas(decoded.text, options=options)
    else:
        document = parse_text(text)
    return clean(
        replace(document, encoding=decoded.encoding, warnings=(*decoded.warnings, *warnings, *document.warnings)),
        options=options,
    )


def parser_fingerprint(media_type: MediaType, options: ParseOptions) -> str:
    """16 hexadecimal characters that change when parsing a file of that type could give something else."""
    chosen = [
        f"{one.name}={getattr(options, one.name)!r}" for one in fields(options) if media_type in one.metadata["affects"]
    ]
    written = "\n".join([f"{media_type} {VERSIONS[media_type]}", *sorted(chosen)])
    return hashlib.blake2b(written.encode(), digest_size=8).hexdigest()


def _bounded(text: str, options: ParseOptions) -> tuple[str, list[str]]:
    """The text up to the bound, at a line's end, so that nothing is parsed in vain; and a warning where it was cut."""
    most = options.max_characters
    if len(text) <= most:
        return text, []
    end = text.rfind("\n", most // 2, most)
    kept = text[: end if end > 0 else most]
    return kept, [
        f"the file has {len(text):,} characters; only the first {len(kept):,} were kept (PARSE_MAX_CHARACTERS)"
    ]
