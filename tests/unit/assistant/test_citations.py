"""What an answer cites is checked while it is streamed, whatever pieces it comes in."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.assistant.citations import LONGEST, Checker

KNOWN = frozenset({1, 2, 3, 4, 5})
ADDRESS = "https://wiki.example/a?b=1"


def checked(*pieces: str, quoting: bool = False) -> tuple[str, list[int], int]:
    checker = Checker(lambda number: number in KNOWN, lambda address: address == ADDRESS, quoting=quoting)
    text = "".join(checker.feed(piece) for piece in pieces) + checker.finish()
    return text, checker.cited, checker.removed


@pytest.mark.parametrize(
    ("text", "shown", "cited", "removed"),
    [
        ("Two approvals [1].", "Two approvals [1].", [1], 0),
        ("Five sources, but [7] is invented [2].", "Five sources, but is invented [2].", [2], 1),
        ("End [7].", "End.", [], 1),
        ("Both [1, 2] and [3;9].", "Both [1][2] and [3].", [1, 2, 3], 1),
        ("A range [1-3].", "A range [1][2][3].", [1, 2, 3], 0),
        ("A long range [1-4000].", "A long range [1].", [1], 1),
        ("Pairs [1][2][8].", "Pairs [1][2].", [1, 2], 1),
        ("Notes [^1] and c-marks [c2].", "Notes [1] and c-marks [2].", [1, 2], 0),
        ("Wide 【1】 and 【2†source】 and 【9】.", "Wide [1] and [2] and.", [1, 2], 1),
        (r"Escaped \[1\] and \[9\].", "Escaped [1] and.", [1], 1),
        ("A year [2026] is no source.", "A year is no source.", [], 1),
        ("See [2](http://evil.example/x) here.", "See [2] here.", [2], 0),
        ("See [9](http://evil.example/x) here.", "See here.", [], 1),
        (
            "[1]: http://evil.example\nText [1].",
            "[1] http://evil.example\nText [1].".replace(" http://evil.example", " (…)"),
            [1, 1],
            0,
        ),
        ("[x]: http://evil.example\nText [x] [1].", "Text [x] [1].", [1], 0),
        ("Tasks - [ ] and [x] and [[note]] stay.", "Tasks - [ ] and [x] and [[note]] stay.", [], 0),
        ("Inside [a list [9] of [1]].", "Inside [a list of [1]].", [1], 1),
    ],
)
def test_citations(text: str, shown: str, cited: list[int], removed: int) -> None:
    assert checked(text) == (shown, cited, removed)


@pytest.mark.parametrize(
    "code",
    [
        "`a[1]`",
        "``b[7] ` c``",
        "```\nx = a[7]\n```\n",
        "~~~py\n[9]\n~~~\n",
        "> ```\n> a[7]\n> ```\n",
        "- ```\n  a[7]\n  ```\n",
    ],
)
def test_code_is_left_as_it_is_and_cites_nothing(code: str) -> None:
    assert checked(code) == (code, [], 0)


def test_code_that_is_never_closed_hides_no_citation() -> None:
    assert checked("A ` and then [7] and [1].") == ("A \\` and then and [1].", [1], 1)
    assert checked("A ` and\n\nthen [7]` end.") == ("A \\` and\n\nthen\\` end.", [], 1)


def test_a_fence_that_is_still_open_is_closed_so_that_nothing_after_it_is_code() -> None:
    assert checked("Run:\n```bash\nrm [7]")[0] == "Run:\n```bash\nrm [7]\n```"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("![pixel](https://evil.example/?q=secret)", "pixel"),
        ("![](https://evil.example/?q=secret)x", "x"),
        ("[click](https://evil.example/?q=secret)", "click"),
        ("[click](javascript:alert(1))", "click"),
        ("[note](runbooks/x.md)", "note"),
        (f"[wiki]({ADDRESS})", f"[wiki]({ADDRESS})"),
        (f"[wiki]({ADDRESS}&c=2)", "wiki"),
        (f"See {ADDRESS}.", f"See {ADDRESS}."),
        ("See https://evil.example/?q=secret now", "See (…) now"),
        ("See HTTPS://EVIL.example now", "See (…) now"),
        ("See www.evil.example now", "See (…) now"),
        ("ftp://evil.example", "(…)"),
        ("<https://evil.example>", "&lt;(…)>"),
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)>"),
        ("<!-- hidden --> </script>", "&lt;!-- hidden --> &lt;/script>"),
        ("a < b and 1<2", "a < b and 1<2"),
        ("Mr. Smith: wait, C++ and e.g. this.", "Mr. Smith: wait, C++ and e.g. this."),
    ],
)
def test_links_images_and_tags(text: str, shown: str) -> None:
    assert checked(text)[0] == shown


def test_a_quotation_keeps_its_numbers_as_text() -> None:
    assert checked("As shown in [1] and `a[2]`.", quoting=True) == ("As shown in \\[1\\] and `a[2]`.", [], 0)


PARTS = ["[1]", "[7]", "[1, 9]", "[", "]", "(", ")", "`", "```", "~~~", "\n", "\n\n", " ", "  ", "!", "![", "<", "<b>"]
PARTS += [
    "\\",
    "\\[",
    "http://",
    "https://wiki.example/a?b=1",
    "www.",
    "x",
    "word ",
    "【1】",
    "【",
    "é",
    ":",
    "[a](b)",
    "- ",
    "> ",
    "[x]: y",
    "1",
]


@given(st.lists(st.sampled_from(PARTS), max_size=25), st.randoms(use_true_random=False))
@example(["```", "x", "\n", "[7]"], random.Random(1))
@example(["`", "[7]", "`", "`"], random.Random(1))
def test_the_answer_does_not_depend_on_how_it_was_cut(parts: list[str], dice: random.Random) -> None:
    text = "".join(parts)
    whole = checked(text)
    assert checked(*text) == whole
    cuts = sorted(dice.sample(range(len(text) + 1), k=min(3, len(text))))
    assert checked(*(text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True))) == whole


@given(st.lists(st.sampled_from(PARTS), max_size=25))
def test_nothing_that_is_shown_as_a_citation_is_invented(parts: list[str]) -> None:
    text, cited, _ = checked("".join(parts))
    assert set(cited) <= KNOWN
    assert checked(text)[2] == 0, "what was shown would be cleaned again"


def test_what_is_kept_back_is_bounded() -> None:
    checker = Checker(lambda _: True, lambda _: False)
    for opening in ("[", "`", "![x](", "<", "http://"):
        shown = checker.feed(opening) + "".join(checker.feed("a" * 100) for _ in range(LONGEST // 100 + 2))
        assert len(shown) > LONGEST // 2 or opening == "http://", opening
        checker.feed(" \n\n")
