"""What an uploaded file may be called, and whether it is what its name says: plain reasons where not.

Names are refused and not repaired: two names repaired into one would be one file that replaced the other.
"""

import re
import unicodedata

from pipelines.errors import DocumentError
from pipelines.parsing.encoding import decode
from pipelines.serving.problems import Problem, Refused
from pipelines.vault.rules import is_hidden, is_temporary, unwanted_copy
from pipelines.vault.uploads import TYPES

LONGEST_NAME = 255
"""Bytes of a name: the limit of ext4, XFS, APFS and NTFS."""

SAMPLE = 65_536
"""Bytes from the beginning of a file that tell what it is."""

_HEADER_WITHIN = 1_024  # bytes in which readers look for a PDF's header; ISO 32000-1, annex H.3.4.1
_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
_DEVICES = re.compile(r"(?i)(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)")


def checked_name(raw: bytes) -> str:
    """The name in Unicode NFC, without blanks around it. Raises Refused with what is wrong with it."""
    try:
        name = unicodedata.normalize("NFC", raw.decode("utf-8")).strip()
    except UnicodeDecodeError:
        raise _bad_name("the file's name is not UTF-8") from None
    if not name:
        raise _bad_name("the file has no name")
    if _CONTROLS.search(name):
        raise _bad_name("the file's name holds a control character or a mark that turns text around")
    if "/" in name or "\\" in name:
        raise _bad_name("send a file name, not a path: it must not hold / or \\")
    if len(name.encode()) > LONGEST_NAME:
        raise _bad_name(f"the file's name has more than {LONGEST_NAME} bytes")
    if is_hidden(name.encode()):
        raise _bad_name("names that begin with a dot are not read")
    if name.endswith("."):
        raise _bad_name("the file's name ends in a dot")
    if _DEVICES.match(name):
        raise _bad_name(f"{name.partition('.')[0]} is the name of a device on Windows: give the file another one")
    if is_temporary(name.encode()):
        raise _bad_name("editors and sync tools give such names to files they will delete: give the file another one")
    if reason := unwanted_copy(name):
        raise _bad_name(f"left out: {reason}. Give the file another name if you want it")
    if media_type_of(name) is None:
        kinds = ", ".join(sorted(TYPES))
        raise Refused(Problem(415, "unsupported_file", f"only PDF, Markdown and text files are taken: {kinds}"))
    return name


def media_type_of(name: str) -> str | None:
    """How a file of this name is parsed, or None."""
    _, dot, ending = name.rpartition(".")
    return TYPES.get(f"{dot}{ending}".lower())


def check_content(name: str, head: bytes, size: int) -> None:
    """Raise Refused if a file's first bytes are not what its name says."""
    if size == 0:
        raise Refused(Problem(400, "empty_file", "the file is empty"))
    if media_type_of(name) == "pdf":
        if b"%PDF-" not in head[: _HEADER_WITHIN + 5]:
            raise _wrong_content("the file's name says PDF, its content does not")
        return
    if b"%PDF-" in head[:_HEADER_WITHIN]:
        raise _wrong_content("this is a PDF with the name of a text: let its name end in .pdf")
    try:
        decode(_whole_lines(head) if size > len(head) else head)
    except DocumentError as error:
        raise _wrong_content(str(error).partition(":")[0]) from None


def _whole_lines(head: bytes) -> bytes:
    """Without the line that the sample cuts, and of an even length, as UTF-16 needs it."""
    end = head.rfind(b"\n") + 1
    return head if end < len(head) // 2 or b"\x00" in head else head[:end]


def _bad_name(reason: str) -> Refused:
    return Refused(Problem(400, "bad_name", reason))


def _wrong_content(reason: str) -> Refused:
    return Refused(Problem(415, "wrong_content", reason))
