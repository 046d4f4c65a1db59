"""What people want left out: .vaultignore, .gitignore, VAULT_EXCLUDE, Obsidian's excluded files."""

# Paths are bytes here, which pathlib does not take.
# ruff: noqa: PTH118, PTH119, PTH120, PTH123

import errno
import json
import os
import re
import stat
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from pipelines.vault.sources import decode_name

IGNORE_FILES = (b".gitignore", b".vaultignore")
OBSIDIAN_FOLDER = b".obsidian"
_LIMIT = 1_000_000  # bytes; an ignore file is written by hand
_ONLY_FOLDERS = "(?P<ps_d>/)"  # pathspec's whole expression for the patterns `*/` and `**/`

# git knows the classes of POSIX within brackets, pathspec does not
_CLASS = re.compile(r"\[:(\w+):\]")
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \t",
    "digit": "0-9",
    "lower": "a-z",
    "space": " \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class IgnoreFileError(Exception):
    """An ignore file is there and cannot be read: what it wants left out is unknown, so its folder must be skipped."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The patterns of one ignore file, in its order.

    They are matched against `above` + the path without its first `below` characters, so that a file of a folder
    inside the vault (below) and one of a folder that holds the vault (above) see the path from where they stand.
    """

    patterns: tuple[tuple[re.Pattern[str], bool], ...]
    any_of: re.Pattern[str]
    label: str
    below: int = 0
    above: str = ""

    @classmethod
    def of(cls, patterns: tuple[tuple[re.Pattern[str], bool], ...], *, label: str, below: int = 0) -> Self:
        """A layer of at least one pattern. `any_of` tells in one call that none matches, which is the common case."""
        sources = (pattern.pattern.replace("?P<ps_d>", "?:") for pattern, _ in patterns)
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            return cls(patterns, re.compile("|".join(f"(?:{source})" for source in sources)), label, below)

    def decide(self, path: str, *, is_folder: bool) -> bool | None:
        """True: left out. False: taken in by a `!` pattern. None: no pattern is about it. The last match decides."""
        subject = self.above + path[self.below :] + ("/" if is_folder else "")
        if "\n" in subject:
            subject = subject.replace("\n", "\0")  # as good, and `.` and `$` do not treat it as special
        if not self.any_of.search(subject):
            return None
        for pattern, leaves_out in reversed(self.patterns):
            if _matches_itself(pattern, subject, is_folder=is_folder):
                return leaves_out
        return None


@dataclass(frozen=True, slots=True)
class ObsidianFilter:
    """The excluded files of the Obsidian vault whose path in ours has `below` characters."""

    prefixes: tuple[str, ...]
    expressions: tuple[re.Pattern[str], ...]
    below: int = 0

    def leaves_out(self, path: str, *, is_folder: bool) -> bool:
        """True where a prefix (case does not count) or an expression matches. Expressions are for files only."""
        subject = path[self.below :]
        if self.prefixes and (subject + "/" if is_folder else subject).casefold().startswith(self.prefixes):
            return True
        return not is_folder and any(expression.search(subject) for expression in self.expressions)


@dataclass(frozen=True, slots=True)
class Ignores:
    """Every rule in force in a folder. The setting beats .vaultignore, which beats .gitignore, which beats Obsidian;
    among files of one kind the deepest beats the others. That is how `!private/keep.md` in a .vaultignore takes back
    what a .gitignore leaves out."""

    setting: tuple[Layer, ...] = ()
    vaultignore: tuple[Layer, ...] = ()
    gitignore: tuple[Layer, ...] = ()
    obsidian: tuple[ObsidianFilter, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.setting or self.vaultignore or self.gitignore or self.obsidian)

    def reason(self, path: str, *, is_folder: bool) -> str | None:
        """Why the path (decoded, relative to the vault) is left out, or None. Its folders are judged before it."""
        for layers in (self.setting, self.vaultignore, self.gitignore):
            for layer in reversed(layers):
                decision = layer.decide(path, is_folder=is_folder)
                if decision is not None:
                    return f"left out by {layer.label}" if decision else None
        if any(rule.leaves_out(path, is_folder=is_folder) for rule in self.obsidian):
            return "among the excluded files of Obsidian"
        return None

    def with_file(self, name: bytes, data: bytes, *, folder: str) -> tuple["Ignores", list[str]]:
        """These rules and those of an ignore file found in `folder` (decoded, "" or ending in a slash), and warnings.

        The second value names lines that are no pattern; they match nothing, as in git.
        """
        label = folder + name.decode()
        patterns, bad = compile_patterns(decode_name(data.removeprefix(b"\xef\xbb\xbf")).split("\n"))
        warnings = [f"{label}: line {number} is not a pattern and matches nothing" for number in bad]
        if not patterns:
            return self, warnings
        layer = Layer.of(patterns, label=label, below=len(folder))
        if name == b".gitignore":
            return replace(self, gitignore=(*self.gitignore, layer)), warnings
        return replace(self, vaultignore=(*self.vaultignore, layer)), warnings

    def with_obsidian(self, data: bytes, *, folder: str) -> tuple["Ignores", list[str]]:
        """These rules and the excluded files of an `app.json`. Raises IgnoreFileError when it is not valid JSON."""
        label = f"{folder}.obsidian/app.json"
        try:
            options = json.loads(data.decode("utf-8-sig"))
        except ValueError as error:
            raise IgnoreFileError(f"{label} is not valid JSON, so Obsidian's excluded files are unknown") from error
        filters = options.get("userIgnoreFilters") if isinstance(options, dict) else None
        prefixes: list[str] = []
        expressions: list[re.Pattern[str]] = []
        warnings: list[str] = []
        for number, item in enumerate(filters if isinstance(filters, list) else [], start=1):
            text = item if isinstance(item, str) else ""
            if len(text) > 2 and text.startswith("/") and text.endswith("/"):
                try:
                    expressions.append(re.compile(_as_python(text[1:-1])))
                except re.error:
                    warnings.append(f"{label}: excluded file {number} is not a regular expression and matches nothing")
            elif text.strip("/"):
                prefixes.append(decode_name(text.lstrip("/").encode("utf-8", "surrogateescape")).casefold())
        if not prefixes and not expressions:
            return self, warnings
        rule = ObsidianFilter(prefixes=tuple(prefixes), expressions=tuple(expressions), below=len(folder))
        return replace(self, obsidian=(*self.obsidian, rule)), warnings


