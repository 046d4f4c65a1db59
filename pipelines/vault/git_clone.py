"""A clone that Vaultline keeps of the vault's git remote: made once, then set to what the remote has.

The clone belongs to Vaultline: local changes are thrown away, history may be rewritten at the remote. It is complete
(dates need the history) and has no submodules, no content of Git LFS and no hooks.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipelines.errors import RemoteRefused, RemoteUnreachable, VaultError, VaultUnavailable
from pipelines.vault.git_command import GitMissing, run
from pipelines.vault.git_remote import Remote
from pipelines.vault.sources import source_of

_MARK = "vaultline-clone"  # a file in .git: this folder is ours to throw away
_WANTED, _APPLIED = "refs/vaultline/wanted", "refs/vaultline/applied"
_SUBJECT_LIMIT = 200  # characters; it becomes a tag of a run
_LOCAL_SECONDS = 600.0
_OPTIONS = (
    # What Git LFS sets up for all of a user's repositories would download the content behind each pointer.
    *("-c", "filter.lfs.process=", "-c", "filter.lfs.smudge=", "-c", "filter.lfs.clean="),
    *("-c", "filter.lfs.required=false", "-c", "core.autocrlf=false", "-c", "submodule.recurse=false"),
    *("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=30"),
)
_ENVIRONMENT = {"GIT_LFS_SKIP_SMUDGE": "1", "SSH_ASKPASS_REQUIRE": "never"}
Kind = Literal["added", "changed", "deleted"]
_LOCKS = ("index", "HEAD", "config", "shallow", "packed-refs", _WANTED, _APPLIED)


@dataclass(frozen=True, slots=True)
class Change:
    """One file that a push changed; a rename is a deletion and an addition. `disk_path` is relative to the clone."""

    kind: Kind
    source: str
    disk_path: bytes


@dataclass(frozen=True, slots=True)
class GitUpdate:
    """The commit the clone was at (None: it is new) and is at now, with that one's author and subject.

    `changed` compares the two, whatever the history between them, and is empty when nothing is new.
    """

    before: str | None
    after: str
    author: str
    subject: str
    changed: tuple[Change, ...] = ()


def update(url: str, branch: str | None, destination: Path, *, timeout: float = 300.0) -> GitUpdate:
    """Bring the clone in `destination` to the remote's `branch` (None: its default branch). Makes it at first.

    One short question to the remote when nothing is new. `timeout` is in seconds, for each conversation with the
    remote. An interrupted update is completed by the next one; two at once take turns.

    Raises RemoteUnreachable (transient), RemoteRefused (credentials, address, branch, no commit yet), VaultUnavailable
    when `destination` holds something that is not such a clone, VaultError for the rest. The clone stays as it was.
    """
    remote = Remote.parse(url)
    try:
        with _alone(destination, timeout) as clone:
            _check_ours(clone)
            commit = _asked(remote, branch, destination.parent, timeout)
            try:
                return _advance(remote, branch, clone, commit, timeout)
            except _Damaged:
                return _anew(remote, branch, clone, commit, timeout)
    except _Damaged as error:
        raise VaultError(f"the clone of {remote.shown} cannot be made in {destination}: {error}") from error
    except OSError as error:
        raise VaultError(f"the clone in {destination} cannot be written: {error.strerror}") from error


def changes_between(destination: Path, before: str | None, after: str) -> tuple[Change, ...]:
    """Files that differ between two commits of the clone; all files when `before` is None or not known any more.

    So a cursor that names the last commit a run succeeded with gives the right answer after a forced push as well.
    Links and submodules are not among them. Raises VaultError when the clone cannot be read.
    """
    try:
        return _changes(_Clone(destination), before, after)
    except _Damaged as error:
        raise VaultError(f"the clone in {destination} cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class _Clone:
    """A clone to work on, and the open file of the lock that every git at work on it holds as well: should we be
    killed, it works on for a moment, and the next update waits for it instead of fighting it."""

    path: Path
    lock: tuple[int, ...] = ()

    def inner(self, name: str) -> Path:
        return self.path / ".git" / name


class _Damaged(Exception):
    """The clone is not there or not usable: make it anew."""


def _asked(remote: Remote, branch: str | None, folder: Path, timeout: float) -> str:
    """The commit that the remote has now."""
    ref = f"refs/heads/{branch}" if branch else "HEAD"
    # Without the lock: a helper that git starts here may stay for longer, such as `credential-cache`.
    lines = _talk(
        remote, _Clone(folder), timeout, "ls-remote", "--", remote.address, "HEAD", "refs/heads/*"
    ).splitlines()
    commits = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
    if ref in commits:
        return commits[ref]
    if not any(name.startswith("refs/heads/") for name in commits):
        raise RemoteRefused(f"git remote {remote.shown}: has no commit yet; it is read after the first push")
    if branch is None:
        raise RemoteRefused(f"git remote {remote.shown}: has no default branch; name one by VAULT_GIT_BRANCH")
    raise RemoteRefused(f"git remote {remote.shown}: has no branch {branch!r}; check VAULT_GIT_BRANCH")


def _advance(remote: Remote, branch: str | None, clone: _Clone, commit: str, timeout: float) -> GitUpdate:
    before = _resolve(clone, _APPLIED)
    _unlock(clone)
    if before == commit:
        if _git(clone, _LOCAL_SECONDS, "diff-index", "--quiet", commit).returncode:
            _apply(clone, commit)  # someone changed the files
        return _told(clone, before, before)
    _fetch(remote, branch, clone, timeout)
    after = _resolve(clone, _WANTED)
    if after is None:
        raise _Damaged("the fetched commit is missing")
    _apply(clone, after)
    return _told(clone, before, after)


def _anew(remote: Remote, branch: str | None, clone: _Clone, commit: str, timeout: float) -> GitUpdate:
    """Make the clone beside its place and put it there when it is complete."""
    fresh, old = (clone.path.with_name(f"{clone.path.name}.{ending}") for ending in ("new", "old"))
    for leftover in (fresh, old):
        shutil.rmtree(leftover, ignore_errors=True)
    fresh.mkdir(parents=True)
    made = _Clone(fresh, clone.lock)
    kind = "sha256" if len(commit) == 64 else "sha1"
    _local(made, "init", "--quiet", "--template=", "--initial-branch=vaultline", f"--object-format={kind}")
    made.inner(_MARK).write_text("This clone is kept by Vaultline and may be replaced at any time.\n")
    _fetch(remote, branch, made, timeout)
    after = _resolve(made, _WANTED)
    if after is None:
        raise _Damaged(f"the commit {commit} could not be fetched")
    _apply(made, after)
    if clone.path.exists():
        clone.path.rename(old)
    fresh.rename(clone.path)
    shutil.rmtree(old, ignore_errors=True)
    return _told(clone, None, after)


def _fetch(remote: Remote, branch: str | None, clone: _Clone, timeout: float) -> None:
    spec = f"+{f'refs/heads/{branch}' if branch else 'HEAD'}:{_WANTED}"
    options = ("--quiet", "--no-tags", "--no-recurse-submodules", "--update-shallow", "--no-write-fetch-head")
    _talk(remote, clone, timeout, "fetch", *options, "--", remote.address, spec)


def _apply(clone: _Clone, commit: str) -> None:
    """Set the files to a commit. Files that do not differ keep their dates; a killed reset is repeated."""
    _local(clone, "reset", "--quiet", "--hard", "--no-recurse-submodules", commit)
    _local(clone, "clean", "--quiet", "-ffdx")
    _local(clone, "update-ref", _APPLIED, commit)
    _local(clone, "-c", "gc.auto=6700", "-c", "gc.autoDetach=false", "gc", "--auto", "--quiet")


def _changes(clone: _Clone, before: str | None, after: str) -> tuple[Change, ...]:
    if before is None or not _knows(clone, before):
        before = _local(clone, "hash-object", "-t", "tree", os.devnull)  # the empty tree
    output = _local(clone, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", before, after)
    tokens = iter(output.split("\0"))
    changes = []
    for about in tokens:
        if not about:
            continue
        disk_path = os.fsencode(next(tokens))
        was_file, is_file = (mode.startswith("100") for mode in about[1:].split(" ")[:2])
        if was_file or is_file:
            kind: Kind = "deleted" if not is_file else "changed" if was_file else "added"
            changes.append(Change(kind, source_of(disk_path), disk_path))
    return tuple(changes)


def _unlock(clone: _Clone) -> None:
    """Remove locks of git processes that were killed: we are the only ones at work here."""
    for name in _LOCKS:
        clone.inner(f"{name}.lock").unlink(missing_ok=True)


def _told(clone: _Clone, before: str | None, after: str) -> GitUpdate:
    about = _local(clone, "log", "-1", "--no-show-signature", "--encoding=UTF-8", "--format=%an%x00%s", after)
    author, _, subject = about.rstrip("\n").partition("\0")
    changed = _changes(clone, before, after) if before != after else ()
    return GitUpdate(before, after, _one_line(author), _one_line(subject), changed)


def _one_line(text: str) -> str:
    printable = "".join(char if char.isprintable() else " " for char in text).strip()
    return printable if len(printable) <= _SUBJECT_LIMIT else printable[: _SUBJECT_LIMIT - 1] + "…"


def _resolve(clone: _Clone, name: str) -> str | None:
    """Commit of a ref. Raises _Damaged when the folder is no usable clone."""
    if not clone.inner(_MARK).is_file():
        raise _Damaged("it is not there")
    answer = _git(clone, _LOCAL_SECONDS, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if answer.returncode and answer.stderr.strip():
        raise _Damaged(answer.stderr.decode("utf-8", "replace").strip())
    return answer.stdout.decode().strip() or None


def _knows(clone: _Clone, commit: str) -> bool:
    if commit.startswith("-"):
        return False
    return not _git(clone, _LOCAL_SECONDS, "cat-file", "-e", f"{commit}^{{commit}}").returncode


def _talk(remote: Remote, place: _Clone, timeout: float, *arguments: str) -> str:
    """A conversation with the remote."""
    try:
        answer = _git(place, timeout, *remote.options, *arguments, secrets=remote.secrets)
    except subprocess.TimeoutExpired:
        raise RemoteUnreachable(f"git remote {remote.shown}: no answer within {timeout:g} seconds") from None
    if answer.returncode:
        raise remote.failure(answer.stderr)
    return os.fsdecode(answer.stdout)


def _local(clone: _Clone, *arguments: str) -> str:
    """A command on the clone alone. Raises _Damaged when it fails."""
    try:
        answer = _git(clone, _LOCAL_SECONDS, *arguments)
    except subprocess.TimeoutExpired as error:
        raise VaultError(f"git {arguments[0]} in {clone.path} took longer than {_LOCAL_SECONDS:g} seconds") from error
    message = answer.stderr.decode("utf-8", "replace").strip()
    if "No space left on device" in message:
        raise VaultError(f"the disk that holds {clone.path} is full")
    if answer.returncode:
        raise _Damaged(message)
    return os.fsdecode(answer.stdout).removesuffix("\n")


def _git(
    place: _Clone, timeout: float, *arguments: str, secrets: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    try:
        extra = {**_ENVIRONMENT, **(secrets or {})}
        return run(place.path, *_OPTIONS, *arguments, timeout=timeout, extra=extra, pass_fds=place.lock)
    except GitMissing as error:
        raise VaultUnavailable(f"VAULT_GIT_URL is set, but {error}") from error


def _check_ours(clone: _Clone) -> None:
    if clone.path.exists() and not clone.inner(_MARK).is_file() and any(clone.path.iterdir()):
        raise VaultUnavailable(f"{clone.path} holds something that is not Vaultline's clone; move it away")


@contextlib.contextmanager
def _alone(destination: Path, timeout: float) -> Iterator[_Clone]:
    """Only one process works on a clone. The lock goes with the last process that holds it, however that ends."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    with destination.with_name(f"{destination.name}.lock").open("w") as lock:
        deadline = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise RemoteUnreachable(f"another process has been updating {destination} for too long") from None
                time.sleep(0.05)
        yield _Clone(destination, (lock.fileno(),))
