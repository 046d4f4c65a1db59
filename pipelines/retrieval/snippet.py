"""The part of a passage that matters for a question."""

import unicodedata

SNIPPET = 600
"""Characters of a snippet."""


def snippet(content: str, query: str) -> str:
    """The part of a passage that holds most of a question's words, between ellipses where something is left out."""
    if len(content) <= SNIPPET:
        return content
    folded = _folded(content)
    words = {word for word in _folded(query).split() if len(word) > 2}
    starts = {0} | {max(0, folded.find(word) - SNIPPET // 4) for word in words if word in folded}
    best = max(sorted(starts), key=lambda start: sum(word in folded[start : start + SNIPPET] for word in words))
    start = min(best, len(content) - SNIPPET)
    if start > 0 and (blank := content.find(" ", start, start + 40)) >= 0:
        start = blank + 1
    end = min(len(content), start + SNIPPET)
    if end < len(content) and (blank := content.rfind(" ", end - 40, end)) > start:
        end = blank
    return ("… " if start else "") + content[start:end] + (" …" if end < len(content) else "")


def _folded(text: str) -> str:
    """Lower case without accents, character by character, so that places stay the same."""
    return "".join(
        char if char.isascii() else unicodedata.normalize("NFD", char)[0].lower()[:1] for char in text.lower()
    )
