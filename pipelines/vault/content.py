"""Reading a file of the vault: whole, unchanged while it was read, and never anything but a file."""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import TypeVar

from pipelines.errors import DocumentError
from pipelines.vault.scan import FoundFile

HASH_BYTES = 16
"""Length of a content hash; 32 characters in hexadecimal."""

# The pointer that Git LFS leaves where the content was not fetched: its specification says under 1,024 bytes, UTF-8,
# first line `version`, keys sorted. The other two are the names that its first versions used.
_LFS_LIMIT = 1024
_LFS_VERSIONS = (
    b"version https://git-lfs.github.com/spec/",
    b"version https://hawser.github.com/spec/",
    b"version http://git-media.io/v/",
)
_COARSE_NS = 2_000_000_000  # FAT keeps dates in steps of two seconds, the coarsest in use

Result = TypeVar("Result")


def read_stable(
    path: Path | bytes, *, follow_links: bool = False, attempts: int = 3, pause: float = 0.2
) -> tuple[bytes, int, int]:
    """Bytes of a file, their number and the file's mtime in ns, all of one moment.

    A file that changes while it is read is read again after `pause` seconds, up to `attempts` times. Raises
    FileNotFoundError when the file is gone (the next scan says what that means), DocumentError when it is still being
    written or cannot be read. The last part of the path may be a link only with `follow_links`.
    """
    data, status = _unchanged(path, FileIO.readall, follow_links=follow_links, attempts=attempts, pause=pause)
    if data is None or len(data) != status.st_size:
        raise DocumentError("still being written: the file changed while it was read; it is read again later")
    return data, status.st_size, status.st_mtime_ns


def hash_bytes(data: bytes) -> str:
    """Hash of a document's bytes: BLAKE2b of 16 bytes, in hexadecimal."""
    return hashlib.blake2b(data, digest_size=HASH_BYTES).hexdigest()


def hash_file(path: Path | bytes, *, follow_links: bool = False, attempts: int = 3, pause: float = 0.2) -> str:
    """`hash_bytes` of a file's content in constant memory. Raises what `read_stable` raises."""

    def digest(file: FileIO) -> str:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=HASH_BYTES)).hexdigest()

    return _unchanged(path, digest, follow_links=follow_links, attempts=attempts, pause=pause)[0]


def is_lfs_pointer(data: bytes) -> bool:
    """True when the bytes are not the content but Git LFS's note of where it is."""
    return len(data) < _LFS_LIMIT and data.startswith(_LFS_VERSIONS) and b"\noid " in data


def quiet_for(found: FoundFile, *, seconds: float, now_ns: int) -> bool:
    """True when nothing has been written to the file for some seconds: a save or copy is over, as far as its date
    tells. A date in the future (a clock that was wrong) tells nothing and counts as quiet."""
    age = now_ns - found.mtime_ns
    return age < 0 or age >= seconds * 1e9


def is_racy(mtime_ns: int, *, read_at_ns: int) -> bool:
    """True when a file was read so soon after its last change that one more change could leave the same date and
    size. Its hash must be compared again by the next scan, whatever its status says (git's racy index)."""
    return mtime_ns + _COARSE_NS > read_at_ns


def _unchanged(
    path: Path | bytes, read: Callable[[FileIO], Result], *, follow_links: bool, attempts: int, pause: float
) -> tuple[Result, os.stat_result]:
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause)
        try:
            with _open(path, follow_links=follow_links) as file:
                before = os.fstat(file.fileno())
                if not stat.S_ISREG(before.st_mode):
                    raise DocumentError("not a file any more: a folder, pipe or device has its name")
                result = read(file)
                after = os.fstat(file.fileno())
        except OSError as error:
            raise _translated(error) from error
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            return result, after
    raise DocumentError("still being written: the file changed while it was read; it is read again later")


def _open(path: Path | bytes, *, follow_links: bool) -> FileIO:
    """Open for reading. Without O_NOFOLLOW a link put in the file's place would lead out of the vault, and without
    O_NONBLOCK a named pipe in its place would wait for ever."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    return FileIO(os.open(path, flags))


def _translated(error: OSError) -> Exception:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return FileNotFoundError(error.errno, "the file is gone", error.filename)
    if error.errno == errno.ELOOP:
        return DocumentError("a link has taken its place; links are not followed")
    return DocumentError(f"cannot be read: {error.strerror}")
