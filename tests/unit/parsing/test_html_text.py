"""Words of HTML within Markdown."""

import pytest

from pipelines.parsing.html_text import html_words, inline_html_words


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("<p>one <b>two</b></p>", "one two"),
        ("<td>a</td><td>b</td>", "a b "),
        ("<img src='x.png' alt='A diagram'>", "A diagram"),
        ("<script>alert(1)</script>after", "after"),
        ("<style>\np {}\n</style>\nafter", "\n\n\nafter"),
        ("a &amp; b &lt;c&gt; &ntilde;", "a & b <c> ñ"),
        ("<div\n  class='x'\n>text</div>", "\n\ntext"),
        ("plain", "plain"),
        ("<unclosed <b>text", "text"),
        ("<summary>Details</summary>", "Details"),
    ],
)
def test_words(html: str, words: str) -> None:
    assert html_words(html) == words


@pytest.mark.parametrize(
    ("tag", "words"),
    [
        ("<b>", ""),
        ("</b>", ""),
        ("<br>", " "),
        ("<br/>", " "),
        ("<BR />", " "),
        ("<!-- no -->", ""),
        ('<img alt="Plan">', "Plan"),
        ("<img alt=Plan>", "Plan"),
    ],
)
def test_inline(tag: str, words: str) -> None:
    assert inline_html_words(tag) == words
