"""The git sensor on a real bare repository: one run a push, only what it changed, done when it is indexed."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from pipelines.dagster_home import open_instance
from pipelines.resources.store import COMMIT_DONE
from pipelines.storage import documents
from pipelines.sync import sync
from tests.integration.sensors.conftest import Daemon
from tests.integration.sync.living_vault import LivingVault, note


class Team:
    """A bare repository and somebody's clone of it."""

    def __init__(self, folder: Path) -> None:
        self.bare, self.work = folder / "notes.git", folder / "work"
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(self.bare), cwd=folder)
        self.git("clone", "--quiet", str(self.bare), str(self.work), cwd=folder)
        self.git("checkout", "--quiet", "-B", "main")

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        identity = ("-c", "user.name=Ana Núñez", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *identity, *arguments], cwd=cwd or self.work, check=True, capture_output=True)
        return done.stdout.decode().strip()

    def write(self, source: str, text: str) -> None:
        path = self.work / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def push(self, subject: str, *options: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", subject)
        self.git("push", "--quiet", *options, "origin", "HEAD:main")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


@pytest.fixture
def cloned(vault: LivingVault, team: Team) -> Iterator[Daemon]:
    """A daemon whose vault is the remote; its first notes are pushed and indexed."""
    for folder in "abc":
        team.write(f"{folder}/n0.md", note(f"Note {folder}", f"Text {folder}."))
    team.push("First notes")
    settings = vault.with_settings(vault_path=None, vault_git_url=SecretStr(str(team.bare)), vault_git_branch="main")
    with open_instance(settings) as instance:
        daemon = Daemon(settings, instance, sensor="git")
        (fetch,) = daemon.tick().run_requests
        assert fetch.job_name == "fetch", "a first clone has more time than a sensor"
        daemon.run(fetch)
        daemon.settle()
        yield daemon


def _done(vault: LivingVault) -> object:
    with vault.database.connect() as connection:
        return documents.get_fact(connection, COMMIT_DONE)


def test_a_push_is_one_run_with_its_commit_author_and_subject(vault: LivingVault, cloned: Daemon, team: Team) -> None:
    assert vault.sources() == ["a/n0.md", "b/n0.md", "c/n0.md"]
    first = team.git("rev-parse", "HEAD")
    assert _done(vault) == first
    calls = vault.calls()
    team.write("a/n0.md", note("Note a", "Rewritten."))
    team.git("mv", "c/n0.md", 'a/Reunión "año".md')
    team.write("b/n1\nbroken.md", note("Line break", "A name with a line break."))
    commit = team.push("Rewrite a, move c")
    told = cloned.tick()
    (request,) = told.run_requests
    assert request.tags["vaultline/commit"] == commit
    assert request.tags["vaultline/author"] == "Ana Núñez"
    assert request.tags["vaultline/subject"] == "Rewrite a, move c"
    assert _done(vault) == first, "not done before its run has succeeded"
    cloned.run(request)
    assert cloned.settle() == []
    assert _done(vault) == commit
    assert vault.sources() == ['a/Reunión "año".md', "a/n0.md", "b/n0.md", "b/n1\nbroken.md"]
    assert vault.calls() == calls + 2, "the move cost nothing"
    assert cloned.partitions == {"a", "b"}
    assert "remote has nothing newer" in str(cloned.tick().skip_message)


def test_a_failed_run_leaves_the_commit_undone_and_the_next_one_does_it(
    vault: LivingVault, cloned: Daemon, team: Team
) -> None:
    before = _done(vault)
    team.write("a/n0.md", note("Note a", "Costs something."))
    commit = team.push("Change")
    broken = Daemon(cloned.settings.model_copy(update={"embedding_max_run_tokens": 0}), cloned.instance, "git")
    (request,) = cloned.tick().run_requests
    assert not broken.run(request, raise_on_error=False).success
    assert "its last run failed" in str(cloned.tick().skip_message)
    assert _done(vault) == before
    sync(cloned.settings)
    assert _done(vault) == commit, "vaultline sync does the same"
    assert vault.found("Costs something") == ["a/n0.md"]


def test_a_forced_push_and_a_branch_switch(vault: LivingVault, cloned: Daemon, team: Team) -> None:
    team.write("a/wrong.md", note("Wrong", "A mistake."))
    team.push("Mistake")
    cloned.settle()
    assert "a/wrong.md" in vault.sources()
    team.git("reset", "--quiet", "--hard", "HEAD~1")
    team.write("b/n0.md", note("Right", "Instead of it."))
    commit = team.push("Right", "--force")
    (run,) = cloned.settle()
    assert run.dagster_run.tags["vaultline/commit"] == commit
    assert "a/wrong.md" not in vault.sources()

    team.git("checkout", "--quiet", "-b", "draft")
    team.write("d/n0.md", note("Draft", "On another branch."))
    team.git("add", "--all")
    team.git("commit", "--quiet", "--message", "Draft")
    team.git("push", "--quiet", "origin", "draft")
    other = Daemon(cloned.settings.model_copy(update={"vault_git_branch": "draft"}), cloned.instance, "git")
    calls = vault.calls()
    other.settle()
    assert "d/n0.md" in vault.sources()
    assert vault.calls() == calls + 1


def test_a_remote_that_is_gone_is_a_skipped_tick(vault: LivingVault, cloned: Daemon, team: Team) -> None:
    team.bare.rename(team.bare.with_name("elsewhere"))
    told = cloned.tick()
    assert told.run_requests == []
    assert "no repository at this address" in str(told.skip_message)
    assert len(vault.sources()) == 3


def test_sync_clones_by_itself_and_the_vault_sensor_keeps_out(vault: LivingVault, team: Team) -> None:
    team.write("a/n0.md", note("Note", "From the remote."))
    commit = team.push("First")
    settings = vault.with_settings(vault_path=None, vault_git_url=SecretStr(str(team.bare)))
    report = sync(settings)
    assert report.documents["added"] == 1
    assert _done(vault) == commit
    with open_instance(settings) as instance:
        assert "the sensor `git` looks after it" in str(Daemon(settings, instance).tick().skip_message)
        assert Daemon(settings, instance, "git").settle() == [], "nothing is left for the sensor"


def test_submodules_pointers_of_lfs_and_links_are_no_notes(
    vault: LivingVault, cloned: Daemon, team: Team, tmp_path: Path
) -> None:
    """B34: the names are as on disk, a pointer says what it is, a submodule and a link out are skipped."""
    other = tmp_path / "other"
    team.git("init", "--quiet", str(other), cwd=tmp_path)
    (other / "inside.md").write_text(note("Inside", "Of another repository."))
    team.git("add", "--all", cwd=other)
    team.git("commit", "--quiet", "--message", "Other", cwd=other)
    team.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "b/module")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 12345\n"
    team.write("a/scan.pdf", pointer)
    team.write("a/large.md", pointer)
    (team.work / "a" / "out.md").symlink_to("/etc/hostname")
    team.git("mv", "c/n0.md", "c/vieja nota — 日本語.md")
    commit = team.push("Submodule, LFS, link")
    (run,) = cloned.settle()
    assert run.dagster_run.tags["vaultline/commit"] == commit
    assert _done(vault) == commit
    assert vault.sources() == ["a/n0.md", "b/n0.md", "c/vieja nota — 日本語.md"]
    assert {source: "LFS pointer" in reason for source, reason in vault.quarantined().items()} == {
        "a/large.md": True,
        "a/scan.pdf": True,
    }
    assert vault.found("oid sha256") == []


