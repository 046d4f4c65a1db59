"""Vaults and repositories on the real disk."""

# Paths are bytes here, which pathlib does not take.
# ruff: noqa: PTH103, PTH118, PTH120, PTH123, PTH211

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree

import pytest

from pipelines.vault.rules import ScanRules, media_types
from pipelines.vault.scan import Scan, scan

NOBODY = 65534


@dataclass
class Vault:
    """A vault under test: paths relative to its root, as text or as the disk's bytes."""

    root: Path
    rules: ScanRules = field(default_factory=lambda: ScanRules(media_types((".md", ".markdown", ".txt", ".pdf"))))

    def path(self, name: str | bytes) -> bytes:
        return os.path.join(os.fsencode(self.root), name.encode() if isinstance(name, str) else name)

    def write(self, name: str | bytes, text: str | bytes = "text") -> bytes:
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        return path

    def link(self, name: str, target: str | Path) -> None:
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        os.symlink(os.fsencode(target), self.path(name))

    def scan(self) -> Scan:
        return scan(self.root, rules=self.rules)

    def readable(self) -> list[str]:
        """Sources of the files that would be indexed."""
        return [source for source, found in self.scan().files.items() if not found.problem and not found.excluded]

    def excluded(self) -> dict[str, str]:
        return {source: found.excluded for source, found in self.scan().files.items() if found.excluded}

    def problems(self) -> dict[str, str]:
        return {source: found.problem for source, found in self.scan().files.items() if found.problem}


@dataclass
class Repository(Vault):
    """A vault in a real git repository whose author's clock the test sets, in seconds since 1970."""

    def git(
        self, *arguments: str | bytes, at: int = 1_000_000_000, check: bool = True, folder: Path | None = None
    ) -> str:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_AUTHOR_NAME": "Ana",
            "GIT_AUTHOR_EMAIL": "ana@example.org",
            "GIT_COMMITTER_NAME": "Ana",
            "GIT_COMMITTER_EMAIL": "ana@example.org",
            "GIT_AUTHOR_DATE": f"{at} +0200",
            "GIT_COMMITTER_DATE": f"{at} +0200",
        }
        answer = subprocess.run(
            ["git", *arguments], cwd=folder or self.root, env=environment, check=False, capture_output=True, text=True
        )
        if check and answer.returncode:
            raise AssertionError(f"git {arguments}: {answer.stderr}")
        return answer.stdout.strip()

    def commit(self, *, at: int, message: str = "a commit") -> str:
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "--allow-empty", "--message", message, at=at)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    root = tmp_path / "vault"
    root.mkdir()
    return Vault(root)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A new repository; the git of the code under test sees no configuration of this machine either."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    root = tmp_path / "repository"
    root.mkdir()
    made = Repository(root)
    made.git("init", "--quiet", "--initial-branch", "main")
    return made


@pytest.fixture
def public_vault() -> Iterator[Vault]:
    """A vault that users without rights can reach; pytest's own temporary folders are closed to them."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    yield Vault(root)
    for folder, _folders, _files in os.walk(root):
        Path(folder).chmod(0o755)
    rmtree(root)


@pytest.fixture
def without_rights() -> Callable[[str], object]:
    """Run code that sets `answer`, in a process that has no special rights, and return the answer by way of JSON.

    Everything is imported before the rights go, since the project's own folder may be closed to others.
    """

    def run(code: str) -> object:
        script = (
            "import json, os, sys, encodings.idna, pathspec.patterns.gitignore.spec\n"
            "from pathlib import Path\n"
            "from pipelines.errors import *\n"
            "from pipelines.vault import content, git_history, scan as scanning\n"
            "from pipelines.vault.rules import ScanRules, media_types\n"
            "rules = ScanRules(media_types(('.md', '.txt', '.pdf')))\n"
            "os.chdir('/')\n"
            f"if os.geteuid() == 0: os.setgroups([]); os.setresgid(*[{NOBODY}] * 3); os.setresuid(*[{NOBODY}] * 3)\n"
            f"{code}\n"
            "print(json.dumps(answer))\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
