"""PDFs from the outside: what is read, what is refused and why, and what is kept when a limit strikes (B09, B36)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.errors import DocumentError
from pipelines.parsing import isolation, pdf
from pipelines.parsing.document import ParsedDocument
from pipelines.parsing.isolation_worker import resident_bytes
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.pdf import parse_pdf
from tests.unit.parsing.pdf_samples import (
    both,
    columns,
    embedded_text,
    locked,
    make_pdf,
    scan,
    text,
    with_unreadable_layer,
)

DEFAULT = ParseOptions()
NO_OCR = ParseOptions(ocr_engine="off")
BODY = "El contrato entra en vigor el primer día del mes.\nCada parte guarda una copia firmada del mismo."


def page_texts(document: ParsedDocument) -> list[str]:
    return [document.text[page.start : page.end] for page in document.pages]


def origins(document: ParsedDocument) -> list[str]:
    return [page.origin for page in document.pages]


def check_contract(document: ParsedDocument) -> None:
    """Blocks and pages as document.py promises: in order, apart by white space only, lines counted in the text."""
    at = 0
    for block in document.blocks:
        assert at <= block.start < block.end
        assert not document.text[at : block.start].strip()
        assert block.line_start == document.text.count("\n", 0, block.start) + 1
        assert block.line_end == document.text.count("\n", 0, block.end) + 1
        at = block.end
    assert at == len(document.text)
    assert [page.number for page in document.pages] == list(range(1, len(document.pages) + 1))
    covered = " ".join(page_texts(document)).split()
    assert covered == document.text.split(), "every character belongs to a page"


# -- B09: pages are decided one by one


def test_b09_each_page_is_text_ocr_or_blank() -> None:
    document = parse_pdf(make_pdf(text("Portada digital"), scan("Anexo escaneado"), None), options=DEFAULT)
    assert origins(document) == ["text", "ocr", "blank"]
    assert page_texts(document) == ["Portada digital", "Anexo escaneado", ""]
    assert document.warnings == ()
    check_contract(document)


def test_b09b_a_digital_footer_over_a_scanned_body_keeps_both() -> None:
    footer = text("Confidencial - pagina 7 de 9", at=(72, 800), size=10)
    body = scan("Cuerpo escaneado del acta", box=(0, 40, 595, 780))
    document = parse_pdf(make_pdf(both(body, footer)), options=DEFAULT)
    assert origins(document) == ["mixed"]
    assert document.text == "Cuerpo escaneado del acta\n\nConfidencial - pagina 7 de 9"
    check_contract(document)


def test_a_digital_stamp_inside_a_scan_is_not_read_twice() -> None:
    stamp = text("Registrado 2024", at=(72, 120), size=14)
    document = parse_pdf(make_pdf(both(scan("Cuerpo del acta", box=(0, 0, 595, 842)), stamp)), options=DEFAULT)
    assert origins(document) == ["mixed"]
    assert document.text.count("2024") == 1
    assert "Cuerpo del acta" in document.text


def test_a_scan_with_a_text_layer_of_an_earlier_ocr_is_not_read_again() -> None:
    def invisible(page: object) -> None:
        page.insert_text((72, 220), "Capa de texto anterior", fontsize=12, render_mode=3)  # type: ignore[attr-defined]

    document = parse_pdf(make_pdf(both(scan("Otra cosa", box=(0, 0, 595, 842)), invisible)), options=DEFAULT)
    assert origins(document) == ["text"]
    assert document.text == "Capa de texto anterior"


def test_b09c_a_junk_text_layer_counts_as_none() -> None:
    words = "(cid:12)(cid:7)(cid:33)"
    data = make_pdf(both(text(words), scan("Texto legible")), text("Texto normal de la segunda hoja (cid:7) suelto"))
    document = parse_pdf(data, options=DEFAULT)
    assert origins(document) == ["ocr", "text"]
    assert "Texto legible" in page_texts(document)[0]
    assert page_texts(document)[1] == "Texto normal de la segunda hoja suelto"
    without = parse_pdf(data, options=NO_OCR)
    assert origins(without) == ["skipped", "text"]
    assert (without.pages[0].reason or "").startswith("its text layer is unreadable (100% of it are no characters)")


def test_b09c_a_font_without_a_unicode_map_is_read_from_its_picture() -> None:
    data = with_unreadable_layer(make_pdf(embedded_text("Recibo de compra")), to="e0")
    document = parse_pdf(data, options=DEFAULT)
    assert origins(document) == ["ocr"]
    assert document.text == "Recibo de compra"


def test_b09d_without_ocr_the_document_says_which_pages_are_missing() -> None:
    pages = [text("Portada"), scan("uno"), scan("dos"), None, scan("tres")]
    document = parse_pdf(make_pdf(*pages), options=NO_OCR)
    assert origins(document) == ["text", "skipped", "skipped", "blank", "skipped"]
    assert document.pages[1].reason == "it has no text layer; OCR is off (OCR_ENGINE=off)"
    assert document.warnings == ("pages not read (3 of 5): 2-3, 5: OCR is off (OCR_ENGINE=off)",)


def test_b09d_engine_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    document = parse_pdf(make_pdf(text("Portada"), scan("uno")), options=replace(DEFAULT, ocr_engine="tesseract"))
    assert origins(document) == ["text", "skipped"]
    assert "OCR is not installed" in (document.pages[1].reason or "")


def test_nothing_readable_at_all_is_said() -> None:
    document = parse_pdf(make_pdf(None, None), options=DEFAULT)
    assert document.text == ""
    assert document.warnings == ("no text was found on any page",)


# -- B36: locked, broken, not PDFs, enormous


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty: the file has 0 bytes"),
        (b"%PDF-1.7", "damaged"),
        (b"%PDF-1.7\n%%EOF\n", "damaged"),
        (b"<!DOCTYPE html><title>Login</title><p>Sign in", "not a PDF: it is a web page"),
        (b"\xef\xbb\xbf<html><p>Sign in", "not a PDF: it is a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "not a PDF: it is a Git LFS pointer"),
        (b"PK\x03\x04rest", "not a PDF: it is a ZIP"),
        (b"\x00" * 5000, "not a PDF: it begins with nothing but zeros"),
        (b"plain words", "not a PDF: it does not begin with %PDF-"),
        (b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
         b"trailer<</Root 1 0 R>>", "it has no pages"),
    ],
)  # fmt: skip
def test_b36_what_cannot_be_read_is_refused_in_plain_words(data: bytes, reason: str) -> None:
    with pytest.raises(DocumentError, match=f"^.*{reason}"):
        parse_pdf(data, options=DEFAULT)


def test_b36_a_user_password_is_refused_an_owner_password_is_not() -> None:
    plain = make_pdf(text("Solo para leer"))
    with pytest.raises(DocumentError, match=r"^needs a password"):
        parse_pdf(locked(plain, user="clave", owner="dueno"), options=DEFAULT)
    assert parse_pdf(locked(plain, owner="dueno"), options=DEFAULT).text == "Solo para leer"


def test_b36_a_file_cut_in_half_keeps_what_is_there_and_says_so() -> None:
    whole = make_pdf(*(text(f"Pagina {number}\n{BODY}") for number in range(1, 30)))
    document = parse_pdf(whole[: len(whole) // 2], options=NO_OCR)
    assert "Pagina 1" in document.text
    assert document.warnings[0].startswith("the file is damaged and was repaired while reading")


def test_b36_over_the_limit_of_ocr_pages_the_first_ones_are_kept() -> None:
    pages = [scan("Hoja primera"), scan("Hoja segunda"), scan("Hoja tercera"), text("Hoja cuarta")]
    document = parse_pdf(make_pdf(*pages), options=replace(DEFAULT, ocr_max_pages=2))
    assert page_texts(document) == ["Hoja primera", "Hoja segunda", "", "Hoja cuarta"]
    assert document.pages[2].reason == "it has no text layer; over the limit of 2 OCR pages (OCR_MAX_PAGES)"
    assert document.warnings == ("pages not read (1 of 4): 3: over the limit of 2 OCR pages (OCR_MAX_PAGES)",)


def test_b36_over_the_time_the_text_layers_are_kept() -> None:
    data = make_pdf(scan("Hoja primera"), text("Hoja segunda"))
    document = parse_pdf(data, options=replace(DEFAULT, pdf_max_seconds=0.001))
    assert page_texts(document)[1] == "Hoja segunda"
    assert "over the limit of" in (document.pages[0].reason or "")


def test_b36_over_the_limit_of_pages() -> None:
    document = parse_pdf(make_pdf(text("uno"), text("dos"), text("tres")), options=replace(NO_OCR, pdf_max_pages=2))
    assert page_texts(document) == ["uno", "dos", ""]
    assert document.pages[2].reason == "over the limit of 2 pages (PDF_MAX_PAGES)"


def test_b36_a_page_of_20000_pixels_a_side_is_drawn_within_the_limit() -> None:
    data = make_pdf(scan("Plano general", box=(0, 0, 7000, 2100)), size=(7200, 7200))
    document = parse_pdf(data, options=replace(DEFAULT, ocr_max_pixels=4_000_000))
    assert document.text == "Plano general"


def test_a_page_that_takes_the_worker_down_costs_that_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "TASK", "tests.unit.parsing.pdf_hazards:crash_on_page_two")
    document = parse_pdf(make_pdf(text("uno"), text("dos"), text("tres")), options=NO_OCR)
    assert origins(document) == ["text", "failed", "text"]
    assert page_texts(document) == ["uno", "", "tres"]
    assert "crashed" in (document.pages[1].reason or "")
    assert document.warnings[0].startswith("pages unreadable (1 of 3): 2: ")


def test_a_page_that_crashes_in_ocr_keeps_its_text_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "TASK", "tests.unit.parsing.pdf_hazards:crash_in_ocr")
    footer = text("Pie digital", at=(72, 800))
    data = make_pdf(both(scan("uno", box=(0, 0, 595, 700)), footer), text("Hoja segunda"), scan("tres"))
    document = parse_pdf(data, options=DEFAULT)
    assert page_texts(document) == ["Pie digital", "Hoja segunda", ""]
    assert origins(document) == ["text", "text", "skipped"]
    assert "crashed" in (document.pages[0].reason or "")
    assert "crashed" in (document.pages[2].reason or "")


def test_a_hang_keeps_the_pages_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "TASK", "tests.unit.parsing.pdf_hazards:hang_on_page_two")
    monkeypatch.setattr(pdf, "GRACE_SECONDS", 1.0)
    data = make_pdf(text("uno"), text("dos"), text("tres"))
    document = parse_pdf(data, options=replace(NO_OCR, pdf_max_seconds=1.0))
    assert page_texts(document) == ["uno", "", ""]
    assert origins(document) == ["text", "failed", "skipped"]


def test_a_file_that_takes_the_worker_down_at_once_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_pdf(text("uno"))
    with monkeypatch.context() as broken:
        broken.setattr(pdf, "TASK", "tests.unit.parsing.pdf_hazards:crash_at_once")
        with pytest.raises(DocumentError, match=r"cannot be read: the reading process crashed \(SIG"):
            parse_pdf(data, options=NO_OCR)
    assert parse_pdf(data, options=NO_OCR).text == "uno"


# -- the text layer


def test_columns_are_read_one_after_the_other_however_they_were_written() -> None:
    left = [f"izquierda {word} con palabras largas" for word in ("uno", "dos", "tres", "cuatro", "cinco")]
    right = [f"derecha {word} con palabras largas" for word in ("uno", "dos", "tres", "cuatro", "cinco")]
    for row_by_row in (False, True):
        data = make_pdf(columns(left, right, title="Titulo que cruza las dos columnas", row_by_row=row_by_row))
        words = parse_pdf(data, options=NO_OCR).text.split()
        assert " ".join(words) == " ".join(["Titulo que cruza las dos columnas", *left, *right])


def test_headings_title_and_outline() -> None:
    body = both(text("Manual", at=(72, 80), size=24), text("Alcance", at=(72, 130), size=16), text(BODY, at=(72, 160)))
    document = parse_pdf(make_pdf(body), options=NO_OCR)
    headings = [(block.level, document.text[block.start : block.end]) for block in document.blocks if block.level]
    assert headings == [(1, "Manual"), (2, "Alcance")]
    assert document.title == "Manual"
    check_contract(document)


def test_text_on_a_rotated_page_is_read_as_it_is_seen() -> None:
    def landscape(page: object) -> None:
        page.set_rotation(90)  # type: ignore[attr-defined]
        for row, line in enumerate(("primera linea", "segunda linea", "tercera linea")):
            page.insert_text((100 + 20 * row, 700), line, fontsize=12, rotate=90)  # type: ignore[attr-defined]

    document = parse_pdf(make_pdf(landscape), options=NO_OCR)
    assert document.text.split() == ["primera", "linea", "segunda", "linea", "tercera", "linea"]


def test_metadata_becomes_properties_and_never_raises() -> None:
    data = make_pdf(text("x y"), title="Informe anual", author="  Ana Ruiz ", modDate="D:20240305101500+01'00'")
    document = parse_pdf(data, options=NO_OCR)
    assert document.title == "Informe anual"
    assert document.properties["author"] == "Ana Ruiz"
    assert document.properties["page_count"] == 1
    assert document.declared_date == "2024-03-05T10:15:00+01:00"
    assert json.loads(json.dumps(document.properties)) == document.properties


def test_the_same_file_gives_the_same_document() -> None:
    data = make_pdf(text(BODY), scan("Anexo"))
    assert parse_pdf(data, options=DEFAULT) == parse_pdf(data, options=DEFAULT)


# -- real files


def manifest(shared_data: Path) -> list[dict[str, object]]:
    return list(json.loads((shared_data / "pdfs" / "manifest.json").read_text()))


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_all_shared_pdfs_have_the_right_outcome_and_text(shared_data: Path) -> None:
    problems, largest = [], 0
    for entry in manifest(shared_data):
        data = (shared_data / "pdfs" / str(entry["file"])).read_bytes()
        try:
            document = parse_pdf(data, options=DEFAULT)
            check_contract(document)
            outcome, content = ("text" if document.text else "empty"), document.text
        except DocumentError as refusal:
            outcome, content = ("needs-password" if "needs a password" in str(refusal) else "error"), ""
        if entry["outcome"] not in ("any", outcome):
            problems.append(f"{entry['file']}: {outcome} instead of {entry['outcome']}")
        wanted = entry["must_contain"] if entry["outcome"] == "text" else []
        assert isinstance(wanted, list)
        problems += [f"{entry['file']}: {words!r} not found" for words in wanted if words not in content]
        if isolation._worker is not None:
            largest = max(largest, resident_bytes(isolation._worker.process.pid))
    assert problems == []
    assert largest < 1.5e9
