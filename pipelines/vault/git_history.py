"""When the content of each file was written, from one pass over the history of the vault's repository.

A file's date is the author's date of the newest commit that gave its path the content it has now. Paths are followed
backwards through renames that change nothing, so moving a note keeps its date, and a move with an edit renews it.
Content is told by git's own blob ids, which makes branches and merges come out right: a merge dates a file only where
the merge itself wrote something new.
"""

import subprocess
import threading
from collections.abc import Collection, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from pipelines.vault.git_command import GitMissing, command, environment, in_work_tree, run
from pipelines.vault.sources import source_of

_TIMEOUT = 120.0  # seconds; a full pass over 100,000 commits takes less
_FILE_MODES = (b"100644", b"100755", b"100664")  # neither links nor submodules
_READ = 1 << 16

_LOG = (
    "log",
    "--topo-order",
    "--format=%H %at",
    "-z",
    "--raw",
    "--no-abbrev",
    "--find-renames=100%",  # exact ones only: found by blob id, no content is read, no limit applies
    "-c",  # for a merge: what differs from every parent
    "--combined-all-paths",
    "--relative",
    # and what settings could change
    "-O/dev/null",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-show-signature",
    "--ignore-submodules=all",
    "HEAD",
    "--",
    ".",
)

_Key = tuple[bytes, bytes]
"""A path relative to the vault, and the blob id of its content."""


@dataclass(frozen=True, slots=True)
class GitDate:
    """When the content was written (UTC, by its author's clock), and the commit that brought it."""

    at: datetime
    commit: str


class GitDates(dict[str, GitDate]):
    """Dates by source. Sources that git cannot date are absent; `warnings` says why where a person should know."""

    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """One changed path of one commit. `origins` are the (path, blob) it has in each parent, None where it is new."""

    path: bytes
    blob: bytes
    origins: tuple[_Key | None, ...]


class _GitFailed(Exception):
    """A git command failed; the text is for people."""


