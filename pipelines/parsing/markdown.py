"""Markdown as Obsidian and GitHub write it -> tokens. The parser is built once a process and way of reading."""

import re
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

    md = Reader("commonmark", {"maxNesting": 40})
    md.enable(["table", "strikethrough"])
    md.use(dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True)
    md.block.ruler.before("reference", "footnote_def", footnote_def, {"alt": ["paragraph", "reference"]})
    use_obsidian(md, comments=not keep_comments)
    md.inline.terminator_re = _TERMINATORS
    return md


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
