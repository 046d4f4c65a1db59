"""A document's headings, as HTTP and MCP show them."""

from typing import Any

from pipelines.chunking.headings import heading_text
from pipelines.storage.reading import StoredText


def outline_of(text: StoredText) -> list[dict[str, Any]]:
    """Headings in reading order, without their Markdown marks: {"level", "title", "line", "offset"}."""
    return [
        {"level": item["level"], "title": name, "line": item["line"], "offset": item["offset"]}
        for item in text.outline or ()
        if (name := heading_text(item["title"]))
    ]
