"""Names: from the bytes that a disk or git holds to the source that a citation shows."""

import re
import unicodedata

_UNSAFE = re.compile(r"[\udc80-\udcff]|\\(?=(?:134)*[23][0-7]{2})")


def decode_name(name: bytes) -> str:
    """Text of a file name or path, in Unicode NFC; each byte that is not UTF-8 becomes a lone surrogate.

    Patterns of ignore files are matched against this form. It cannot be stored: see `source_of_text`.
    """
    text = name.decode("utf-8", "surrogateescape")
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def source_of_text(text: str) -> str:
    r"""Make a decoded path storable: a byte that is not UTF-8 is written as git writes it, `\` and three octal digits.

    `canci\xf3n.md` in Latin-1 becomes `canci\363n.md`. So that no two names share a source, a backslash that could be
    read as such an escape is itself written `\134`. Octal and not hexadecimal: a combining accent can follow the
    escape, and NFC would merge it with a letter but never with a digit.
    """
    if text.isascii() and "\\" not in text:
        return text
    return _UNSAFE.sub(lambda match: f"\\{ord(match[0]) & 0xFF:03o}", text)


def source_of(disk_path: bytes) -> str:
    """Source of a path relative to the vault, as the disk or git holds it: NFC, POSIX, storable in Postgres."""
    return source_of_text(decode_name(disk_path))
