"""An answer as text: for a terminal, or plain."""

from pipelines.retrieval.passage import SearchResult
from pipelines.settings import Settings


def render(result: SearchResult, *, settings: Settings, terminal: bool) -> str:
    """The cited passages of a result."""
    lines = []
    if not result.answered:
        lines.append(f"No answer: {result.reason}")
    elif result.reason:
        lines.append(f"({result.reason})")
    for number, passage in enumerate(result.results, start=1):
        lines.extend((f"{number}. {passage.citation}", *(f"   {line}" for line in passage.content.splitlines()), ""))
    return "\n".join(lines).rstrip()
