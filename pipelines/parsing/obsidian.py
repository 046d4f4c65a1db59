"""Obsidian's own syntax as rules of markdown-it: wikilinks, embeds and comments.

Rules, so that code, escapes and nesting are markdown-it's business; nothing here looks at the source as a whole.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from pipelines.parsing.document import Link

_LONGEST = 1_000
"""Characters between the brackets. A bound, so that a megabyte of `[[` is not searched once for each of them."""
_IMAGE_SIZE = re.compile(r"\d+(?:x\d+)?")


def wikilink_rule(state: StateInline, silent: bool) -> bool:
    """`[[target#anchor|alias]]` and `![[...]]`; the token's content is the visible words, its meta holds the link."""
    src, pos = state.src, state.pos
    embed = src.startswith("![[", pos)
    if not embed and not src.startswith("[[", pos):
        return False
    start = pos + (3 if embed else 2)
    end = src.find("]]", start, min(state.posMax, start + _LONGEST))
    if end < 0:
        return False
    inner = src[start:end]
    if "\n" in inner or "[[" in inner or not inner.strip(" |#^"):
        return False
    if not silent:
        link, visible = read_wikilink(inner, embed=embed)
        token = state.push("embed" if embed else "wikilink", "", 0)
        token.content = visible
        token.meta["link"] = link
    state.pos = end + 2
    return True


def read_wikilink(inner: str, *, embed: bool = False) -> tuple[Link, str]:
    """The link and its visible words, as Obsidian shows them: the alias, or the target with its headings behind `>`."""
    written, bar, alias = inner.partition("|")
    written, alias = written.strip(), alias.strip()
    if embed and (bar and _IMAGE_SIZE.fullmatch(alias.rpartition("|")[2].strip())):
        alias = alias.rpartition("|")[0].strip()
    target, mark, anchor = written.partition("#")
    target, anchor = target.strip(), anchor.strip()
    headings = [part.strip() for part in anchor.split("#") if part.strip()]
    visible = alias or " > ".join([target, *headings] if target else headings)
    if not mark and "^" in target:  # [[Note^block]], an old way of writing
        target, _, block = target.rpartition("^")
        target, headings = target.strip(), [f"^{block.strip()}"]
        visible = alias or target
    place = headings[-1] if headings else None
    if place is not None and not place.startswith("^"):
        place = f"#{place}"
    return Link(target, place, "embed" if embed else "wikilink"), visible


def comment_rule(state: StateInline, silent: bool) -> bool:
    """`%%comment%%`. One that does not end in its paragraph gives a token `open_comment` with the rest of it."""
    if not state.src.startswith("%%", state.pos):
        return False
    end = state.src.find("%%", state.pos + 2, state.posMax)
    if not silent and end < 0:
        token = state.push("open_comment", "", 0)
        token.content = state.src[state.pos + 2 : state.posMax]
        token.markup = "%%"
    state.pos = end + 2 if end >= 0 else state.posMax
    return True


def comment_block_rule(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A comment that begins a line of the note itself and ends lines later: nothing in it is looked at."""
    if state.level or state.blkIndent or state.is_code_block(start_line):
        return False
    start = state.bMarks[start_line] + state.tShift[start_line]
    if not state.src.startswith("%%", start):
        return False
    limit = state.eMarks[end_line - 1]
    close = state.src.find("%%", start + 2, limit)
    line = start_line
    if close < 0:
        state.env.setdefault("unclosed_comments", []).append(start_line)
        line = end_line
    else:
        while state.eMarks[line] < close:
            line += 1
        rest = state.src[close + 2 : state.eMarks[line]]
        if rest.strip():
            if line == start_line:
                return False  # a paragraph that begins with a comment
            # what follows on the closing line is text again: let the line begin there
            state.bMarks[line] = close + 2
            state.tShift[line] = len(rest) - len(rest.lstrip())
            state.sCount[line] = 0
        else:
            line += 1
    if silent:
        return True
    state.line = line
    return True


def use_obsidian(md: MarkdownIt, *, comments: bool) -> None:
    """Add the rules to a parser. `comments`: whether `%%` hides what it encloses."""
    md.inline.ruler.before("link", "wikilink", wikilink_rule)
    if comments:
        md.inline.ruler.before("backticks", "comment", comment_rule)
        md.block.ruler.before("table", "comment_block", comment_block_rule)
