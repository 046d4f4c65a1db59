"""The wheel works where the checkout is not: it brings its SQL and its page."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.acceptance.conftest import REPOSITORY

pytestmark = pytest.mark.slow


def test_an_installed_wheel_indexes_and_answers(home: Path, vault: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(REPOSITORY)],
        check=True,
    )
    (wheel,) = tmp_path.glob("vaultline-*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert "pipelines/sql/migrations/0001_state.sql" in names
        static = REPOSITORY / "pipelines" / "serving" / "static"
        page = {f"pipelines/serving/static/{path.relative_to(static)}" for path in static.rglob("*") if path.is_file()}
        assert page <= set(names)
        archive.extractall(site)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DAGSTER")}
    environment |= {"PYTHONPATH": str(site), "VAULTLINE_HOME": str(home), "VAULT_PATH": str(vault)}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "pipelines.cli", *arguments]
        return subprocess.run(command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    assert f"version {_version(site)}" in run("--version")
    assert "40 added" in run("sync")
    assert "muelle" in run("search", "-k", "1", "How do we roll back a release?")


def _version(site: Path) -> str:
    (metadata,) = site.glob("vaultline-*.dist-info")
    return metadata.name.removeprefix("vaultline-").removesuffix(".dist-info")
