"""Answers in a terminal and outside of one."""

import re
from datetime import UTC, datetime
from pathlib import Path

from pipelines.retrieval.passage import Passage, SearchResult
from pipelines.retrieval.render import highlighted, link, locate, render
from pipelines.settings import Settings


def _passage(**fields: object) -> Passage:
    base = {
        "source": "notas/Año nuevo.md", "ordinal": 0, "section": "Copias > Diarias", "lines": (12, 18), "pages": None,
        "content": "La configuración\nde las copias.", "score": 0.75, "similarity": 0.5, "locale": "es",
        "modified_at": datetime.now(UTC),
    }  # fmt: skip
    return Passage(**(base | fields))  # type: ignore[arg-type]


def _result(*passages: Passage, reason: str | None = None, query: str = "configuracion") -> SearchResult:
    return SearchResult(query, bool(passages), reason, 1, "fake/test-64", passages, 0.01)


def _settings(tmp_path: Path, **fields: object) -> Settings:
    return Settings.load(_env_file=None, vault_path=tmp_path, **fields)


def test_plain_text_has_no_escape_codes(tmp_path: Path) -> None:
    shown = render(_result(_passage()), settings=_settings(tmp_path), terminal=False)
    assert shown == ("1. notas/Año nuevo.md:12-18 (Copias > Diarias)\n   La configuración\n   de las copias.")
    assert "\x1b" not in shown


def test_a_terminal_gets_links_and_emphasis(tmp_path: Path) -> None:
    shown = render(_result(_passage()), settings=_settings(tmp_path), terminal=True)
    plain = re.sub(r"\x1b\]8;[^\x1b]*\x1b\\|\x1b\[[0-9;]*m", "", shown)
    assert "notas/Año nuevo.md:12" in plain
    assert f"{tmp_path.resolve().as_uri()}/notas/A%C3%B1o%20nuevo.md" in shown
    assert "\x1b[1mconfiguración\x1b[0m" in shown


def test_obsidian_links_by_setting(tmp_path: Path) -> None:
    settings = _settings(tmp_path, search_links="obsidian")
    target = link(_passage(), settings)
    assert target is not None
    assert target.startswith("obsidian://open?vault=")
    assert target.endswith("&file=notas%2FA%C3%B1o%20nuevo.md")
    assert link(_passage(), Settings.load(_env_file=None, vault_path=None)) is None


def test_links_lead_into_a_managed_clone_and_to_uploads(tmp_path: Path) -> None:
    cloned = Settings.load(_env_file=None, vault_git_url="https://git.example/x.git", vaultline_home=tmp_path / "home")
    assert link(_passage(), cloned) == f"{(tmp_path / 'home' / 'clone').as_uri()}/notas/A%C3%B1o%20nuevo.md"
    settings = _settings(tmp_path / "vault", uploads_path=tmp_path / "inbox", search_links="obsidian")
    assert link(_passage(source=".uploads/a b.pdf"), settings) == f"{tmp_path.as_uri()}/inbox/a%20b.pdf"


def test_no_answer_says_why(tmp_path: Path) -> None:
    for terminal in (True, False):
        shown = render(_result(reason="nothing was found"), settings=_settings(tmp_path), terminal=terminal)
        assert "No answer:" in shown
        assert "nothing was found" in shown


def test_a_note_cannot_drive_the_terminal(tmp_path: Path) -> None:
    hostile = _passage(content="a\x1b[2J\x07b [bold]c[/bold]\u202ed", source="x\n\x1b]0;y.md", section="[red]s[/red]")
    for terminal in (True, False):
        shown = render(_result(hostile), settings=_settings(tmp_path), terminal=terminal)
        assert "\x1b[2J" not in shown
        assert "\x1b]0" not in shown
        assert "\x07" not in shown
        assert "\u202e" not in shown
        assert "[bold]c[/bold]" in shown


def test_long_passages_are_cut_for_the_eye_only(tmp_path: Path) -> None:
    long = _passage(content="\n".join(f"line {number}" for number in range(40)))
    shown = render(_result(long), settings=_settings(tmp_path), terminal=False)
    assert "line 7" in shown
    assert "line 8" not in shown
    assert shown.endswith("…")


def test_places() -> None:
    assert locate(_passage()) == "notas/Año nuevo.md:12"
    assert locate(_passage(pages=(3, 4))) == "notas/Año nuevo.md"
    assert _passage(lines=(5, 5), section="").citation == "notas/Año nuevo.md:5"
    assert _passage(pages=(3, 4), section="").citation == "notas/Año nuevo.md pp. 3-4"


def test_words_are_emphasised_whatever_their_ending() -> None:
    text = highlighted("Las copias de la base; a copy of it", "copia bases of")
    assert [text.plain[span.start : span.end] for span in text.spans] == ["copias", "base"]
