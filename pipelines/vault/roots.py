"""Where the settings say that files lie: the vault (or the clone that is one) and the folder of uploads beside it."""

import os
from pathlib import Path

from pipelines.errors import SettingsError
from pipelines.settings import Settings
from pipelines.vault.folders import UPLOADS, is_upload


def keeps_clone(settings: Settings) -> bool:
    """True when the vault is a clone that Vaultline keeps: VAULT_GIT_URL is set and VAULT_PATH is not."""
    return settings.vault_path is None and settings.vault_git_url is not None


def clone_root(settings: Settings) -> Path:
    """Where that clone lies."""
    return settings.vaultline_home.absolute() / "clone"


def vault_root(settings: Settings) -> Path | None:
    """The vault's root, which need not exist; None where no setting names one."""
    return clone_root(settings) if keeps_clone(settings) else settings.vault_path


def uploads_root(settings: Settings) -> Path | None:
    """The folder of uploads, which need not exist; None where VAULTLINE_HOME, its default place, lies in the vault.

    Raises SettingsError if UPLOADS_PATH and the vault lie in each other: the vault is only ever read.
    """
    vault = vault_root(settings)
    chosen = settings.uploads_path
    root = (chosen or settings.vaultline_home / "uploads").absolute()
    if vault is not None and (holds(vault, root) or holds(root, vault)):
        if chosen is None and holds(vault, root):
            return None
        name = "UPLOADS_PATH" if chosen else "the folder of uploads in VAULTLINE_HOME"
        raise SettingsError(
            f"{name} ({root}) and the vault ({vault}) lie in each other: set UPLOADS_PATH to a folder beside the vault"
        )
    return root


def locate(settings: Settings, source: str) -> Path | None:
    """Where a source lies on this machine, as far as the settings say."""
    if is_upload(source):
        root = uploads_root(settings)
        return None if root is None else root / source.removeprefix(f"{UPLOADS}/")
    vault = vault_root(settings)
    return None if vault is None else vault / source


def holds(folder: Path, other: Path) -> bool:
    """Whether `other` is the folder or lies below it, whatever links and letter cases the two are written with."""
    real, identity = other.resolve(), _identity(folder)
    return folder.resolve() in (real, *real.parents) or (
        identity is not None and any(_identity(part) == identity for part in (real, *real.parents))
    )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return status.st_dev, status.st_ino
