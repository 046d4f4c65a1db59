"""What a person can choose about parsing.

Every choice is part of the fingerprint of the files it affects, and of no others.
"""

from dataclasses import dataclass, field, fields
from typing import Literal, Self

from pipelines.settings import Settings

SecretPolicy = Literal["mask", "quarantine", "off"]
PublicationMode = Literal["all", "opt-in"]
OcrEngine = Literal["auto", "rapidocr", "tesseract", "off"]

# Metadata of a field: the media types whose result it can change. A field's setting is called `parse_<field>`
# unless its metadata says otherwise: `metadata=PDF | {"setting": "ocr_engine"}`.
MARKDOWN = {"affects": ("markdown",)}
NOTES = {"affects": ("markdown", "canvas")}
PDF = {"affects": ("pdf",)}
EVERY = {"affects": ("markdown", "canvas", "text", "pdf")}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """Choices that change what parsing gives. The same options and bytes give the same document, on any machine.

    `max_characters` bounds a document's text and `max_run_characters` a run without white space (hex, base64);
    what is over is left out with a warning. `detect_languages` are the ISO 639-1 codes that detection chooses from.
    """

    max_characters: int = field(default=5_000_000, metadata=EVERY)
    max_run_characters: int = field(default=20_000, metadata=EVERY)
    detect_languages: tuple[str, ...] = field(default=("en", "es"), metadata=EVERY)

    publication: PublicationMode = field(default="all", metadata=EVERY)
    anonymize: tuple[str, ...] = field(default=(), metadata=EVERY)
    secrets: SecretPolicy = field(default="mask", metadata=EVERY)
    mask_contacts: bool = field(default=False, metadata=EVERY)

    keep_comments: bool = field(default=False, metadata=NOTES)
    resolve_embeds: bool = field(default=False, metadata=MARKDOWN)

    # -- PDF and OCR: fields of the PDF parser go between this line ...
    ocr_engine: OcrEngine = field(default="auto", metadata=PDF | {"setting": "ocr_engine"})
    ocr_languages: tuple[str, ...] = field(default=("spa", "eng"), metadata=PDF | {"setting": "ocr_languages"})
    ocr_dpi: int = field(default=200, metadata=PDF | {"setting": "ocr_dpi"})
    ocr_image_share: float = field(default=0.25, metadata=PDF | {"setting": "ocr_image_share"})
    ocr_max_pages: int = field(default=300, metadata=PDF | {"setting": "ocr_max_pages"})
    ocr_max_pixels: int = field(default=20_000_000, metadata=PDF | {"setting": "ocr_max_pixels"})
    pdf_max_pages: int = field(default=5_000, metadata=PDF | {"setting": "pdf_max_pages"})
    pdf_max_seconds: float = field(default=600.0, metadata=PDF | {"setting": "pdf_max_seconds"})
    pdf_max_memory_mb: int = field(default=1_400, metadata=PDF | {"setting": "pdf_max_memory_mb"})
    # -- ... and this one, each made with `field(default=..., metadata=PDF)`

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Take every option from its setting."""
        names = {one.name: one.metadata.get("setting", f"parse_{one.name}") for one in fields(cls)}
        return cls(**{name: getattr(settings, setting) for name, setting in names.items()})
