"""OCR: which engine, which languages, accents, and pages that lie on their side (B37)."""

import importlib.util
import shutil
from dataclasses import replace

import pytest

from pipelines.errors import SettingsError
from pipelines.parsing import ocr, ocr_tesseract
from pipelines.parsing.ocr_reading import majority, ocr_line, settle_sizes
from pipelines.parsing.ocr_tesseract import language_problem, lines_of_table, split_codes
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.pdf import parse_pdf
from tests.unit.parsing.pdf_samples import SPANISH, make_pdf, scan, text

RAPID = ParseOptions(ocr_engine="rapidocr")
TESSERACT = ParseOptions(ocr_engine="tesseract", ocr_languages=("spa", "eng"))
LONGER = "Póliza de año: niño, señor, ¿qué?\nEl camión llegó a las tres por la mañana.\nConfiguración del equipo: útil."


# -- B37: turned pages and accents


@pytest.mark.parametrize("options", [RAPID, TESSERACT], ids=["rapidocr", "tesseract"])
def test_b37_turned_pages_read_like_the_upright_one(options: ParseOptions) -> None:
    in_picture = [scan(LONGER, turns=turns) for turns in range(4)]
    by_key = [scan(LONGER, rotate=degrees) for degrees in (90, 270)]
    document = parse_pdf(make_pdf(*in_picture, *by_key), options=options)
    pages = [document.text[page.start : page.end].split() for page in document.pages]
    assert pages == [LONGER.split()] * 6


def test_b37_one_short_line_keeps_its_accents_whichever_way_it_lies() -> None:
    document = parse_pdf(make_pdf(*(scan(SPANISH, turns=turns) for turns in range(4))), options=RAPID)
    assert [document.text[page.start : page.end] for page in document.pages] == [SPANISH] * 4


def test_b37_tesseract_tries_all_directions_where_it_cannot_tell_which() -> None:
    document = parse_pdf(make_pdf(scan(SPANISH, turns=1)), options=TESSERACT)
    assert document.text == SPANISH


# -- B37: languages


@pytest.mark.parametrize(
    ("languages", "words"),
    [
        (("es",), ["no language es", "installed: eng, spa", "Tesseract calls es spa"]),
        (("spa", "esp"), ["no language esp", "installed: eng, spa", "Did you mean spa?"]),
        (("fra",), ["no language fra", "tesseract-ocr-fra"]),
        (("osd",), ["no language osd"]),
        ((), ["OCR_LANGUAGES is empty", "eng, spa"]),
    ],
)
def test_b37_a_wrong_code_is_refused_with_the_installed_ones(languages: tuple[str, ...], words: list[str]) -> None:
    problem = language_problem(languages, ("eng", "osd", "spa"))
    assert problem is not None
    assert all(word in problem for word in words), problem


def test_b37_languages_may_be_written_as_tesseract_does() -> None:
    assert split_codes(("spa+eng", "fra")) == ("spa", "eng", "fra")
    assert language_problem(split_codes(("spa+eng",)), ("eng", "osd", "spa")) is None
    assert ocr.status(replace(TESSERACT, ocr_languages=("spa+eng",))).languages == ("spa", "eng")


def test_b37_a_wrong_language_is_found_at_the_start_and_spares_the_text_layer() -> None:
    wrong = replace(TESSERACT, ocr_languages=("es",))
    with pytest.raises(SettingsError, match="Tesseract calls es spa"):
        ocr.require(wrong)
    document = parse_pdf(make_pdf(text("Portada digital"), scan("Anexo")), options=wrong)
    assert document.text == "Portada digital"
    assert [page.origin for page in document.pages] == ["text", "skipped"]
    assert "OCR_LANGUAGES: tesseract has no language es" in document.warnings[0]


# -- which engine


def test_status_of_what_is_installed_here() -> None:
    rapid, tesseract, off = (ocr.status(one) for one in (ParseOptions(), TESSERACT, ParseOptions(ocr_engine="off")))
    assert (rapid.engine, rapid.problem) == ("rapidocr", None)
    assert rapid.version
    assert any("¡" in note for note in rapid.notes)
    assert (tesseract.engine, tesseract.languages) == ("tesseract", ("spa", "eng"))
    assert (off.engine, off.problem) == (None, "OCR is off (OCR_ENGINE=off)")
    assert ocr.require(ParseOptions(ocr_engine="off")) == off


def test_without_rapidocr_auto_takes_tesseract_and_then_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(ocr.util, "find_spec", lambda name: None if name == "rapidocr" else find(name))
    assert ocr.status(ParseOptions()).engine == "tesseract"
    with pytest.raises(SettingsError, match="pip install rapidocr"):
        ocr.require(RAPID)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    nothing = ocr.require(ParseOptions())
    assert nothing.engine is None
    assert "pip install rapidocr" in (nothing.problem or "")
    assert "tesseract-ocr-spa" in (nothing.problem or "")
    with pytest.raises(SettingsError, match="tesseract-ocr-spa"):
        ocr.require(TESSERACT)


def test_identity_changes_with_what_reads_and_with_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ocr.identity(ParseOptions()) == ocr.identity(replace(RAPID, ocr_languages=("eng",))) == "rapidocr"
    assert ocr.identity(TESSERACT) == "tesseract spa+eng"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert ocr.identity(TESSERACT) == ocr.identity(ParseOptions(ocr_engine="off")) == "none"


def test_a_tesseract_that_does_not_run_is_a_problem_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr_tesseract.shutil, "which", lambda name: "/bin/false")
    assert "does not run" in (ocr.status(TESSERACT).problem or "")


# -- pieces


def test_tesseracts_table_becomes_lines_without_what_it_is_not_sure_of() -> None:
    table = "\n".join(
        [
            "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext",
            "4\t1\t1\t1\t1\t0\t10\t10\t90\t20\t-1\t",
            '5\t1\t1\t1\t1\t1\t10\t10\t40\t20\t96.5\t"Hola',
            "5\t1\t1\t1\t1\t2\t60\t12\t40\t18\t95\tmundo",
            "5\t1\t1\t1\t2\t1\t10\t40\t40\t20\t12\t~~|",
        ]
    )
    lines, sureness = lines_of_table(table)
    assert [(line.text, line.box) for line in lines] == [('"Hola mundo', (10.0, 10.0, 100.0, 30.0))]
    assert sureness == pytest.approx(4 * 96.5 + 5 * 95)


def test_votes() -> None:
    assert majority([]) == 0
    assert majority([(2, 1.0), (0, 5.0), (2, 3.0)]) == 0
    assert majority([(2, 3.0), (0, 5.0), (2, 3.0)]) == 2


def test_sizes_near_the_middle_are_made_one_and_titles_left() -> None:
    lines = [ocr_line("x", (0, 0, 10, height)) for height in (20, 24, 18, 20, 60)]
    assert [line.size for line in settle_sizes(lines)] == [15, 15, 15, 15, 45]
    assert settle_sizes([]) == ()
