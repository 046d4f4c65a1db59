"""Dates from git: of the content, through renames, branches and merges (B34)."""

import os
import random
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree

import pytest

from pipelines.vault.git_history import git_dates, head_commit
from tests.unit.vault.conftest import Repository

HOUR = 3600
START = 1_600_000_000


def at(hour: int) -> int:
    return START + hour * HOUR


def hours(repository: Repository, root: Path | None = None) -> dict[str, int]:
    """Dates in hours since the start of the history."""
    dates = git_dates(root or repository.root)
    assert dates.warnings == ()
    return {source: (int(date.at.timestamp()) - START) // HOUR for source, date in dates.items()}


def test_a_date_is_the_authors_with_its_commit(repository: Repository) -> None:
    repository.write("a.md")
    commit = repository.commit(at=START)
    dates = git_dates(repository.root)
    assert dates["a.md"].at == datetime.fromtimestamp(START, UTC)
    assert dates["a.md"].at.utcoffset() is not None
    assert dates["a.md"].commit == commit
    assert head_commit(repository.root) == commit


def test_the_author_counts_and_not_who_rebased(repository: Repository) -> None:
    repository.write("a.md")
    repository.commit(at=at(0))
    repository.git("commit", "--quiet", "--amend", "--no-edit", "--date", f"{at(1)} +0000", at=at(9))
    assert hours(repository) == {"a.md": 1}


def test_each_file_has_its_own_newest_commit(repository: Repository) -> None:
    repository.write("a.md", "1")
    repository.write("b.md", "1")
    repository.commit(at=at(0))
    repository.write("a.md", "2")
    repository.commit(at=at(1))
    repository.commit(at=at(2), message="nothing")
    assert hours(repository) == {"a.md": 1, "b.md": 0}


def test_content_that_comes_back_has_the_date_of_its_return(repository: Repository) -> None:
    for hour, text in enumerate(["one", "two", "one"]):
        repository.write("a.md", text)
        repository.commit(at=at(hour))
    assert hours(repository) == {"a.md": 2}


def test_a_rename_keeps_the_date_and_a_rename_with_an_edit_renews_it(repository: Repository) -> None:
    text = "".join(f"line {number}\n" for number in range(50))
    repository.write("pure.md", text)
    repository.write("edited.md", text + "another\n")
    repository.commit(at=at(0))
    repository.git("mv", "pure.md", "a folder.md")
    repository.git("mv", "edited.md", "renamed.md")
    repository.write("renamed.md", text + "another one\n")
    repository.commit(at=at(1))
    os.makedirs(repository.path("sub"))  # noqa: PTH103
    repository.git("mv", "a folder.md", "sub/x.md")
    repository.commit(at=at(2))
    assert hours(repository) == {"sub/x.md": 0, "renamed.md": 1}


def test_a_rename_there_and_back(repository: Repository) -> None:
    repository.write("a.md", "text")
    repository.commit(at=at(0))
    for hour, (old, new) in enumerate([("a.md", "b.md"), ("b.md", "a.md"), ("a.md", "b.md")], start=1):
        repository.git("mv", old, new)
        repository.commit(at=at(hour))
    assert hours(repository) == {"b.md": 0}


def test_two_files_that_swap_their_names_keep_their_dates(repository: Repository) -> None:
    repository.write("a.md", "the text of a")
    repository.commit(at=at(0))
    repository.write("b.md", "the text of b")
    repository.commit(at=at(1))
    repository.git("mv", "a.md", "c.md")
    repository.git("mv", "b.md", "a.md")
    repository.git("mv", "c.md", "b.md")
    repository.commit(at=at(2))
    assert set(hours(repository).values()) <= {0, 1, 2}  # to git a swap is two edits
    assert set(hours(repository)) == {"a.md", "b.md"}


def test_a_new_file_under_an_old_name_is_new(repository: Repository) -> None:
    repository.write("a.md", "old")
    repository.commit(at=at(0))
    repository.git("rm", "--quiet", "a.md")
    repository.commit(at=at(1))
    repository.write("a.md", "new")
    repository.commit(at=at(2))
    assert hours(repository) == {"a.md": 2}


def test_a_copy_is_as_new_as_the_copying(repository: Repository) -> None:
    repository.write("template.md", "text")
    repository.commit(at=at(0))
    repository.write("copy.md", "text")
    repository.commit(at=at(5))
    assert hours(repository) == {"copy.md": 5, "template.md": 0}


def test_a_whole_folder_of_equal_files_is_renamed(repository: Repository) -> None:
    for number in range(5):
        repository.write(f"Ideas/{number}.md", "the same in each")
    repository.commit(at=at(0))
    repository.git("mv", "Ideas", "ideas")
    repository.commit(at=at(1))
    assert hours(repository) == {f"ideas/{number}.md": 0 for number in range(5)}


ODD = [
    "Reunión año.md",
    'Árbol "b".md',
    "vieja nota.md",
    "two\nlines.md",
    "tab\t.md",
    "日本.md",
    ":colon.md",
    "\x01.md",
    " x.md",
]


def test_names_of_any_kind(repository: Repository) -> None:
    for hour, name in enumerate(ODD):
        repository.write(f"carpeta\nrara/{name}", name)
        repository.commit(at=at(hour))
    repository.write(b"canci\xf3n.md", "latin")
    repository.write("An\u0303o.md", "decomposed")
    repository.commit(at=at(50))
    expected = {f"carpeta\nrara/{name}": hour for hour, name in enumerate(ODD)}
    assert hours(repository) == {**expected, r"canci\363n.md": 50, "Año.md": 50}
    below = repository.root / "carpeta\nrara"
    assert hours(repository, below) == {name: hour for hour, name in enumerate(ODD)}


# -- branches and merges


def test_a_merge_changes_no_date(repository: Repository) -> None:
    repository.write("a.md", "1")
    repository.write("b.md", "1")
    repository.commit(at=at(0))
    repository.git("checkout", "--quiet", "-b", "branch")
    repository.write("a.md", "2")
    repository.commit(at=at(1))
    repository.git("checkout", "--quiet", "main")
    repository.write("b.md", "2")
    repository.commit(at=at(2))
    repository.git("merge", "--quiet", "--no-edit", "branch", at=at(9))
    assert hours(repository) == {"a.md": 1, "b.md": 2}


@pytest.mark.parametrize(("rename", "edit"), [(1, 2), (2, 1)])
def test_a_rename_on_one_branch_and_an_edit_on_the_other(repository: Repository, rename: int, edit: int) -> None:
    text = "".join(f"line {number}\n" for number in range(50))
    repository.write("a.md", text)
    repository.commit(at=at(0))
    repository.git("checkout", "--quiet", "-b", "branch")
    repository.git("mv", "a.md", "b.md")
    repository.commit(at=at(rename))
    repository.git("checkout", "--quiet", "main")
    repository.write("a.md", text + "more\n")
    repository.commit(at=at(edit))
    repository.git("merge", "--quiet", "--no-edit", "branch", at=at(9))
    assert hours(repository) == {"b.md": edit}


def test_what_a_merge_itself_writes_has_the_merges_date(repository: Repository) -> None:
    repository.write("a.md", "base\n")
    repository.commit(at=at(0))
    repository.git("checkout", "--quiet", "-b", "branch")
    repository.write("a.md", "theirs\n")
    repository.commit(at=at(1))
    repository.git("checkout", "--quiet", "main")
    repository.write("a.md", "ours\n")
    repository.commit(at=at(2))
    repository.git("merge", "branch", at=at(3), check=False)
    repository.write("a.md", "ours and theirs\n")
    repository.commit(at=at(3))
    assert hours(repository) == {"a.md": 3}


def test_a_merge_of_three_branches(repository: Repository) -> None:
    repository.write("base.md")
    repository.commit(at=at(0))
    for hour, name in enumerate(["one", "two", "three"], start=1):
        repository.git("checkout", "--quiet", "-b", name, "main")
        repository.write(f"{name}.md", name)
        repository.commit(at=at(hour))
    repository.git("checkout", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-edit", "one", "two", "three", at=at(9))
    assert hours(repository) == {"base.md": 0, "one.md": 1, "three.md": 3, "two.md": 2}


def test_a_history_with_two_beginnings(repository: Repository) -> None:
    repository.write("a.md")
    repository.commit(at=at(0))
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.git("rm", "--quiet", "-rf", ".")
    repository.write("b.md")
    repository.commit(at=at(1))
    repository.git("merge", "--quiet", "--no-edit", "--allow-unrelated-histories", "main", at=at(2))
    assert hours(repository) == {"a.md": 0, "b.md": 1}


def test_clocks_that_disagree(repository: Repository) -> None:
    """A child older than its parent, as machines with wrong clocks commit: the newest commit counts, not date."""
    repository.write("a.md", "1")
    repository.commit(at=at(10))
    repository.write("a.md", "2")
    repository.commit(at=at(5))
    repository.git("mv", "a.md", "b.md")
    repository.commit(at=at(1))
    assert hours(repository) == {"b.md": 5}


def test_clocks_that_disagree_on_branches(repository: Repository) -> None:
    """By dates alone git would show the first commit before the branch that renames its file."""
    repository.write("a.md", "text")
    repository.commit(at=at(80))
    repository.git("checkout", "--quiet", "-b", "branch")
    repository.write("c.md")
    repository.commit(at=at(5))
    repository.git("mv", "a.md", "b.md")
    repository.commit(at=at(10))
    repository.git("checkout", "--quiet", "main")
    repository.write("d.md")
    repository.commit(at=at(90))
    repository.git("merge", "--quiet", "--no-edit", "branch", at=at(95))
    assert hours(repository) == {"b.md": 80, "c.md": 5, "d.md": 90}


@pytest.mark.parametrize("seed", range(4))
def test_any_history_of_edits_renames_copies_and_deletions(repository: Repository, seed: int) -> None:
    """A model that knows the right date of each file, against one pass over what git recorded."""
    chance = random.Random(seed)
    expected: dict[str, int] = {}
    for hour in range(25):
        for _ in range(chance.randint(1, 3)):
            name = f"{chance.choice('ab')}/{hour}-{chance.randrange(10**6)} ñ.md"
            known = sorted(path for path, since in expected.items() if since != hour)
            action = chance.choice(["add", "edit", "move", "move and edit", "delete"]) if known else "add"
            old = chance.choice(known) if known else ""
            if action in ("move", "move and edit", "delete"):
                (repository.root / old).unlink() if action != "move" else None
                if action == "move":
                    (repository.root / name).parent.mkdir(exist_ok=True)
                    (repository.root / old).rename(repository.root / name)
                    expected[name] = expected[old]
                del expected[old]
            if action in ("add", "edit", "move and edit"):
                path = old if action == "edit" else name
                repository.write(path, f"{hour} {name}")
                expected[path] = hour
        repository.commit(at=at(hour))
    assert hours(repository) == expected


# -- which files have a date


def test_changes_that_are_not_committed_have_none(repository: Repository) -> None:
    for name in ["same.md", "edited.md", "staged.md", "deleted.md", "renamed.md", "touched.md", "año nuevo.md"]:
        repository.write(name, name)
    repository.commit(at=at(0))
    repository.write("edited.md", "x")
    repository.write("año nuevo.md", "x")
    repository.write("staged.md", "x")
    repository.git("add", "staged.md")
    repository.git("mv", "renamed.md", "new name.md")
    os.utime(repository.path("touched.md"), (1, 1))
    repository.write("untracked.md")
    (repository.root / "deleted.md").unlink()
    assert sorted(hours(repository)) == ["same.md", "touched.md"]


def test_links_and_submodules_have_none(repository: Repository, tmp_path: Path) -> None:
    repository.write("a.md")
    repository.link("link.md", "a.md")
    repository.commit(at=at(0))
    other = Repository(tmp_path / "other")
    other.root.mkdir()
    other.git("init", "--quiet")
    other.write("b.md")
    other.commit(at=at(0))
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.root), "sub")
    repository.commit(at=at(1))
    assert hours(repository) == {".gitmodules": 1, "a.md": 0}


