"""Files of the folder of uploads: written under a hidden name, shown complete and at once, listed, deleted."""

import contextlib
import errno
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipelines.serving.problems import Problem, Refused
from pipelines.serving.upload_names import SAMPLE, check_content
from pipelines.vault.content import HASH_BYTES
from pipelines.vault.folders import UPLOADS
from pipelines.vault.scan import FoundFile
from pipelines.vault.uploads import prepare, scan_uploads

_PART = ".upload-"
_ABANDONED = 86_400.0
"""Seconds after which a part that nobody completed is one of a server that was killed."""


@dataclass(frozen=True, slots=True)
class Received:
    """A file that has its place: `digest` is the hash of its content as a scan computes it."""

    source: str
    bytes: int
    digest: str


class Receiving:
    """A file on its way. Not there for anybody before `finish`; `abandon` leaves no trace. Blocks; one thread."""

    def __init__(self, root: Path, name: str, *, most: int, room: int) -> None:
        """`most`: bytes of a file; `room`: bytes that are left for all of them. Raises Refused."""
        self.name = name
        self._root, self._most, self._room = root, most, room
        self._size = 0
        self._head = b""
        self._hash = hashlib.blake2b(digest_size=HASH_BYTES)
        self._part = root / f"{_PART}{secrets.token_hex(8)}.part"
        with _told():
            prepare(root)
            self._file = os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb")

    def write(self, data: bytes) -> None:
        """Take the next bytes. Raises Refused when there are too many, or no room for them."""
        self._size += len(data)
        if self._size > self._most:
            raise Refused(Problem(413, "too_large", f"a file may have {self._most:,} bytes at most"))
        if self._size > self._room:
            raise Refused(Problem(507, "no_room", "the uploads have reached UPLOADS_MAX_BYTES: delete some first"))
        if len(self._head) < SAMPLE:
            self._head += data[: SAMPLE - len(self._head)]
        self._hash.update(data)
        with _told():
            self._file.write(data)

    def finish(self) -> Received:
        """Give the file its name; what had it before is replaced. Raises Refused for what is not what it is called."""
        check_content(self.name, self._head, self._size)
        with _told():
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._part.rename(self._root / self.name)
            _sync_folder(self._root)
        return Received(f"{UPLOADS}/{self.name}", self._size, self._hash.hexdigest())

    def abandon(self) -> None:
        """Forget what has come so far; nothing happens after `finish`."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._part.unlink(missing_ok=True)


def list_files(root: Path) -> list[FoundFile]:
    """The uploads by name."""
    return list(scan_uploads(root).files.values())


def delete_file(root: Path, found: FoundFile) -> None:
    """Delete one of the files listed. Gone already is as good."""
    name = found.disk_path.removeprefix(f"{UPLOADS}/".encode())
    with _told(), contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(os.fsencode(root), name))  # noqa: PTH108, PTH118  # bytes


def clear_parts(root: Path) -> None:
    """Delete what servers that were killed left behind. Another server may be receiving: young parts stay."""
    with contextlib.suppress(OSError):
        for part in root.glob(f"{_PART}*.part"):
            if time.time() - part.stat().st_mtime > _ABANDONED:
                part.unlink(missing_ok=True)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Refuse with what the system says, without a path."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Refused(Problem(507, "no_room", "the disk of the uploads is full")) from error
        if error.errno in (errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY):
            raise Refused(Problem(409, "name_taken", "a folder has that name among the uploads")) from error
        reason = f"the folder of uploads cannot be written: {error.strerror}"
        raise Refused(Problem(503, "uploads_unavailable", reason)) from error


def _sync_folder(root: Path) -> None:
    """Have the new name survive a power cut. Not every file system can."""
    with contextlib.suppress(OSError):
        folder = os.open(root, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