def head_commit(root: Path) -> str | None:
    """Commit that the vault's work tree is on; None outside of one, before the first commit, or when git fails.

    Starts no process where no folder above holds a `.git`.
    """
    if not in_work_tree(root):
        return None
    try:
        answer = run(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", timeout=_TIMEOUT)
    except (GitMissing, OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.decode().strip() or None if answer.returncode == 0 else None


def git_dates(root: Path, *, only: Collection[bytes] | None = None, timeout: float = _TIMEOUT) -> GitDates:
    """Dates of the vault's committed files, keyed by source. `only` (paths relative to the root, as on disk) ends the
    pass as soon as these are dated.

    Absent are: files with changes that are not committed, files whose content is as old as the edge of a shallow
    clone (its true date was not fetched), links and submodules. A rename from outside the vault counts as new, since
    only the vault's own part of the history is read. Never raises for git's sake: without git, without a repository or
    when git refuses, the result is empty and its `warnings` say what to do.
    """
    dates = GitDates()
    if not in_work_tree(root) or (only is not None and not only):
        return dates
    try:
        prefix, edge = _repository(root, timeout)
        wanted = _committed(root, prefix, only, timeout)
        if not wanted:
            return dates
        undated = 0
        for path, commit, seconds in _walk_back(root, wanted, timeout):
            if commit in edge:
                undated += 1
            elif (at := _moment(seconds)) is not None:
                dates[source_of(path)] = GitDate(at, commit)
        if undated:
            dates.warnings = (
                f"git: the clone is shallow, {undated} files are older than its history and have no date from git; "
                "`git fetch --unshallow` brings the rest",
            )
    except (GitMissing, _GitFailed, OSError) as error:
        return _none(f"git: {error}; no dates are taken from git")
    except subprocess.TimeoutExpired:
        return _none(f"git: no answer within {timeout:g} seconds; no dates are taken from git")
    return dates


def _none(warning: str) -> GitDates:
    dates = GitDates()
    dates.warnings = (warning,)
    return dates


def _repository(root: Path, timeout: float) -> tuple[bytes, frozenset[str]]:
    """The vault's path in its repository ("" or ending in a slash), and the commits at a shallow clone's edge."""
    # Two answers, a line each; the second is the name of a folder and may hold line breaks itself.
    answer = _checked(root, "rev-parse", "--is-shallow-repository", "--show-prefix", timeout=timeout)
    is_shallow, _, prefix = answer.removesuffix(b"\n").partition(b"\n")
    if is_shallow != b"true":
        return prefix, frozenset()
    path = _checked(root, "rev-parse", "--git-path", "shallow", timeout=timeout).decode().removesuffix("\n")
    return prefix, frozenset((root / path).read_text().split())


def _committed(root: Path, prefix: bytes, only: Collection[bytes] | None, timeout: float) -> dict[_Key, list[bytes]]:
    """Files whose bytes on disk are those of HEAD: (path, blob) -> the paths it will date."""
    if run(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", timeout=timeout).returncode:
        return {}  # no commit yet
    changed = set()
    options = ("--porcelain=v1", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=all")
    for line in _checked(root, "status", *options, "--", ".", timeout=timeout).split(b"\0"):
        if line[3:].startswith(prefix):
            changed.add(line[3 + len(prefix) :])
    sources = None if only is None else {source_of(path) for path in only}
    wanted: dict[_Key, list[bytes]] = {}
    for line in _checked(root, "ls-tree", "-r", "-z", "HEAD", timeout=timeout).split(b"\0"):
        about, _, path = line.partition(b"\t")
        if not path or path in changed or not about.startswith(_FILE_MODES):
            continue
        if sources is None or source_of(path) in sources:
            wanted[path, about.split(b" ")[2]] = [path]
    return wanted


def _walk_back(root: Path, wanted: dict[_Key, list[bytes]], timeout: float) -> Iterator[tuple[bytes, str, int | None]]:
    """Go through the history, newest first, until every wanted file is dated: (path, commit, author's time)."""
    with closing(_log(root, timeout)) as log:
        for commit, seconds, entry in log:
            paths = wanted.pop((entry.path, entry.blob), None)
            if paths is None:
                continue
            origin = next((origin for origin in entry.origins if origin is not None and origin[1] == entry.blob), None)
            if origin is None:
                yield from ((path, commit, seconds) for path in paths)
            else:  # moved and not changed: an older commit wrote it, under the older name
                wanted.setdefault(origin, []).extend(paths)
            if not wanted:
                return


def _log(root: Path, timeout: float) -> Generator[tuple[str, int | None, _Entry], None, None]:
    """Every change of the history as (commit, author's time in seconds, entry). Parents come after their children."""
    process = subprocess.Popen(
        command(root, _LOG),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    late = threading.Event()

    def stop() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(timeout, stop)
    timer.start()
    finished = False
    try:
        yield from _entries(_tokens(process.stdout))
        finished = True
    finally:
        timer.cancel()
        if not finished:
            process.kill()
        _output, message = process.communicate()
        if late.is_set():
            raise _GitFailed(f"reading the history took longer than {timeout:g} seconds")
        if finished and process.returncode:
            raise _GitFailed(_in_words(message))


def _tokens(output: IO[bytes]) -> Iterator[bytes]:
    """Split at NUL without reading all of it first."""
    rest = b""
    while block := output.read(_READ):
        *tokens, rest = (rest + block).split(b"\0")
        yield from tokens
    if rest:
        yield rest


def _entries(tokens: Iterator[bytes]) -> Iterator[tuple[str, int | None, _Entry]]:
    """Parse `git log --raw -z -c --combined-all-paths`.

    A commit's header is followed by entries `:mode mode blob blob status`, with one more colon, mode, blob and letter
    for each further parent, each followed by its paths: one, two for a rename, one a parent and one for a merge.
    """
    commit, seconds = "", None
    for token in tokens:
        text = token.lstrip(b"\n")
        if not text.startswith(b":"):
            if text:
                header, _, time = text.partition(b" ")
                commit, seconds = header.decode(), int(time) if time else None
            continue
        parents = len(text) - len(text.lstrip(b":"))
        fields = text[parents:].split(b" ")
        blobs, status = fields[parents + 1 : 2 * parents + 2], fields[-1]
        if parents > 1:
            names = [next(tokens) for _ in range(parents)]
            path = next(tokens)
        else:
            names = [next(tokens)]
            path = next(tokens) if status[:1] in (b"R", b"C") else names[0]
        origins = tuple(
            (name, blob) if blob.strip(b"0") else None for name, blob in zip(names, blobs[:parents], strict=True)
        )
        yield commit, seconds, _Entry(path, blobs[-1], origins)


def _checked(root: Path, *arguments: str, timeout: float) -> bytes:
    answer = run(root, *arguments, timeout=timeout)
    if answer.returncode:
        raise _GitFailed(_in_words(answer.stderr))
    return answer.stdout


def _in_words(message: bytes) -> str:
    text = message.decode("utf-8", "replace").strip()
    if "dubious ownership" in text:
        return (
            "the repository belongs to another user, so git does not read it; allow it with "
            "`git config --global --add safe.directory FOLDER`, FOLDER being the repository's top"
        )
    return text.splitlines()[0].removeprefix("fatal: ") if text else "git failed without a word"


def _moment(seconds: int | None) -> datetime | None:
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None  # a date that no calendar has