def test_only_the_files_asked_for(repository: Repository) -> None:
    for hour, name in enumerate(["a.md", "An\u0303o.md", "c.md"]):
        repository.write(name)
        repository.commit(at=at(hour))
    dates = git_dates(repository.root, only=["An\u0303o.md".encode(), b"c.md", b"unknown.md"])
    assert sorted(dates) == ["Año.md", "c.md"]
    assert git_dates(repository.root, only=[]) == {}


def test_a_vault_that_is_a_folder_of_the_repository(repository: Repository) -> None:
    repository.write("docs/año/a.md", "a")
    repository.write("other/b.md", "b")
    repository.write("docs2/c.md", "c")
    first = repository.commit(at=at(0))
    repository.write("docs/año/new.md", "n")
    repository.commit(at=at(1))
    repository.git("mv", "other/b.md", "docs/b.md")
    repository.git("mv", "docs/año/a.md", "docs/año/moved.md")
    repository.write("docs/año/new.md", "not committed")
    repository.git("commit", "--quiet", "--message", "move", at=at(2))
    docs = repository.root / "docs"
    assert hours(repository, docs) == {"año/moved.md": 0, "b.md": 2}
    assert git_dates(docs, only=["año/moved.md".encode()])["año/moved.md"].commit == first
    assert head_commit(docs) == head_commit(repository.root)


