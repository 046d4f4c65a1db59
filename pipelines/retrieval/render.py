"""An answer as text: with colours and links in a terminal, plain elsewhere."""

import re
import unicodedata
from urllib.parse import quote

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from pipelines.retrieval.passage import Passage, SearchResult
from pipelines.settings import Settings
from pipelines.vault.folders import is_upload
from pipelines.vault.roots import locate as locate_file
from pipelines.vault.roots import vault_root

WIDTH = 100
LINES = 8
"""Lines of a passage that a terminal shows; the rest is one `path:line` away."""

_WORD = re.compile(r"\w+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def render(result: SearchResult, *, settings: Settings, terminal: bool) -> str:
    """The cited passages of a result, best first.

    `terminal`: emphasise the question's words and make citations links. Control characters of notes are dropped either
    way: a note must not be able to drive the terminal it is shown in.
    """
    if not terminal:
        return _plain(result)
    console = Console(force_terminal=True, width=WIDTH, highlight=False, soft_wrap=True, legacy_windows=False)
    with console.capture() as capture:
        if not result.answered:
            console.print(f"[yellow]No answer:[/] {escape(_clean(result.reason or ''))}")
        elif result.reason:
            console.print(f"[yellow]{escape(_clean(result.reason))}[/]")
        for number, passage in enumerate(result.results, start=1):
            console.print(_heading(number, passage, settings))
            console.print(_body(passage, result.query))
            console.print()
    return capture.get().rstrip()


def locate(passage: Passage) -> str:
    """`path:line`, which terminals and editors open; the page where the file has pages."""
    return passage.source if passage.pages is not None else f"{passage.source}:{passage.lines[0]}"


def link(passage: Passage, settings: Settings) -> str | None:
    """Where a click on a citation leads: the file, or the note in Obsidian; None without a vault to lead to.

    The vault may be the clone of VAULT_GIT_URL. Uploads lie beside it, where Obsidian does not see them.
    """
    path = locate_file(settings, passage.source)
    if path is None:
        return None
    vault = vault_root(settings)
    if settings.search_links == "obsidian" and vault is not None and not is_upload(passage.source):
        name = vault.resolve().name
        return f"obsidian://open?vault={quote(name, safe='')}&file={quote(passage.source, safe='')}"
    return path.absolute().as_uri()


def highlighted(content: str, query: str) -> Text:
    """Passage text with the question's words in bold, whatever their accents, case and ending."""
    text = Text(content)
    stems = {_stem(word) for word in _WORD.findall(query)} - {""}
    for match in _WORD.finditer(content):
        if _stem(match.group()) in stems:
            text.stylize("bold", *match.span())
    return text


def _plain(result: SearchResult) -> str:
    lines = []
    if not result.answered:
        lines.append(f"No answer: {result.reason}")
    elif result.reason:
        lines.append(f"({result.reason})")
    for number, passage in enumerate(result.results, start=1):
        lines.append(f"{number}. {_clean(_one_line(passage.citation))}")
        lines.extend(f"   {line}" for line in _shown(passage))
        lines.append("")
    return "\n".join(lines).rstrip()


def _heading(number: int, passage: Passage, settings: Settings) -> Text:
    heading = Text(f"{number}. ")
    target = link(passage, settings)
    style = "bold cyan" if target is None else f"bold cyan link {target}"
    heading.append(_clean(_one_line(locate(passage))), style=style)
    if passage.section:
        heading.append(f"  {_clean(_one_line(passage.section))}", style="dim")
    place = f"  p. {passage.pages[0]}" if passage.pages is not None else ""
    heading.append(f"{place}  {passage.score:.2f}", style="dim")
    return heading


def _body(passage: Passage, query: str) -> Text:
    return Text("\n").join(Text.assemble("   ", highlighted(line, query)) for line in _shown(passage))


def _shown(passage: Passage) -> list[str]:
    lines = [line.rstrip() for line in _clean(passage.content).strip().splitlines() if line.strip()]
    return lines[:LINES] + (["…"] if len(lines) > LINES else [])


def _clean(text: str) -> str:
    return _CONTROL.sub("", text)


def _one_line(text: str) -> str:
    return text.replace("\n", "⏎")


def _stem(word: str) -> str:
    plain = "".join(
        letter for letter in unicodedata.normalize("NFD", word.casefold()) if not unicodedata.combining(letter)
    )
    if len(plain) < 3 and not plain.isdigit():
        return ""
    return plain if len(plain) < 4 else re.sub(r"(?:ing|ed|[aoe])$", "", plain.removesuffix("s"))
