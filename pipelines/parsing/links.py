"""Where links lead: Obsidian's rules for names and paths, and Markdown's for relative addresses."""

import posixpath
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from pipelines.parsing.document import Link

_NOTE_ENDINGS = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class KnownSources:
    """All sources of a vault, ready to be asked. Make it once for many notes."""

    by_path: dict[str, str]
    by_name: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, sources: Collection[str]) -> "KnownSources":
        """Index sources by their path and by the end of it, with and without `.md`, in any case."""
        by_path: dict[str, str] = {}
        names: dict[str, list[str]] = {}
        for source in sorted(sources):
            for form in _forms(source):
                by_path.setdefault(form, source)
                names.setdefault(form.rpartition("/")[2], []).append(source)
        return cls(by_path, {name: tuple(sources) for name, sources in names.items()})


def resolve_links(
    source: str, links: Sequence[Link], known_sources: Collection[str] | KnownSources
) -> list[tuple[Link, str | None]]:
    """Each link with the source it leads to, or None where there is no such file.

    A link by name goes to the note of that name: in the linking note's folder, then the one with the shortest path,
    then the first in order. A link by path is tried from the note's folder where it is relative, from the vault's root,
    and as the end of a path. Case does not count, and `.md` may be left out.
    """
    known = known_sources if isinstance(known_sources, KnownSources) else _indexed(frozenset(known_sources))
    return [(link, _resolve(source, link, known)) for link in links]


@lru_cache(maxsize=4)
def _indexed(sources: frozenset[str]) -> KnownSources:
    """One index for all notes of a vault: callers ask note by note with the same sources."""
    return KnownSources.of(sources)


def _resolve(source: str, link: Link, known: KnownSources) -> str | None:
    if not link.target:
        return source
    folder = posixpath.dirname(source)
    candidates = [link.target] if "%" not in link.target else [link.target, unquote(link.target)]
    for written in candidates:
        target = _folded(written.strip().replace("\\", "/"))
        absolute = target.startswith("/")
        relative = posixpath.normpath(posixpath.join(_folded(folder), target.lstrip("/") if absolute else target))
        from_root = posixpath.normpath(target.lstrip("/"))
        order = [from_root] if absolute else [relative, from_root]
        if link.kind != "markdown" and not target.startswith(("./", "../")) and "/" in target:
            order = [from_root, relative]
        for path in order:
            found = known.by_path.get(path)
            if found and ("/" in target or link.kind == "markdown" or path == relative):
                return found
        if found := _by_name(target.lstrip("./"), folder, known):
            return found
    return None


def _by_name(target: str, folder: str, known: KnownSources) -> str | None:
    """The nearest source whose path ends in the target."""
    ending = f"/{target}"
    same = [
        source
        for source in known.by_name.get(target.rpartition("/")[2], ())
        if "/" not in target or any(f"/{form}".endswith(ending) for form in _forms(source))
    ]
    if not same:
        return None
    return min(same, key=lambda source: (posixpath.dirname(source) != folder, source.count("/"), len(source), source))


def _forms(source: str) -> tuple[str, ...]:
    """How a source may be written: folded, and without a note's ending."""
    folded = _folded(source)
    ending = next((ending for ending in _NOTE_ENDINGS if folded.endswith(ending)), None)
    return (folded, folded[: -len(ending)]) if ending else (folded,)


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
