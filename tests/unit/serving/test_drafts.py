"""Drafts are new files in one folder of the vault, whatever they are called."""

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.errors import VaultUnavailable
from pipelines.parsing.publication import exclusion_reason
from pipelines.serving import drafts
from pipelines.serving.drafts import DraftRefused, write_draft


def properties(text: str) -> dict[str, object]:
    found = yaml.safe_load(text.split("---\n")[1])
    assert isinstance(found, dict)
    return found


def test_a_draft_is_a_note_that_is_not_published(tmp_path: Path) -> None:
    path = write_draft(
        tmp_path, title="Reset: the *portal*", content="Use it.\r\nTwice.", tags=["ops"], sources=["a.md"]
    )
    text = (tmp_path / path).read_text()
    assert path.startswith("agent_learnings/")
    found = properties(text)
    assert exclusion_reason(found, "all") is not None  # type: ignore[arg-type]
    assert (found["title"], found["tags"], found["sources"]) == ("Reset: the *portal*", ["ops"], ["a.md"])
    assert text.endswith("# Reset: the *portal*\n\nUse it.\nTwice.\n")


def test_the_same_title_never_overwrites(tmp_path: Path) -> None:
    paths = [write_draft(tmp_path, title="Same", content=str(number)) for number in range(3)]
    assert len(set(paths)) == 3
    assert [(tmp_path / path).read_text()[-2] for path in paths] == ["0", "1", "2"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(title=st.text(max_size=300), content=st.text(max_size=50))
def test_no_title_leaves_the_folder_or_the_frontmatter(tmp_path: Path, title: str, content: str) -> None:
    folder = tmp_path / "agent_learnings"
    before = set(folder.iterdir()) if folder.exists() else set()
    try:
        path = write_draft(tmp_path, title=title, content=content)
    except DraftRefused:
        for draft in folder.iterdir():
            draft.unlink()
        return
    [new] = set(folder.iterdir()) - before
    assert tmp_path / path == new
    assert set(tmp_path.iterdir()) == {folder}
    assert not new.name.startswith(".")
    assert len(new.name.encode()) < 200
    assert exclusion_reason(properties(new.read_text()), "all") is not None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "title", ["../../etc/passwd", "..\\..\\x", "/etc/passwd", "a/b", ".hidden", "\x00", "---\nrag: true"]
)
def test_hostile_titles_are_only_names(tmp_path: Path, title: str) -> None:
    path = write_draft(tmp_path, title=title, content="---\npublish: true\n---")
    assert (tmp_path / path).parent == tmp_path / "agent_learnings"
    assert properties((tmp_path / path).read_text())["publish"] is False


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere, vault = tmp_path / "elsewhere", tmp_path / "vault"
    elsewhere.mkdir()
    vault.mkdir()
    (vault / "agent_learnings").symlink_to(elsewhere)
    with pytest.raises(DraftRefused, match="link"):
        write_draft(vault, title="Title", content="text")
    assert not list(elsewhere.iterdir())


def test_a_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / write_draft(tmp_path, title="Title", content="text")
    target = tmp_path / "note.md"
    target.write_text("mine")
    path.unlink()
    path.symlink_to(target)
    assert tmp_path / write_draft(tmp_path, title="Title", content="text") != path
    assert target.read_text() == "mine"


def test_too_many_drafts_wait_for_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MOST_DRAFTS", 2)
    for _ in range(2):
        write_draft(tmp_path, title="Title", content="text")
    with pytest.raises(DraftRefused, match="a person"):
        write_draft(tmp_path, title="Other", content="text")


def test_a_vault_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(VaultUnavailable):
        write_draft(tmp_path / "missing", title="Title", content="text")
