"""Which notes stay out because they say so."""

from pipelines.parsing.document import Json
from pipelines.parsing.options import PublicationMode
from pipelines.parsing.properties import find

_NO = frozenset(("false", "no", "off", "0", "n"))
_YES = frozenset(("true", "yes", "sí", "si", "on", "1", "y", "s"))


def exclusion_reason(properties: dict[str, Json], mode: PublicationMode) -> str | None:
    """Why the note with these properties stays out, in words; None: it is published.

    A word that is neither yes nor no (`rag: privado`) keeps the note out: a person wrote it to say something, and
    what stays out by mistake is noticed sooner than what goes out by mistake.
    """
    for name in ("rag", "publish", "published"):
        value = find(properties, name)
        # `published` also holds dates
        if value is not None and (_says(value, _NO) or (name == "rag" and not _says(value, _YES))):
            return f"the note says `{name}: {_shown(value)}`"
    if (draft := find(properties, "draft", "borrador")) is not None and not _says(draft, _NO):
        return f"the note says `draft: {_shown(draft)}`"
    if mode == "opt-in" and not any(_says(find(properties, name), _YES) for name in ("rag", "publish")):
        return "only notes that say `rag: true` or `publish: true` are indexed, and this one does not"
    return None


def _says(value: Json, words: frozenset[str]) -> bool:
    return isinstance(value, bool | int | str) and str(value).strip().casefold() in words


def _shown(value: Json) -> str:
    """Only yes and no are repeated: a reason holds no text of the note."""
    return str(value).lower() if _says(value, _YES | _NO) else "..."
