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
