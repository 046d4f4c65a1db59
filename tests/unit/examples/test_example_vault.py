"""The example vault and its golden set hold together: links, quotations, languages, what must stay out, the PDF."""

import importlib.util
import json
import re
import unicodedata
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pymupdf
import pytest
import yaml
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
VAULT = EXAMPLES / "vault"
PDF = "runbooks/plan-de-continuidad.pdf"
TEXT = "runbooks/contactos-proveedores.txt"
CANVAS = "onboarding/arquitectura.canvas"
WITHOUT_FRONTMATTER = {"README.md": "en", PDF: "es", TEXT: "es", CANVAS: "es"}
PLANTED = "AKIAIOSFODNN7EXAMPLE"

FRONTMATTER = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
FENCE = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1\s*$", re.DOTALL | re.MULTILINE)
INLINE_CODE = re.compile(r"`[^`\n]+`")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
BLOCK_ID = re.compile(r" \^([a-z0-9-]+)$", re.MULTILINE)
WIKILINK = re.compile(r"(!?)\[\[([^\]|#\\]*)(?:#([^\]|\\]*))?(?:\\?\|([^\]]*))?\]\]")


def files() -> list[str]:
    return sorted(path.relative_to(VAULT).as_posix() for path in VAULT.rglob("*") if path.is_file())


def notes() -> list[str]:
    return [source for source in files() if source.endswith(".md")]


@cache
def raw(source: str) -> str:
    return (VAULT / source).read_text(encoding="utf-8")


@cache
def properties(source: str) -> dict[str, Any]:
    match = FRONTMATTER.match(raw(source)) if source.endswith(".md") else None
    return yaml.safe_load(match[1]) if match else {}


def locale(source: str) -> str:
    return str(properties(source).get("lang") or WITHOUT_FRONTMATTER[source])


def published(source: str) -> bool:
    return properties(source).get("rag") is not False and properties(source).get("draft") is not True


@cache
def body(source: str) -> str:
    """What a reader may quote: no frontmatter, no comments; a PDF's text layer; a canvas' texts."""
    if source.endswith(".pdf"):
        with pymupdf.open(VAULT / source) as document:  # type: ignore[no-untyped-call]
            return "\n".join(page.get_text() for page in document)
    if source.endswith(".canvas"):
        nodes = json.loads(raw(source))["nodes"]
        return "\n\n".join(node.get("text", "") for node in nodes)
    return COMMENT.sub("", FRONTMATTER.sub("", raw(source)))


@cache
def headings(source: str) -> frozenset[str]:
    return frozenset(HEADING.findall(FENCE.sub("", body(source))))


@cache
def golden() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (EXAMPLES / "golden.jsonl").read_text(encoding="utf-8").splitlines()]


def answerable() -> list[dict[str, Any]]:
    return [entry for entry in golden() if not entry.get("unanswerable")]


def unanswerable() -> list[dict[str, Any]]:
    return [entry for entry in golden() if entry.get("unanswerable")]


def find_note(target: str) -> list[str]:
    """The files a wikilink's target may mean: by full path or by name, as Obsidian resolves them."""
    wanted = target if Path(target).suffix in {".md", ".pdf", ".canvas", ".txt"} else f"{target}.md"
    return [source for source in files() if wanted in (source, Path(source).name)]


def links(source: str) -> list[tuple[str, str, str, str]]:
    """Every wikilink outside code: its exclamation mark, target, anchor and alias."""
    return WIKILINK.findall(INLINE_CODE.sub("", FENCE.sub("", body(source))))


def load_make_pdf() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_pdf", EXAMPLES / "make_pdf.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- the vault


def test_vault_has_the_promised_kinds_of_file() -> None:
    assert {Path(source).suffix for source in files()} == {".md", ".txt", ".pdf", ".canvas"}
    assert 28 <= len(notes()) <= 40
    folders = {source.split("/")[0] for source in files() if "/" in source}
    assert folders == {"conventions", "runbooks", "adr", "glossary", "postmortems", "onboarding"}
    assert "README.md" in notes()


def test_size_is_what_a_demo_can_index_quickly() -> None:
    total = sum((VAULT / source).stat().st_size for source in files() if not source.endswith(".pdf"))
    assert 90_000 <= total <= 140_000


@pytest.mark.parametrize("source", notes())
def test_note_is_clean_utf8_of_a_sensible_length(source: str) -> None:
    text = raw(source)
    assert source == unicodedata.normalize("NFC", source)
    assert text == unicodedata.normalize("NFC", text)
    assert "\r" not in text
    assert text.endswith("\n")
    assert 15 <= len(text.splitlines()) <= 200


@pytest.mark.parametrize("source", notes())
def test_frontmatter_says_language_owner_and_tags(source: str) -> None:
    if source in WITHOUT_FRONTMATTER:
        assert not properties(source)
        return
    assert properties(source)["lang"] in {"es", "en"}
    assert properties(source)["owner"]
    assert properties(source)["tags"]


