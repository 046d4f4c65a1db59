"""What keeps a file that is there from being read, seen without opening it."""

import errno
import os
import stat

_SF_DATALESS = 0x40000000  # macOS <sys/stat.h>: the content is not on this machine
_SMALL = 1024  # bytes; ext4 and others can keep a file of this size inside its inode, with no block of its own
_IN_CLOUD = "its content is not on this machine (a cloud placeholder): download it"
_KINDS = ((stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISDIR, "a folder"))


def unreadable(path: bytes, status: os.stat_result) -> str | None:
    """Why the file cannot be read, or None as far as its status tells. `status` is that of the file at `path`."""
    if not stat.S_ISREG(status.st_mode):
        kind = next((words for test, words in _KINDS if test(status.st_mode)), "a device")
        return f"not a file but {kind}"
    if not status.st_mode & stat.S_IROTH and not os.access(path, os.R_OK, effective_ids=_EFFECTIVE):
        return "no permission to read it"
    if getattr(status, "st_flags", 0) & _SF_DATALESS:
        return _IN_CLOUD
    return None


_EFFECTIVE = os.access in os.supports_effective_ids


class Placeholders:
    """Finds files whose content a sync client took away to save space: a size, and not one block on the disk (X08).

    Network and virtual file systems exist that report no blocks for anything. So a file of no blocks counts only
    where another file of the same file system has some, or where the file system says that all of it is a hole.
    """

    def __init__(self, base: bytes) -> None:
        self._base = base
        self._reporting: set[int] = set()
        self._suspects: dict[bytes, tuple[int, int]] = {}

    def look(self, disk_path: bytes, status: os.stat_result) -> None:
        """Note the status of a file that can be read as far as is known."""
        if status.st_blocks:
            self._reporting.add(status.st_dev)
        elif status.st_size:
            self._suspects[disk_path] = (status.st_size, status.st_dev)

    def found(self) -> list[tuple[bytes, str]]:
        """(path on disk, problem) of every placeholder."""
        return [
            (disk_path, _IN_CLOUD)
            for disk_path, (size, device) in self._suspects.items()
            if (device in self._reporting and size > _SMALL) or _is_hole(self._base + disk_path)
        ]


def _is_hole(path: bytes) -> bool:
    """True when the file system knows of no data in the file. Asks without reading, so nothing is downloaded."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.lseek(descriptor, 0, os.SEEK_DATA)
    except OSError as error:
        return error.errno == errno.ENXIO
    finally:
        os.close(descriptor)
    return False
