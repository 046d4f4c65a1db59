"""Compare a scan of the vault with what the tables know of it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pipelines.vault.content import is_racy
from pipelines.vault.scan import FoundFile, Scan


@dataclass(frozen=True, slots=True)
class Known:
    """What the tables know of one source. `left_out` and `problem` are reasons, or None."""

    id: int
    source: str
    folder: str
    size: int
    mtime_ns: int
    content_hash: str | None
    verified_ns: int
    left_out: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Differences:
    """What has to be looked at. `to_read` must be hashed to know whether it changed; the rest is certain.

    `shut_out` are known documents below a folder that a rule now leaves out: nothing of them may stay. `vanished` are
    known documents that are not there any more, under this name.
    """

    to_read: tuple[FoundFile, ...]
    vanished: tuple[Known, ...]
    shut_out: tuple[Known, ...]
    left_out: tuple[FoundFile, ...]
    problems: tuple[FoundFile, ...]
    unchanged: int

    def __bool__(self) -> bool:
        return bool(self.to_read or self.vanished or self.shut_out or self.left_out or self.problems)


def find_differences(scan: Scan, known: Mapping[str, Known], *, now_ns: int, full_hash_ns: int) -> Differences:
    """Sort the files of a scan by what is known of them.

    `now_ns` is the wall clock; contents verified longer than `full_hash_ns` ago are read again, which finds a file
    replaced by another of the same size and time. What lies under a folder that could not be listed has not vanished.
    """
    to_read: list[FoundFile] = []
    left_out: list[FoundFile] = []
    problems: list[FoundFile] = []
    unchanged = 0
    for source, found in scan.files.items():
        before = known.get(source)
        if found.excluded is not None:
            if before is None or before.left_out != found.excluded:
                left_out.append(found)
        elif found.problem is not None:
            if before is None or before.problem != found.problem:
                problems.append(found)
        elif before is not None and _is_unchanged(found, before, now_ns=now_ns, full_hash_ns=full_hash_ns):
            unchanged += 1
        else:
            to_read.append(found)
    missing = [row for source, row in known.items() if source not in scan.files]
    blind, shut = _below(scan.unreadable_folders), _below(scan.excluded_folders)
    return Differences(
        to_read=tuple(to_read),
        vanished=tuple(row for row in missing if not row.source.startswith((*blind, *shut))),
        shut_out=tuple(row for row in missing if row.source.startswith(shut)),
        left_out=tuple(left_out),
        problems=tuple(problems),
        unchanged=unchanged,
    )


def _below(folders: Collection[str]) -> tuple[str, ...]:
    return tuple(f"{folder}/" for folder in folders)


def is_suspicious_loss(
    vanished: Collection[Known],
    known: Collection[Known],
    *,
    fraction: float,
    minimum: int,
    may_be_empty: bool = False,
) -> bool:
    """Whether so much of the vault is gone that a failed mount is likelier than an editor.

    Counts only documents that hold text. An empty vault that had any is always suspicious, unless it `may_be_empty`.
    """
    held = sum(row.content_hash is not None for row in known)
    lost = sum(row.content_hash is not None for row in vanished)
    if held == 0 or lost == 0:
        return False
    return (lost == held and not may_be_empty) or (lost >= minimum and lost > fraction * held)


def match_moves(vanished: Collection[Known], hashes: Mapping[str, str]) -> dict[str, Known]:
    """New sources (a mapping to their content hash) that are vanished documents under another name.

    Of several documents with one content, those of the same file name find each other first, then those whose names
    differ in case, then those of one folder, then the rest; each at most once.
    """
    left = {row.source: row for row in vanished if row.content_hash is not None}
    moves: dict[str, Known] = {}
    for likeness in (_name, _folded_name, _folder, _nothing):
        waiting: dict[tuple[str | None, str], list[Known]] = {}
        for source in sorted(left, reverse=True):
            waiting.setdefault((left[source].content_hash, likeness(source)), []).append(left[source])
        for source in sorted(hashes.keys() - moves.keys()):
            if candidates := waiting.get((hashes[source], likeness(source))):
                moves[source] = candidates.pop()
                del left[moves[source].source]
    return moves


def _is_unchanged(found: FoundFile, before: Known, *, now_ns: int, full_hash_ns: int) -> bool:
    return (
        before.content_hash is not None
        and before.problem is None
        and (found.size, found.mtime_ns) == (before.size, before.mtime_ns)
        and not is_racy(found.mtime_ns, read_at_ns=before.verified_ns)
        and before.verified_ns > now_ns - full_hash_ns
    )


def _name(source: str) -> str:
    return source.rpartition("/")[2]


def _folded_name(source: str) -> str:
    return _name(source).casefold()


def _folder(source: str) -> str:
    return source.rpartition("/")[0]


def _nothing(_: str) -> str:
    return ""
