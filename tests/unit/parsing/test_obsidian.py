"""B39: Obsidian's syntax."""

import pytest

from pipelines.parsing.document import Link
from pipelines.parsing.obsidian import read_wikilink
from tests.unit.parsing.notes import block_texts, note


@pytest.mark.parametrize(
    ("inner", "link", "visible"),
    [
        ("Note", Link("Note"), "Note"),
        (" Note ", Link("Note"), "Note"),
        ("Note|alias", Link("Note"), "alias"),
        ("folder/Note.md", Link("folder/Note.md"), "folder/Note.md"),
        ("Note#Section", Link("Note", "#Section"), "Note > Section"),
        ("Note#One#Two", Link("Note", "#Two"), "Note > One > Two"),
        ("#Section", Link("", "#Section"), "Section"),
        ("Note#^b1", Link("Note", "^b1"), "Note > ^b1"),
        ("Note^b1", Link("Note", "^b1"), "Note"),
        ("Note#Section|words", Link("Note", "#Section"), "words"),
        ("Note|a|b", Link("Note"), "a|b"),
    ],
)
def test_wikilinks(inner: str, link: Link, visible: str) -> None:
    assert read_wikilink(inner) == (link, visible)


@pytest.mark.parametrize(
    ("inner", "visible"),
    [
        ("img.png|100", "img.png"),
        ("img.png|100x200", "img.png"),
        ("img.png|a plan|100", "a plan"),
        ("Note|alias", "alias"),
    ],
)
def test_sizes_of_embeds_are_no_words(inner: str, visible: str) -> None:
    assert read_wikilink(inner, embed=True)[1] == visible


def test_links_are_stored_once_in_order_and_only_internal_ones() -> None:
    document = note(
        "[[A]] [[B#S|b]] [[A]] ![[C]] ![[pic.png]] [d](../d%20e.md#part) [web](https://x.org) [mail](mailto:a@b.c)"
        " [self](#here) [[#here]] ![i](i.png) ![p](p.pdf) <https://y.org>"
    )
    assert document.links == (
        Link("A"),
        Link("B", "#S"),
        Link("C", None, "embed"),
        Link("../d e.md", "#part", "markdown"),
        Link("p.pdf", None, "embed"),
    )
    assert document.text == "A b A C pic.png d web mail self here i p https://y.org"


def test_aliases_with_marks_and_links_in_tables() -> None:
    assert note("[[foo|Example **bold** and *it*]]").text == "Example bold and it"
    document = note("| a |\n|---|\n| [[Long note\\|short]] |")
    assert document.text == "| a |\n| --- |\n| short |"
    assert document.links == (Link("Long note"),)


@pytest.mark.parametrize(
    "source", ["[[]]", "[[ ]]", "[[unclosed", "![[Partial", "![[bad]", "[[a\nb]]", "`[[code]]`", "\\[[escaped]]"]
)
def test_what_is_no_wikilink_stays_text(source: str) -> None:
    document = note(source)
    assert document.links == ()
    assert [word for word in document.text.split() if word.strip("[]`!")] == [
        word.replace("\\", "") for word in source.split() if word.strip("[]`!")
    ]


def test_code_fences_hold_no_links_tags_or_comments() -> None:
    document = note("```\n[[a]] #b %% c %%\n```")
    assert (document.links, document.tags) == ((), ())
    assert "%% c %%" in document.text


def test_a_line_of_tags_is_no_heading() -> None:
    """B39 (b)."""
    document = note(
        "#proyecto #urgente\n\n# Heading\n\ntext #área/sub-1, (#paren) no#tag #123 `#code` https://x.org/#frag"
    )
    assert document.tags == ("proyecto", "urgente", "área/sub-1", "paren")
    assert [block.kind for block in document.blocks] == ["paragraph", "heading", "paragraph"]
    assert document.text.startswith("#proyecto #urgente")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a %% no compartir: clave del portal %% b", "a  b"),
        ("%%\nno compartir\n\n- clave del portal\n\n```\nfence\n```\n%%\n\nvisible", "visible"),
        ("%% whole line %%\nvisible", "visible"),
        ("%%%% visible", "visible"),
        ("%% two\nlines %% visible", "visible"),
        ("%%\nhidden\n%% visible\n\nmore", "visible\n\nmore"),
        ("a %% begins\n\n```\nhidden code\n```\n\n- hidden item\n\nends %% b", "a\n\nb"),
        ("> quote %% begins\n\nhidden\n\nends %% b", "> quote\n\nb"),
        ("100%% sure, nothing else", "100%% sure, nothing else"),
        ("`%%not a comment%%`", "`%%not a comment%%`"),
        ("```\n%% not a comment %%\n```", "```\n%% not a comment %%\n```"),
        ("    %% code %%", "    %% code %%"),
        ("- item %%hidden%%\n- %%\n  hidden\n  %%\n- last", "- item\n\n- last"),
        ("| a | %%hidden%% b |\n|---|---|\n| c | d |", "| a | b |\n| --- | --- |\n| c | d |"),
        ("# Head %%hidden%%\n\ntext", "# Head\n\ntext"),
        ("<div>\n<!-- hidden\n\nstill hidden -->\n\nvisible", "visible"),
    ],
)
def test_comments_are_dropped(source: str, text: str) -> None:
    """B39 (a)."""
    assert [line.rstrip() for line in note(source).text.split("\n")] == text.split("\n")
    assert "hidden" not in note(source).text or "hidden" in text


def test_a_comment_that_is_never_closed_hides_the_rest_and_says_so() -> None:
    document = note("---\ntitle: x\n---\nvisible\n\n%%\nhidden\n\nhidden too")
    assert document.text == "visible"
    assert any(warning.startswith("line 6:") for warning in document.warnings)


def test_tags_and_links_in_comments_do_not_count() -> None:
    document = note("a %%#secret [[Hidden]]%% b\n\n%%\n#secret2 [[Hidden2]]\n%%")
    assert (document.tags, document.links) == ((), ())


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("párrafo ^b1", "párrafo"),
        ("- item ^b1\n- other", "- item\n- other"),
        ("# Heading ^h-1", "# Heading"),
        ("| a |\n|---|\n| b |\n\n^table-id", "| a |\n| --- |\n| b |"),
        ("x ^not an id", "x ^not an id"),
        ("`code ^b1`", "`code ^b1`"),
        ("$x ^2$", "$x ^2$"),
        ("10^6", "10^6"),
    ],
)
def test_block_ids_are_no_words(source: str, text: str) -> None:
    assert note(source).text == text


def test_callouts_in_lists_and_blocks_in_callouts() -> None:
    document = note("- > [!tip]+ T\n  > text\n\n> [!x]\n> | a |\n> |---|\n> | b |")
    assert block_texts(document) == [
        ("list", "- > [!tip] T\n  > text"),
        ("quote", "> [!x]\n> | a |\n> | --- |\n> | b |"),
    ]
