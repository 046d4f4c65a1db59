"""Markdown as people write it: what a reader sees is in the text, with its place; nothing else is."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.document import Block
from pipelines.parsing.encoding import decode
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import media_type_of, parse
from tests.unit.parsing.notes import PLAIN, block_texts, check_blocks, note, seen_words


def test_structure_that_helps_a_reader_stays() -> None:
    source = """# Title

Some *emphasis*, **strong**, ~~gone~~ and `code`.
Second line.

## Steps

1. One
   more of one
2. Two
   - nested
     ```sh
     ls -la
     ```

- [ ] todo
- [x] done

| Name | Value |
|:-----|------:|
| a    | 1 \\| 2 |

> A quote
> over two lines

```python title="x.py"
def f():
\treturn 1  # not a heading
```
"""
    document = note(source)
    assert (
        document.text
        == """# Title

Some emphasis, strong, ~~gone~~ and `code`.
Second line.

## Steps

1. One
   more of one
2. Two
   - nested
     ```sh
     ls -la
     ```

- [ ] todo
- [x] done

| Name | Value |
| --- | --- |
| a | 1 \\| 2 |

> A quote
> over two lines

```python title="x.py"
def f():
\treturn 1  # not a heading
```"""
    )
    assert [(block.kind, block.level, block.line_start, block.line_end) for block in document.blocks] == [
        ("heading", 1, 1, 1),
        ("paragraph", 0, 3, 4),
        ("heading", 2, 6, 6),
        ("list", 0, 8, 9),
        ("list", 0, 10, 14),
        ("list", 0, 16, 16),
        ("list", 0, 17, 17),
        ("table", 0, 19, 21),
        ("quote", 0, 23, 24),
        ("code", 0, 26, 29),
    ]


def test_lines_count_the_metadata() -> None:
    document = note("---\ntitle: T\n---\n\n# H\n\ntext")
    assert [block.line_start for block in document.blocks] == [5, 7]


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("---\ntitle: From metadata\n---\n# Heading", "From metadata"),
        ("Intro\n\n## Second\n\n# First *one* [[x|y]]\n\n# Other", "First one y"),
        ("Underlined\n==========", "Underlined"),
        ("## Only level 2", None),
        ("```\n# no heading\n```", None),
        ("", None),
    ],
)
def test_title(source: str, title: str | None) -> None:
    assert note(source).title == title


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Setext\nheading\n===", "# Setext heading"),
        ("a\n\n***\n\nb", "a\n\nb"),
        ("![alt text](img.png)", "alt text"),
        ("![plan|300](img.png)", "plan"),
        ("[words](https://example.org/a?b=c)", "words"),
        ("<https://example.org>", "https://example.org"),
        ("https://example.org/a_b_c", "https://example.org/a_b_c"),
        ("[ref][1]\n\n[1]: https://example.org", "ref"),
        ("\\*not emphasis\\* &copy; &#241;", "*not emphasis* © ñ"),
        ("two  \nlines\\\nthree", "two\nlines\nthree"),
        ("==marked== but a == b == c", "marked but a == b == c"),
        ("<b>bold</b> a<br>b", "bold a b"),
        ("<details>\n<summary>More</summary>\n\nHidden *part*\n\n</details>", "More\n\nHidden part"),
        ("before <!-- a comment --> after", "before  after"),
        ("<!-- a\n\ncomment -->\n\ntext", "text"),
        ("    indented\n\n    code", "    indented\n\n    code"),
        ("```\n\n```", ""),
        ("```\nnever closed", "```\nnever closed\n```"),
        ("````\n```\ninner\n```\n````", "````\n```\ninner\n```\n````"),
        ("- \n- b", "- b"),
        ("1) a\n2) b", "1) a\n2) b"),
        ("| a |\n|---|\n| [x](y) |", "| a |\n| --- |\n| x |"),
        ("a | b\n--|--\nc | `d`", "| a | b |\n| --- | --- |\n| c | `d` |"),
        ("``a `b` c``", "``a `b` c``"),
        ("`` `a` ``", "`` `a` ``"),
    ],
)
def test_visible_text(source: str, text: str) -> None:
    assert note(source).text == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("It costs $5 and $10.", "It costs $5 and $10."),
        ("Inline $a_1 * b_2 * c$ here", "Inline $a_1 * b_2 * c$ here"),
        ("$$\n\\sum_{i} x_i\n$$", "$$\n\\sum_{i} x_i\n$$"),
        ("As a block:\n$$[0, 2\\pi]$$", "As a block:\n$$[0, 2\\pi]$$"),
        ("[^1] text\n\n[^1]: One word", "[^1] text\n\n[^1]: One word"),
        ("Ref[^n].\n\n[^n]: First\n    - item\n\n    Second", "Ref[^n].\n\n[^n]: First\n    - item\n\n    Second"),
        ("[^1]: word", "[^1]: word"),
        ("an ^[inline note] too", "an ^[inline note] too"),
        ("> [!warning]- Cuidado\n> No borrar", "> [!warning] Cuidado\n> No borrar"),
        ("> [!NOTE] same line\n>\n> - item", "> [!NOTE] same line\n>\n> - item"),
        ("> > nested\n> ```\n> code\n> ```", "> > nested\n> ```\n> code\n> ```"),
    ],
)
def test_maths_footnotes_and_callouts_are_searchable(source: str, text: str) -> None:
    assert note(source).text == text


def test_data_uris_become_a_placeholder() -> None:
    """B39 (f): no chunk of base64, wherever it stands."""
    data = "data:image/png;base64," + "iVBORw0KGgo" * 45_000 + "="
    for source in (
        f"![photo]({data})",
        f"<img alt='photo' src='{data}'>",
        f"text {data} photo",
        f"```\n{data}\n```\nphoto",
        f"![{data}](x) photo",
        f"[photo]: {data}\n\n[photo]",
    ):
        text = note(source).text
        assert len(text) < 200, source[:30]
        assert "photo" in text
        assert "iVBORw" not in text


def test_what_has_no_words_is_an_empty_document() -> None:
    """B19."""
    for source in (
        "",
        "\n\n \n",
        "%% only a comment %%",
        "<!-- only -->",
        "![](img.png)",
        "---\ntitle: x\n---\n",
        "***",
        "- \n- \n",
        "# ",
    ):
        document = note(source)
        assert (document.text, document.blocks) == ("", ())


def test_headings_alone_keep_their_words() -> None:
    assert note("# A\n\n## B").text == "# A\n\n## B"


def test_conflict_marks_make_no_heading_and_both_versions_are_read() -> None:
    """X09."""
    source = "# T\n\n<<<<<<< HEAD\nmy words\n=======\ntheir words\n>>>>>>> main\n\nend"
    document = note(source)
    assert document.text == "# T\n\nmy words\n\ntheir words\n\nend"
    assert [block.line_start for block in document.blocks] == [1, 4, 6, 9]
    assert any(warning.startswith("line 3") and "merge" in warning for warning in document.warnings)
    fenced = note(f"```\n{source}\n```")
    assert "<<<<<<< HEAD" in fenced.text
    assert not fenced.warnings


def test_deep_nesting_ends() -> None:
    for source in (
        ">" * 3_000 + " deep",
        "- " * 3_000 + "deep",
        "[" * 20_000,
        "*a " * 5_000,
        "`" * 5_000,
        "![[" * 5_000,
        "<" * 10_000,
    ):
        note(source)


def test_the_result_does_not_depend_on_the_call() -> None:
    source = "# A [[b]] #tag\n\n[^1]: x\n\n[r]: /u\n\n%% c %%"
    assert note(source) == note(source)


_PARTS = st.sampled_from(
    [
        *(
            "# H",
            "## H2 ^id",
            "para *x*",
            "- item",
            "  - sub",
            "1. one",
            "> quote",
            "```",
            "~~~",
            "    code",
            "| a | b |",
        ),
        *("|---|---|", "%% c", "%%", "<!-- c", "-->", "<div>", "</div>", "$$", "[[link]]", "![[embed]]", "[^1]: note"),
        *("---", "===", "", "", "\t", "***", "<<<<<<< A", "=======", ">>>>>>> B", "#tag", "^id", "[a]: b", "<script>"),
        *("- [ ] x", "+", "\\", "[^1]", "$x$", "ñandú ¿?"),
    ]
)


@given(st.lists(_PARTS, max_size=14).map("\n".join))
def test_blocks_keep_their_contract_for_any_structure(source: str) -> None:
    check_blocks(note(source), source.count("\n") + 1)


@given(st.text(alphabet=st.sampled_from("#>-*_`~[]()!|<>$%^&\\ \n\tabñ1.:+="), max_size=120))
def test_blocks_keep_their_contract_for_any_characters(source: str) -> None:
    check_blocks(note(source), source.count("\n") + 1)


@given(
    st.lists(
        st.sampled_from(
            ["alfa", "beta", "*", "**", "_", "`", "[", "]", "(u)", "!", "\n", "\n\n", "> ", "- ", "# ", " "]
        ),
        max_size=30,
    )
)
def test_no_word_is_lost(parts: list[str]) -> None:
    source = "".join(f"{part}{number}." if part.isalpha() else part for number, part in enumerate(parts))
    text = note(source).text  # where [[alfa]]beta is one word, as Obsidian shows it
    assert not [word for word in seen_words(source) if re.fullmatch(r"(?:alfa|beta)\d+", word) and word not in text]


@pytest.mark.shared
def test_the_commonmark_examples_lose_no_word(shared_data: Path) -> None:
    examples = json.loads((shared_data / "markdown_edge" / "commonmark" / "commonmark.json").read_text())
    assert len(examples) == 652
    for example in examples:
        document = note(example["markdown"])
        check_blocks(document, example["markdown"].count("\n") + 1)
        # Marks of code that are kept part words that a browser shows as one: there, letters are compared.
        if Counter(seen_words(example["markdown"])) - Counter(re.findall(r"\w+", document.text)):
            assert "".join(seen_words(example["markdown"])) == "".join(re.findall(r"\w+", document.text)), example


@pytest.mark.shared
def test_every_shared_note_is_read_with_its_lines(shared_data: Path) -> None:
    """Lines of a block hold the words that the file has there: 98.5 % of all lines, with HTML and link marks."""
    lines = wrong = 0
    for folder in ("handbook", "help_vault", "glossary_en_es", "runbooks", "obsidian_export", "markdown_edge"):
        for path in sorted((shared_data / folder).rglob("*.md")):
            data = path.read_bytes()
            document = parse(data, media_type="markdown", options=PLAIN)
            source = decode(data).text.split("\n")
            check_blocks(document, len(source))
            for block in document.blocks:
                for number, line in enumerate(document.text[block.start : block.end].split("\n"), block.line_start):
                    words = line.strip("> -#*|").split()
                    written = source[number - 1] if number <= len(source) else ""
                    lines += bool(words)
                    wrong += sum(word not in written for word in words) > 0.5 * len(words)
    assert lines > 60_000
    assert wrong < 0.015 * lines


def test_media_types() -> None:
    assert media_type_of("a/B.MD") == "markdown"
    assert media_type_of("a/b.pdf") == "pdf"
    assert media_type_of("a.b/c.TXT") == "text"
    assert media_type_of("x.canvas") == "canvas"
    assert media_type_of("a/b.png") is None
    assert media_type_of("README") is None


def test_kept_comments_by_setting() -> None:
    options = ParseOptions(keep_comments=True, secrets="off")
    text = note("a %%hidden words%% b <!-- more --> c\n\n<!-- block -->", options).text
    for word in ("hidden words", "more", "block"):
        assert word in text


def test_html_in_pieces_keeps_lines() -> None:
    document = note("<table>\n<tr>\n<td>one</td>\n</tr>\n<tr>\n<td>two\nlines</td>\n</tr>\n</table>")
    assert block_texts(document) == [("html", "one"), ("html", "two\nlines")]
    assert [(block.line_start, block.line_end) for block in document.blocks] == [(3, 3), (6, 7)]


def test_a_block_is_a_value() -> None:
    assert note("x").blocks == (Block("paragraph", 0, 1, 1, 1),)


def test_a_paragraph_over_the_bound_is_read_in_parts_without_loss() -> None:
    words = " ".join(f"word{number} *em{number}* %%hid{number}%% [[link{number}]]" for number in range(3_000))
    document = note(words)
    assert document.text.count("word") == 3_000
    assert document.text.count("em") == 3_000
    assert "hid" not in document.text
    assert len(document.links) >= 2_990
    assert "hidden" not in note("a " * 9_999 + "%% " + "hidden " * 5_000 + "%% end").text
    assert note("x" * 19_000 + "\n" + "y" * 19_000).text.count("\n") == 1