def compile_patterns(lines: Iterable[str]) -> tuple[tuple[tuple[re.Pattern[str], bool], ...], list[int]]:
    """Compile lines of .gitignore's syntax, by pathspec: (expression, leaves out?) and the numbers of lines that are
    no pattern."""
    from pathspec.patterns.gitignore import GitIgnorePatternError  # 40 ms that most no-op syncs need not pay
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    compiled: list[tuple[re.Pattern[str], bool]] = []
    bad: list[int] = []
    for number, line in enumerate(lines, start=1):
        text = _CLASS.sub(lambda match: _CLASSES.get(match[1], match[0]), line.removesuffix("\r"))
        if text.endswith("/**/"):  # the folders below a folder; pathspec takes it for the folder itself
            text = text[:-1] + "/*/"
        try:
            with warnings.catch_warnings(action="ignore", category=FutureWarning):  # `[[]` may mean more one day
                pattern = GitIgnoreSpecPattern(text)
        except (GitIgnorePatternError, re.error):
            bad.append(number)
            continue
        if pattern.regex is not None and pattern.include is not None:
            compiled.append((pattern.regex, pattern.include))
    return tuple(compiled), bad


def from_setting(patterns: Sequence[str]) -> tuple[Layer, ...]:
    """The layer of VAULT_EXCLUDE; none without patterns."""
    compiled, _bad = compile_patterns(patterns) if patterns else ((), [])
    return (Layer.of(compiled, label="VAULT_EXCLUDE"),) if compiled else ()


def above_vault(root: bytes) -> tuple[Layer, ...]:
    """Layers of the .gitignore files between the top of the repository and a vault that is a folder of it.

    None apply when one of them leaves out the vault itself: who names such a folder as vault wants it.
    Raises IgnoreFileError.
    """
    folders: list[bytes] = []
    folder = root
    while not os.path.lexists(os.path.join(folder, b".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return ()
        folders.append(parent)
        folder = parent
    if not folders:
        return ()
    way = decode_name(os.path.relpath(root, folder)) + "/"
    ignores = Ignores()
    start = 0
    for folder in reversed(folders):
        data = read_ignore_file(os.path.join(folder, b".gitignore"))
        if data is not None:
            ignores, _warnings = ignores.with_file(b".gitignore", data, folder=way[:start])
        start = way.index("/", start) + 1
        if ignores.reason(way[: start - 1], is_folder=True):
            return ()
    return tuple(
        replace(layer, above=way[layer.below :], below=0, label=f"the repository's {layer.label}")
        for layer in ignores.gitignore
    )


def read_ignore_file(path: bytes) -> bytes | None:
    """Bytes of an ignore file, None when there is none. Raises IgnoreFileError when it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO must not block the scan
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise IgnoreFileError(f"{decode_name(os.path.basename(path))}: {error.strerror}") from error
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LIMIT:
            raise IgnoreFileError(f"{decode_name(os.path.basename(path))} is not a file of at most {_LIMIT:,} bytes")
        return file.read(_LIMIT)


def _matches_itself(pattern: re.Pattern[str], subject: str, *, is_folder: bool) -> bool:
    """True when a pattern of pathspec is about the path itself and not about a folder above it, as git judges one
    step of the way at a time. The group `ps_d` is the slash behind what a pattern matched as a folder."""
    if pattern.pattern == _ONLY_FOLDERS:
        return is_folder
    match = pattern.search(subject)
    if match is None:
        return False
    slash = match.end("ps_d") if "ps_d" in pattern.groupindex else -1
    if is_folder:
        return slash == len(subject) or (slash == -1 and match.end() < len(subject))
    return slash == -1


def _as_python(expression: str) -> str:
    """A JavaScript regular expression in Python's syntax, as far as the two differ in what people use."""
    return re.sub(r"\(\?<(?![=!])", "(?P<", expression).replace(r"\/", "/")
