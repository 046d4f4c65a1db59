"""The sensor looks after uploads as after the vault, also where the vault is a clone that another sensor keeps."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from pipelines.dagster_home import open_instance
from pipelines.settings import Settings
from pipelines.status import read_status
from pipelines.vault.folders import UPLOADS_KEY
from pipelines.vault.uploads import prepare
from tests.integration.sensors.conftest import Daemon
from tests.integration.sync.living_vault import LivingVault, backdate, note


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    prepare(tmp_path / "inbox")
    return tmp_path / "inbox"


@pytest.fixture(params=["folder", "clone"])
def settings_of(request: pytest.FixtureRequest, vault: LivingVault, inbox: Path) -> Settings:
    """A vault that is a folder, and one that is a clone whose remote cannot be reached."""
    if request.param == "folder":
        return vault.with_settings(uploads_path=inbox)
    gone = SecretStr(str(inbox.parent / "no-such-remote.git"))
    return vault.with_settings(uploads_path=inbox, vault_path=None, vault_git_url=gone)


@pytest.fixture
def daemon(settings_of: Settings) -> Iterator[Daemon]:
    with open_instance(settings_of) as instance:
        yield Daemon(settings_of, instance)


def test_uploads_become_runs_of_their_own_partition(daemon: Daemon, vault: LivingVault, inbox: Path) -> None:
    if daemon.settings.vault_path is not None:
        backdate([vault.write("a/n0.md", note("Note", "Text."))])
        daemon.settle()
    known = vault.sources()
    (inbox / "plan.md").write_text(note("Plan", "Quokkas."))
    backdate([inbox / "plan.md"])
    told = daemon.tick()
    assert [request.partition_key for request in told.run_requests or []] == [UPLOADS_KEY]
    for request in told.run_requests or []:
        daemon.run(request)
    assert vault.sources() == sorted([".uploads/plan.md", *known])
    assert daemon.settle() == []

    (inbox / "plan.md").unlink()
    assert len(daemon.settle()) == 1
    assert vault.sources() == known
    assert daemon.settle() == []


def test_status_names_a_managed_clone(vault: LivingVault) -> None:
    settings = vault.with_settings(vault_path=None, vault_git_url=SecretStr("https://git.example/team.git"))
    clone = str(settings.vaultline_home / "clone")
    assert read_status(settings).to_json()["vault"] == clone
    assert clone in read_status(settings).to_text()
    neither = vault.with_settings(vault_path=None)
    assert read_status(neither).to_json()["vault"] is None
    assert "neither VAULT_PATH nor VAULT_GIT_URL" in read_status(neither).to_text()
