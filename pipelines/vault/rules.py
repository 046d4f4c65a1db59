"""What belongs to a vault: file types, folders and names that are never notes, and the rules a scan works by."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from pipelines.errors import SettingsError
from pipelines.settings import Settings
from pipelines.vault.ignore_files import compile_patterns

MediaType = Literal["markdown", "text", "pdf", "canvas"]

MEDIA_TYPES: Mapping[str, MediaType] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".mkd": "markdown",
    ".mkdn": "markdown",
    ".mdx": "markdown",
    ".qmd": "markdown",
    ".pdf": "pdf",
    ".canvas": "canvas",
}
"""Extension in lower case -> how the file is parsed. Any other extension in VAULT_EXTENSIONS is plain text."""

# Lower case. Version control, Obsidian, sync tools and editors keep their folders behind a dot, which covers them.
_FOREIGN_FOLDERS = {
    b"node_modules": "installed packages",
    b"__pycache__": "compiled Python",
    b"__macosx": "left by a macOS archive",
    b"agent_learnings": "what agents wrote down is no knowledge of the team",
    b"@eadir": "Synology's thumbnails",
    b"#recycle": "a recycle bin",
    b"$recycle.bin": "a recycle bin",
    b"system volume information": "Windows' own",
    b"lost+found": "the file system's own",
}

# Emacs locks, links and autosaves, Vim swap files and its write test, backups, Office locks, JetBrains, Syncthing.
_TEMPORARY = re.compile(
    rb"(?i)#.*#|\.#.*|.*~|~\$.*|~syncthing~.*|4913|.*\.(?:sw[a-p]|tmp|temp|part|partial|crdownload|bak|kate-swp)"
    rb"|.*___jb_(?:tmp|old|bak)___"
)

# Syncthing; Dropbox, Nextcloud, Obsidian Sync, Seafile, pCloud in English and Spanish; ownCloud.
_CONFLICT = re.compile(
    r"(?i)\.sync-conflict-\d{8}-\d{6}(?:-\w+)?(?=\.|$)"
    r"|[(\[][^()\[\]]*(?:conflicted copy|conflict copy|case conflict|sfconflict|copia en conflicto|copia conflictiva"
    r"|copia con conflictos|archivo en conflicto|versión en conflicto)[^()\[\]]*[)\]](?: ?\(\d+\))?\.[^.]+$"
    r"|[(\[](?:conflict|conflicted|conflicto)[)\]]\.[^.]+$"
    r"|_conflict-\d{8}-\d{6}\.[^.]+$"
)


@dataclass(frozen=True, slots=True)
class ScanRules:
    """The rules of one scan. `media_types` is keyed by extension, with its dot, in lower case, as bytes.

    `exclude` holds patterns in the syntax of .gitignore, relative to the root. `home` is a folder that is left out
    wherever it lies: what Vaultline writes itself. `follow_links` lets links lead out of the vault.
    """

    media_types: Mapping[bytes, MediaType]
    exclude: tuple[str, ...] = ()
    home: Path | None = None
    follow_links: bool = False

    @classmethod
    def from_settings(cls, settings: Settings, root: Path) -> Self:
        """Rules for the vault at `root`. Raises SettingsError for an extension or pattern that is none, or when
        VAULTLINE_HOME is the vault itself."""
        exclude = tuple(settings.vault_exclude)
        if exclude and (bad := compile_patterns(exclude)[1]):
            raise SettingsError(f"VAULT_EXCLUDE: {exclude[bad[0] - 1]!r} is not a pattern of .gitignore's kind")
        home = settings.vaultline_home
        if home.exists() and root.exists() and home.samefile(root):
            raise SettingsError(f"VAULTLINE_HOME is the vault itself ({root}): give Vaultline a folder of its own")
        return cls(
            media_types=media_types(settings.vault_extensions),
            exclude=exclude,
            home=home,
            follow_links=settings.vault_follow_links,
        )


def media_types(extensions: tuple[str, ...]) -> dict[bytes, MediaType]:
    """Table of the wanted extensions, with or without their dot, in any case. Raises SettingsError."""
    table: dict[bytes, MediaType] = {}
    for extension in extensions:
        name = "." + extension.strip().lower().lstrip(".")
        if name == "." or "/" in name or "." in name[1:]:
            raise SettingsError(f"VAULT_EXTENSIONS: {extension!r} is not a file extension such as .md")
        table[name.encode()] = MEDIA_TYPES.get(name, "text")
    return table


def is_hidden(name: bytes) -> bool:
    """Dot files and dot folders: .git, .obsidian, .trash, .stversions, AppleDouble, most programs' own files."""
    return name.startswith(b".")


def is_temporary(name: bytes) -> bool:
    """True for names under which editors and sync tools write before they rename. Never a note, never reported."""
    return _TEMPORARY.fullmatch(name) is not None


def foreign_folder(name: bytes) -> str | None:
    """Why a folder of this name never holds notes, whatever the ignore files say, or None. Case does not count."""
    return _FOREIGN_FOLDERS.get(name.lower())


def unwanted_copy(name: str) -> str | None:
    """Why a file of a wanted type is left out by its name alone: a sync tool's conflict copy, a drawing. Or None."""
    folded = name.casefold()
    if "onflict" in folded and _CONFLICT.search(name):
        return "a copy that a sync tool made of a conflict"
    if folded.endswith(".excalidraw.md"):
        return "an Excalidraw drawing"
    return None