def test_a_work_tree_beside_its_repository(repository: Repository, tmp_path: Path) -> None:
    repository.write("a.md")
    repository.commit(at=at(0))
    repository.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    assert hours(repository, tmp_path / "side") == {"a.md": 0}


# -- when git has no answer


def test_outside_of_a_repository_no_process_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    (tmp_path / "a.md").write_text("x")
    assert head_commit(tmp_path) is None
    assert git_dates(tmp_path) == {}
    assert git_dates(tmp_path).warnings == ()


def test_before_the_first_commit(repository: Repository) -> None:
    repository.write("a.md")
    assert head_commit(repository.root) is None
    assert hours(repository) == {}


def test_a_repository_whose_last_note_was_deleted(repository: Repository) -> None:
    repository.write("a.md")
    repository.commit(at=at(0))
    repository.git("rm", "--quiet", "a.md")
    repository.commit(at=at(1))
    repository.root.mkdir(exist_ok=True)
    assert hours(repository) == {}


def test_without_git_the_result_is_empty_and_says_so(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.write("a.md")
    repository.commit(at=at(0))
    monkeypatch.setenv("PATH", "")
    assert head_commit(repository.root) is None
    dates = git_dates(repository.root)
    assert dates == {}
    assert dates.warnings == ("git: git is not installed or not on PATH; no dates are taken from git",)


def test_a_repository_of_another_user(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.write("a.md")
    repository.commit(at=at(0))
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # git's own switch for its test of this
    dates = git_dates(repository.root)
    assert dates == {}
    (warning,) = dates.warnings
    assert "belongs to another user" in warning
    assert "safe.directory" in warning
    assert head_commit(repository.root) is None


@pytest.mark.parametrize("damage", ["HEAD", "objects"])
def test_a_damaged_repository_is_a_warning(repository: Repository, damage: str) -> None:
    repository.write("a.md")
    repository.write("b.md")
    repository.commit(at=at(0))
    if damage == "HEAD":
        (repository.root / ".git" / "HEAD").write_text("nonsense")
    else:
        tree = repository.git("rev-parse", "HEAD^{tree}")
        (repository.root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    dates = git_dates(repository.root)
    assert dates == {}
    assert len(dates.warnings) == 1


def test_a_history_that_takes_too_long_is_a_warning(repository: Repository) -> None:
    repository.write("a.md")
    repository.commit(at=at(0))
    dates = git_dates(repository.root, timeout=1e-9)
    assert dates == {}
    assert "seconds; no dates are taken from git" in dates.warnings[0]


def test_the_edge_of_a_shallow_clone_dates_nothing(repository: Repository, tmp_path: Path) -> None:
    """What is as old as the edge may be of any age before: better no date than that of the last push."""
    for hour, name in enumerate(["old.md", "edge.md", "new.md"]):
        repository.write(name)
        repository.commit(at=at(hour))
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", "--depth", "2", repository.root.as_uri(), str(clone))
    dates = git_dates(clone)
    assert sorted(dates) == ["new.md"]
    assert dates.warnings == (
        "git: the clone is shallow, 2 files are older than its history and have no date from git; "
        "`git fetch --unshallow` brings the rest",
    )
    repository.git("fetch", "--quiet", "--unshallow", folder=clone)
    assert sorted(git_dates(clone)) == ["edge.md", "new.md", "old.md"]


def test_a_date_that_no_calendar_has_is_none(repository: Repository) -> None:
    repository.write("a.md")
    repository.commit(at=at(0))
    commit = repository.git("cat-file", "commit", "HEAD").replace(str(at(0)), "99999999999999", 1)
    (repository.root / "commit").write_text(commit + "\n")
    new = repository.git("hash-object", "-t", "commit", "-w", "--literally", "commit")
    repository.git("update-ref", "HEAD", new)
    assert git_dates(repository.root) == {}


# -- what must not have an effect


def test_no_configuration_changes_the_result_or_runs_a_program(repository: Repository, tmp_path: Path) -> None:
    repository.write("Año.md", "1")
    repository.write("z.md", "1")
    repository.commit(at=at(0))
    repository.git("mv", "Año.md", "b.md")
    repository.commit(at=at(1))
    before = hours(repository)
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\n")
    trap.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "post-index-change").symlink_to(trap)
    for setting in [
        f"core.fsmonitor={trap}",
        f"core.pager={trap}",
        f"core.hooksPath={hooks}",
        f"diff.external={trap}",
        f"gpg.program={trap}",
        f"diff.orderFile={tmp_path}/order",
        "log.showSignature=true",
        "log.showRoot=false",
        "log.follow=true",
        "log.date=relative",
        "log.decorate=full",
        "log.diffMerges=off",
        "format.pretty=%s",
        "diff.renames=false",
        "diff.relative=false",
        "diff.noprefix=true",
        "color.ui=always",
        "core.quotePath=true",
        "status.relativePaths=false",
        "status.showUntrackedFiles=all",
        "status.branch=true",
        "pager.log=true",
    ]:
        repository.git("config", *setting.split("=", 1))
    (tmp_path / "order").write_text("z.md\n")
    os.utime(repository.path("z.md"), (1, 1))  # status must look into it
    assert hours(repository) == before == {"b.md": 0, "z.md": 0}
    assert not (tmp_path / "sprung").exists()


def test_the_variables_of_a_running_hook_do_not_lead_astray(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("a.md")
    commit = repository.commit(at=at(0))
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_NAMESPACE"]:
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
    assert head_commit(repository.root) == commit
    assert hours(repository) == {"a.md": 0}


def test_nothing_in_the_repository_is_written(repository: Repository) -> None:
    repository.write("a.md")
    repository.commit(at=at(0))
    os.utime(repository.path("a.md"), (1, 1))  # git would like to note that in its index

    def state() -> dict[Path, tuple[int, int]]:
        return {
            path: (path.lstat().st_mtime_ns, path.lstat().st_size)
            for path in [repository.root, *repository.root.rglob("*")]
        }

    before = state()
    assert hours(repository) == {"a.md": 0}
    head_commit(repository.root)
    assert state() == before


def test_a_vault_mounted_for_reading_by_a_user_who_may_not_write(
    without_rights: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        root.chmod(0o755)
        repository = Repository(root)
        repository.git("init", "--quiet")
        repository.write("a.md")
        repository.commit(at=at(0))
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", "*")
        answer = without_rights(f"answer = list(git_history.git_dates(Path({str(root)!r})))")
        assert answer == ["a.md"]
    finally:
        rmtree(root)