def test_about_half_of_the_notes_are_in_each_language() -> None:
    spanish = sum(locale(source) == "es" for source in notes())
    assert 0.4 <= spanish / len(notes()) <= 0.6


def test_names_of_notes_are_unique_so_that_links_mean_one_file() -> None:
    names = [Path(source).name.casefold() for source in files()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("source", notes())
def test_headings_and_block_ids_are_unique_in_a_note(source: str) -> None:
    text = FENCE.sub("", body(source))
    for found in (HEADING.findall(text), BLOCK_ID.findall(text)):
        assert len(found) == len(set(found))


@pytest.mark.parametrize("source", notes())
def test_every_wikilink_resolves(source: str) -> None:
    for _, target, anchor, _ in links(source):
        found = find_note(target) if target else [source]
        assert len(found) == 1, f"{source}: [[{target}]] means {found}"
        if anchor.startswith("^"):
            assert anchor[1:] in BLOCK_ID.findall(body(found[0])), f"{source}: [[{target}#{anchor}]]"
        elif anchor:
            assert anchor in headings(found[0]), f"{source}: [[{target}#{anchor}]]"


@pytest.mark.parametrize("source", notes())
def test_every_note_can_be_reached(source: str) -> None:
    """Only the notes that stay out of the index may be orphans."""
    linked = {
        find_note(target)[0] for other in notes() if other != source for _, target, _, _ in links(other) if target
    }
    assert source in linked or not published(source)


def test_vault_shows_every_kind_of_markup_that_the_parser_must_read() -> None:
    everything = "\n".join(body(source) for source in notes())
    found = [link for source in notes() for link in links(source)]
    assert any(mark == "!" and target.endswith(".canvas") for mark, target, _, _ in found)
    assert any(mark == "!" and anchor for mark, _, anchor, _ in found)
    assert any(anchor.startswith("^") for _, _, anchor, _ in found)
    assert any(anchor and not target for _, target, anchor, _ in found)
    assert any(alias for _, _, _, alias in found)
    assert {"bash", "sql", "python", "yaml", "json"} <= {language for _, language, _ in FENCE.findall(everything)}
    assert len(re.findall(r"^> \[!\w+\][+-]? ?", everything, re.MULTILINE)) >= 12
    assert re.search(r"^> \[!\w+\]-", everything, re.MULTILINE), "a folded callout"
    assert re.search(r"^\[\^\w+\]: ", everything, re.MULTILINE), "a footnote"
    assert re.search(r"^- \[ \] ", everything, re.MULTILINE), "an open task"
    assert re.search(r"^- \[x\] ", everything, re.MULTILINE), "a finished task"
    assert re.search(r"\\\|", everything), "an escaped bar inside a table"
    assert "[[ $? -ne 0 ]]" in everything, "double brackets that are code and no link"


def test_vault_holds_what_must_stay_out_of_the_index() -> None:
    assert [source for source in notes() if properties(source).get("rag") is False] == ["onboarding/es/Entrevistas.md"]
    assert [source for source in notes() if properties(source).get("draft") is True] == [
        "adr/0018 Search engine for tracking.md"
    ]
    assert [source for source in notes() if COMMENT.search(raw(source))] == ["Inicio.md"]


def test_only_the_planted_secret_looks_like_a_secret() -> None:
    plugins = ["AWSKeyDetector", "PrivateKeyDetector", "JwtTokenDetector", "BasicAuthDetector", "GitHubTokenDetector"]
    with transient_settings({"plugins_used": [{"name": name} for name in plugins]}):
        found = [
            (source, secret.secret_value)
            for source in (*notes(), TEXT, CANVAS)
            for line in raw(source).splitlines()
            for secret in scan_line(line)
        ]
    assert found == [("runbooks/Rotación de secretos.md", PLANTED)]


def test_canvas_is_whole() -> None:
    canvas = json.loads(raw(CANVAS))
    ids = [node["id"] for node in canvas["nodes"]]
    every_id = ids + [edge["id"] for edge in canvas["edges"]]
    assert len(every_id) == len(set(every_id))
    assert all(edge[end] in ids for edge in canvas["edges"] for end in ("fromNode", "toNode"))
    assert all(node["file"] in files() for node in canvas["nodes"] if node["type"] == "file")


# -- the PDF


def test_pdf_is_what_the_script_makes(tmp_path: Path) -> None:
    """By text and geometry, since another PyMuPDF may compress otherwise."""
    load_make_pdf().make_pdf(tmp_path / "made.pdf")
    with pymupdf.open(tmp_path / "made.pdf") as made, pymupdf.open(VAULT / PDF) as kept:  # type: ignore[no-untyped-call]
        assert made.page_count == kept.page_count == 2
        assert made.metadata == kept.metadata
        for number in range(2):
            assert made[number].get_text("words") == kept[number].get_text("words")


def test_pdf_is_the_same_at_every_run(tmp_path: Path) -> None:
    module = load_make_pdf()
    module.make_pdf(tmp_path / "one.pdf")
    module.make_pdf(tmp_path / "two.pdf")
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()


def test_pdf_has_accents_and_a_table() -> None:
    assert {"Prioridades de recuperación", "Pérdida de la región principal"} <= {
        line.split(". ", 1)[-1] for line in body(PDF).splitlines()
    }
    with pymupdf.open(VAULT / PDF) as document:  # type: ignore[no-untyped-call]
        table = document[0].find_tables().tables[0].extract()
    assert table[0] == ["Servicio", "Orden", "RTO", "RPO", "Sin él no se puede"]
    assert len(table) == 8


def test_pdf_script_refuses_a_page_that_is_too_long() -> None:
    with pymupdf.open() as document:  # type: ignore[no-untyped-call]
        page = document.new_page(width=595, height=842)
        with pytest.raises(ValueError, match="points too long"):
            load_make_pdf().draw_page(page, [("text", "palabra " * 2000)])


# -- the golden set


def test_golden_set_is_large_enough_in_both_languages() -> None:
    assert len(answerable()) >= 70
    assert len(unanswerable()) >= 25
    for group, least in ((answerable(), 30), (unanswerable(), 12)):
        for language in ("es", "en"):
            assert sum(entry["locale"] == language for entry in group) >= least


def test_golden_questions_are_unique() -> None:
    questions = [entry["question"].casefold() for entry in golden()]
    assert len(questions) == len(set(questions))


def test_golden_lines_have_the_contracts_keys_only() -> None:
    for entry in golden():
        assert set(entry) <= {"question", "locale", "relevant", "unanswerable"}
        assert entry["question"].strip() == entry["question"] != ""
        assert entry["locale"] in {"es", "en"}
        assert bool(entry["relevant"]) is not bool(entry.get("unanswerable"))
        for passage in entry["relevant"]:
            assert {"source", "contains"} <= set(passage) <= {"source", "section", "contains"}


@pytest.mark.parametrize("entry", answerable(), ids=lambda entry: entry["question"][:50])
def test_golden_passages_exist(entry: dict[str, Any]) -> None:
    for passage in entry["relevant"]:
        source, quotation = passage["source"], passage["contains"]
        assert source in files()
        assert published(source), f"{source} stays out of the index"
        assert quotation in body(source), f"{quotation!r} is not in {source}"
        if "section" in passage:
            assert passage["section"] in headings(source), f"{source} has no section {passage['section']!r}"
            assert quotation in section_text(source, passage["section"])
        # Whatever a parser does with markup, line breaks and table cells, these words stay together.
        assert not re.search(r"[*`|\[\]\n~]", quotation)
        assert PLANTED not in quotation


def section_text(source: str, section: str) -> str:
    """From the section's heading to the next heading of the same or a higher level."""
    lines = body(source).splitlines()
    start = next(number for number, line in enumerate(lines) if re.fullmatch(rf"#+ {re.escape(section)}", line))
    level = len(lines[start]) - len(lines[start].lstrip("#"))
    fenced, kept = False, [lines[start]]
    for line in lines[start + 1 :]:
        fenced ^= line.startswith("```")
        if not fenced and re.match(rf"#{{1,{level}}} ", line):
            break
        kept.append(line)
    return "\n".join(kept)


def test_cross_lingual_questions_go_both_ways() -> None:
    for language in ("es", "en"):
        asked = [entry for entry in answerable() if entry["locale"] == language]
        crossing = [e for e in asked if all(locale(passage["source"]) != language for passage in e["relevant"])]
        assert len(crossing) >= 8


def test_golden_set_covers_most_of_the_published_vault() -> None:
    asked = {passage["source"] for entry in answerable() for passage in entry["relevant"]}
    assert set(files()) - asked <= {source for source in files() if not published(source)}


def test_golden_set_asks_in_many_ways() -> None:
    questions = [entry["question"] for entry in answerable()]
    spanish = [entry["question"] for entry in answerable() if entry["locale"] == "es"]
    assert sum(bool(re.search(r"CRV-\d{4}|INC-\d{4}|\w+\.\w+\.\w+|\w+_\w+", question)) for question in questions) >= 8
    assert sum(len(question.split()) <= 3 for question in questions) >= 8, "keyword queries"
    assert sum(len(question.split()) >= 12 for question in questions) >= 8, "long questions"
    assert sum(question.isascii() for question in spanish) >= 15, "typed without accents"


def test_some_unanswerable_questions_are_answered_only_by_what_stays_out() -> None:
    """They catch an index that leaks the draft, the private note or the comment."""
    questions = {entry["question"] for entry in unanswerable()}
    assert "Which search engine did we choose for the tracking page?" in questions
    assert "How many points do I need to pass the interview exercise?" in questions
    assert "se congela alguna vacante del equipo hasta 2027" in questions
