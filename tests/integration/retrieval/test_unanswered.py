"""Unanswered questions are counted without personal data, and drafts never overwrite anything."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.errors import VaultUnavailable
from pipelines.retrieval import unanswered
from pipelines.retrieval.searcher import Searcher


def _ask(index: Any, searcher: Searcher, question: str, **overrides: Any) -> bool:
    return unanswered.record(index.database, searcher.search(question), index.settings.model_copy(update=overrides))


def test_questions_are_counted_in_whatever_way_they_are_typed(index: Any, searcher: Searcher) -> None:
    index.write("a.md", ["The depot opens at six."])
    assert _ask(index, searcher, "Where is the zeppelin?")
    assert _ask(index, searcher, "  where is the   ZEPPELIN ")
    assert _ask(index, searcher, "who paints quokkas")
    assert not _ask(index, searcher, "when does the depot open")
    rows = unanswered.most_asked(index.database)
    assert [(row.question, row.times) for row in rows] == [("where is the zeppelin", 2), ("who paints quokkas", 1)]
    assert rows[0].locale == "en"
    assert len(unanswered.most_asked(index.database, limit=1)) == 1


def test_nothing_is_kept_where_the_setting_says_so(index: Any, searcher: Searcher) -> None:
    assert not _ask(index, searcher, "where is the zeppelin", record_unanswered=False)
    assert unanswered.most_asked(index.database) == []


def test_contacts_secrets_and_names_are_masked(index: Any, searcher: Searcher) -> None:
    question = "why can Ana Pérez (ana@example.org, +34 600 123 456) not use password: hunter2hunter2 in zeppelins"
    assert _ask(index, searcher, question, parse_anonymize=("Ana Pérez",))
    kept = unanswered.most_asked(index.database)[0]
    for text in (kept.question, kept.asked):
        for private in ("ana", "example.org", "600", "hunter2"):
            assert private not in text.lower()
    assert "zeppelins" in kept.question


def test_drafts_are_written_once_and_over_nothing(index: Any, searcher: Searcher, tmp_path: Path) -> None:
    vault = index.settings.vault_path
    for question in ("Where is the zeppelin?", 'what says "../../etc" [[x]] of: quokkas', "¿Dónde está el dirigible?"):
        _ask(index, searcher, question)
    (vault / "agent_learnings").mkdir()
    taken = vault / "agent_learnings" / "Where is the zeppelin.md"
    taken.write_text("mine", encoding="utf-8")
    written = unanswered.export_drafts(index.database, vault)
    assert len(written) == 3
    assert taken.read_text(encoding="utf-8") == "mine"
    assert vault / "agent_learnings" / "Where is the zeppelin (2).md" in written
    for path in written:
        assert path.resolve().parent == (vault / "agent_learnings").resolve()
        frontmatter = yaml.safe_load(path.read_text(encoding="utf-8").split("---")[1])
        assert frontmatter["publish"] is False
        assert frontmatter["status"] == "draft"
    assert {path for path in vault.rglob("*") if path.is_file()} == {taken, *written}
    assert unanswered.export_drafts(index.database, vault) == []
    _ask(index, searcher, "Where is the zeppelin?")
    assert unanswered.export_drafts(index.database, vault) == []


def test_drafts_go_nowhere_else(index: Any, searcher: Searcher, tmp_path: Path) -> None:
    _ask(index, searcher, "Where is the zeppelin?")
    with pytest.raises(VaultUnavailable, match="not a folder"):
        unanswered.export_drafts(index.database, tmp_path / "missing")
    vault, outside = index.settings.vault_path, tmp_path / "outside"
    outside.mkdir()
    (vault / "agent_learnings").symlink_to(outside, target_is_directory=True)
    with pytest.raises(VaultUnavailable, match="is a link"):
        unanswered.export_drafts(index.database, vault)
    assert list(outside.iterdir()) == []
