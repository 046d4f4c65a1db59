"""Partition keys: from a source to the folder it is processed with, in a form that every part of Dagster takes.

Dagster's UI splits at commas and cannot type spaces, `...` marks a range, control characters are refused, and a key
becomes a file name. So keys are percent-encoded ASCII of at most 200 characters, and no two folders share one.
"""

import hashlib
import re
import unicodedata
from urllib.parse import quote, unquote

ROOT_KEY = "_root"
"""Key of the files at the top of the vault."""

UPLOADS = ".uploads"
"""First part of the sources of uploaded files. No folder of a vault is called so: names with a dot are left out."""

KEY_LIMIT = 200
"""Characters of the longest key. A file name may have 255 bytes, and programs add endings to it."""

_CUT = "~"  # quote() leaves a tilde alone, so it is encoded below and then marks a shortened key beyond doubt
_HASH_BYTES = 16
# A key never starts with a dot and never holds two in a row: `..` is a place and `...` a range of Dagster.
_RISKY_DOTS = re.compile(r"^\.|\.(?=\.)|(?<=\.)\.")
_RESERVED = re.compile(r"_root|bucket-\d{4}")
_BUCKET = re.compile(r"bucket-(\d{4})")
UPLOADS_KEY = "%2Euploads"
"""`folder_key(UPLOADS)`: the partition of uploaded files."""


def folder_of(source: str, *, depth: int = 1, buckets: int = 0) -> str:
    """Partition key of a source: its first `depth` folders, or one of `buckets` keys by a stable hash of the source."""
    name = unicodedata.normalize("NFC", source)
    if is_upload(name):
        return UPLOADS_KEY
    if buckets > 0:
        digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8).digest()
        return f"bucket-{int.from_bytes(digest) % buckets:04d}"
    return folder_key("/".join(name.split("/")[:-1][:depth]))


def is_upload(source: str) -> bool:
    """Whether a source is an uploaded file's: those are a partition of their own, whatever the settings say."""
    return source.startswith(f"{UPLOADS}/")


def folder_key(folder: str) -> str:
    """Partition key of a folder given as path relative to the vault; "" is the top."""
    name = unicodedata.normalize("NFC", folder)
    if not name:
        return ROOT_KEY
    key = _RISKY_DOTS.sub("%2E", quote(name, safe="", errors="surrogateescape").replace(_CUT, "%7E"))
    if _RESERVED.fullmatch(key):  # a real folder of that name
        key = key.replace("_", "%5F").replace("-", "%2D")
    if len(key) <= KEY_LIMIT:
        return key
    digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=_HASH_BYTES).hexdigest()
    kept = key[: KEY_LIMIT - len(digest) - len(_CUT)]
    return re.sub(r"%[0-9A-F]?$", "", kept) + _CUT + digest


def folder_label(key: str) -> str:
    """What people call the folder of a key. Not reversible: shortened keys end in `…`, control characters are shown."""
    if key == ROOT_KEY:
        return "(top of the vault)"
    if bucket := _BUCKET.fullmatch(key):
        return f"bucket {int(bucket[1])}"
    kept, cut, digest = key.partition(_CUT)
    label = unquote(kept, errors="ignore") + (f"… ({digest[:8]})" if cut else "")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in label)
