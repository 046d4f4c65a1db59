"""Symbolic links: none leads out of the vault unasked, none is walked twice, and Vaultline's own folder stays out.

The rule: a link to something inside the vault is left out, since its target has a name of its own there. A link that
leads out is left out too, unless VAULT_FOLLOW_LINKS allows it; then its target is read under the link's name. A link
to a folder that holds the vault is never followed.
"""

# Paths are bytes here, which pathlib does not take.
# ruff: noqa: PTH112, PTH116

import errno
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Target:
    """What a link leads to. `excluded` and `problem` are as in FoundFile."""

    is_folder: bool = False
    problem: str | None = None
    excluded: str | None = None


class Links:
    """Judges links of the vault at `root` (a real path); remembers the folders that were reached through links."""

    def __init__(self, root: bytes, *, home: Path | None, allow_outside: bool) -> None:
        self._root = root
        self._allow_outside = allow_outside
        self._visited: set[tuple[int, int]] = set()
        self._home = _identity(os.fsencode(home)) if home else None

    def is_home(self, path: bytes, *, inode: int | None) -> bool:
        """True for Vaultline's own folder. `inode` is known from the listing for real folders: no call for others."""
        if self._home is None or (inode is not None and inode != self._home[1]):
            return False
        return _identity(path) == self._home

    def resolve(self, path: bytes) -> Target:
        """Follow a link to its end and judge it. Never raises."""
        try:
            real = os.path.realpath(path, strict=True)
            is_folder = os.path.isdir(real)
        except OSError as error:
            loop = "a link that leads back to itself" if error.errno == errno.ELOOP else "a broken link"
            return Target(problem=loop)
        kind = "folder" if is_folder else "file"
        if _is_below(real, self._root) or (is_folder and real == self._root):
            return Target(is_folder, excluded=f"a link to a {kind} inside the vault")
        if is_folder and _is_below(self._root, real):
            return Target(is_folder, excluded="a link to a folder that holds the vault")
        if not self._allow_outside:
            return Target(is_folder, excluded=f"a link to a {kind} outside the vault")
        return Target(is_folder)

    def enter(self, path: bytes) -> bool:
        """Note that a folder outside the vault is walked now; False when it has been walked under another name."""
        identity = _identity(path)
        if identity is None or identity in self._visited:
            return False
        self._visited.add(identity)
        return True


def _is_below(path: bytes, folder: bytes) -> bool:
    return path.startswith(folder if folder.endswith(b"/") else folder + b"/")


def _identity(path: bytes) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
