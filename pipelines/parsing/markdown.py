"""Markdown as Obsidian and GitHub write it -> tokens. The parser is built once a process and way of reading."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from pipelines.parsing.obsidian import use_obsidian

# Characters at which an inline rule can begin; everything between them is text. Fewer than markdown-it's own set, which
# keeps places for plugins that are not used here.
_TERMINATORS = re.compile(r"[\n!$%&*<\[\\\]_`~]")
NEEDS_INLINE = re.compile(r"[!$%&*<\[\\_`~]")

# First characters without which a block rule cannot match. Asking here first spares three of four calls of rules.
_FIRST_CHARACTERS = {
    "comment_block": ("%",),
    "math_block": ("$",),
    "fence": ("`", "~"),
    "blockquote": (">",),
    "hr": ("*", "-", "_"),
    "list": ("*", "+", "-", *"0123456789"),
    "footnote_def": ("[",),
    "reference": ("[",),
    "html_block": ("<",),
    "heading": ("#",),
}

BlockRule = Callable[[StateBlock, int, int, bool], bool]


class Reader(MarkdownIt):
    """markdown-it for reading: addresses stay as written and none is refused, because nothing is rendered as HTML.

    Its own check would leave a link to a `data:` address as text, with all its base64.
    """

    def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
        return True

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link


@cache
def reader(keep_comments: bool = False) -> Reader:
    """The parser for notes; `keep_comments` leaves `%%comments%%` in the text."""
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.footnote.index import footnote_def

    md = Reader("commonmark")
    md.enable(["table", "strikethrough"])
    md.use(dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True)
    md.block.ruler.before("reference", "footnote_def", footnote_def, {"alt": ["paragraph", "reference"]})
    use_obsidian(md, comments=not keep_comments)
    md.inline.terminator_re = _TERMINATORS
    _ask_first_characters(md)
    return md


def _ask_first_characters(md: Reader) -> None:
    for rule in md.block.ruler.__rules__:
        if rule.name in _FIRST_CHARACTERS:
            guarded = _guarded(rule.fn, _FIRST_CHARACTERS[rule.name])
        elif rule.name == "table":
            guarded = _guarded(rule.fn, ("|", "-", ":"), line_after=1)
        elif rule.name == "lheading":
            guarded = _followed(rule.fn)
        else:
            continue
        md.block.ruler.at(rule.name, guarded, {"alt": rule.alt})


def _guarded(rule: BlockRule, characters: tuple[str, ...], line_after: int = 0) -> BlockRule:
    """The rule, called only where its line, or the table's second, begins with one of the characters."""

    def ask(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
        line = start_line + line_after  # there is one more line in every list than the text has
        if not state.src.startswith(characters, state.bMarks[line] + state.tShift[line]):
            return False
        return rule(state, start_line, end_line, silent)

    return ask


def _followed(rule: BlockRule) -> BlockRule:
    """The rule for underlined headings, called only where a line follows that could hold the underline."""

    def ask(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
        following = start_line + 1
        if following >= end_line or state.isEmpty(following):
            return False
        return rule(state, start_line, end_line, silent)

    return ask


def block_tokens(md: Reader, source: str, env: dict[str, Any]) -> list[Token]:
    """Tokens of the blocks; the inline ones are not parsed yet (`children` is None or empty)."""
    tokens: list[Token] = []
    md.block.parse(source, md, env, tokens)
    return tokens


def inline_tokens(md: Reader, content: str, env: dict[str, Any]) -> list[Token]:
    """Tokens of one paragraph's, heading's or cell's content."""
    tokens: list[Token] = []
    md.inline.parse(content, md, env, tokens)
    return tokens
