"""What a person can choose about parsing. Every choice is part of the fingerprint of the files it affects, no others."""

from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

from pipelines.parsing.document import MediaType
from pipelines.settings import Settings

SecretPolicy = Literal["mask", "quarantine", "off"]
PublicationMode = Literal["all", "opt-in"]

MARKDOWN: tuple[MediaType, ...] = ("markdown",)
NOTES: tuple[MediaType, ...] = ("markdown", "canvas")
TEXTS: tuple[MediaType, ...] = ("markdown", "canvas", "text")
PDF: tuple[MediaType, ...] = ("pdf",)
EVERY: tuple[MediaType, ...] = ("markdown", "canvas", "text", "pdf")


def affects(media_types: tuple[MediaType, ...], default: Any, *, setting: str | None = None) -> Any:
    """A field of `ParseOptions`: its default, the media types whose result it can change, and its setting's name.

    The setting is called `parse_<field>` unless another name is given.
    """
    return field(default=default, metadata={"affects": media_types, "setting": setting})


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """Choices that change what parsing gives. The same options and bytes give the same document, on any machine.

    `max_characters` bounds a document's text and `max_run_characters` a run without white space (hex, base64);
    what is over is left out with a warning. `detect_languages` are the ISO 639-1 codes that detection chooses from.
    """

    max_characters: int = affects(EVERY, 5_000_000)
    max_run_characters: int = affects(EVERY, 20_000)
    detect_languages: tuple[str, ...] = affects(EVERY, ("en", "es"))

    publication: PublicationMode = affects(NOTES, "all")
    anonymize: tuple[str, ...] = affects(EVERY, ())
    secrets: SecretPolicy = affects(EVERY, "mask")
    mask_contacts: bool = affects(EVERY, False)

    keep_comments: bool = affects(NOTES, False)
    resolve_embeds: bool = affects(MARKDOWN, False)

    # -- PDF and OCR: fields of the PDF parser go between this line ...
    # -- ... and this one, each made with `affects(PDF, default)`

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Take every option from its setting."""
        return cls(
            **{one.name: getattr(settings, one.metadata["setting"] or f"parse_{one.name}") for one in fields(cls)}
        )