def test_a_push_that_changes_no_note_needs_no_run(vault: LivingVault, cloned: Daemon, team: Team) -> None:
    """A rebase, an empty commit, a change of files that are no documents."""
    team.git("commit", "--quiet", "--allow-empty", "--message", "Nothing")
    team.write("Makefile", "all:\n")
    commit = team.push("A file that is no note")
    calls = vault.calls()
    ran = cloned.settle()
    assert _done(vault) == commit
    assert vault.calls() == calls
    assert len(ran) <= 1, "at most the one that dates documents by the new history"


def test_the_first_push_is_awaited_and_a_shallow_remote_is_read(vault: LivingVault, team: Team, tmp_path: Path) -> None:
    empty = tmp_path / "empty.git"
    team.git("init", "--quiet", "--bare", "--initial-branch=main", str(empty), cwd=tmp_path)
    settings = vault.with_settings(vault_path=None, vault_git_url=SecretStr(str(empty)))
    with open_instance(settings) as instance:
        daemon = Daemon(settings, instance, sensor="git")
        (fetch,) = daemon.tick().run_requests
        assert not daemon.run(fetch, raise_on_error=False).success
        daemon.cursor = None
        for number in range(3):
            team.write("a/n0.md", note("Note", f"Version {number}."))
            team.git("add", "--all")
            team.git("commit", "--quiet", "--message", f"Version {number}")
        team.git("push", "--quiet", "origin", "HEAD:main")
        shallow = tmp_path / "shallow.git"
        team.git("clone", "--quiet", "--bare", "--depth", "1", f"file://{team.bare}", str(shallow), cwd=tmp_path)
        empty.rename(tmp_path / "aside.git")
        shallow.rename(empty)
        (fetch,) = daemon.tick().run_requests
        assert daemon.run(fetch).success
        daemon.settle()
        assert vault.found("Version 2") == ["a/n0.md"]
        assert _done(vault) == team.git("rev-parse", "HEAD")


def test_a_work_tree_that_people_edit(vault: LivingVault, team: Team, tmp_path: Path) -> None:
    """VAULT_PATH is somebody's shallow clone: saves count without a commit, commits date the notes."""
    for folder in "ab":
        team.write(f"{folder}/n0.md", note(f"Note {folder}", f"Text {folder}."))
    team.push("First")
    team.write("a/n1.md", note("More", "A second commit."))
    team.push("Second")
    work = tmp_path / "shallow"
    team.git("clone", "--quiet", "--depth", "1", f"file://{team.bare}", str(work), cwd=tmp_path)
    settings = vault.with_settings(vault_path=work, vault_quiet_seconds=0.05)
    with open_instance(settings) as instance:
        daemon = Daemon(settings, instance)
        daemon.settle()
        assert vault.sources() == ["a/n0.md", "a/n1.md", "b/n0.md"]
        (work / "a" / "n0.md").write_text(note("Note a", "Not yet committed."))
        daemon.settle()
        assert vault.found("Not yet committed") == ["a/n0.md"]
        calls = vault.calls()
        team.git("add", "--all", cwd=work)
        team.git("commit", "--quiet", "--message", "Committed", cwd=work)
        daemon.settle()
        head = team.git("rev-parse", "HEAD", cwd=work)
        assert vault.rows("SELECT modified_from, commit_id FROM document WHERE source = 'a/n0.md'") == [("git", head)]
        team.git("checkout", "--quiet", "-b", "other", "HEAD~1", cwd=work)
        daemon.settle()
        assert vault.found("Not yet committed") == []
        team.git("checkout", "--quiet", "-", cwd=work)
        daemon.settle()
        assert vault.found("Not yet committed") == ["a/n0.md"]
        assert vault.calls() == calls, "there and back costs nothing"
        assert daemon.tick().run_requests == []
