"""What is repeated around the pieces of a table or a fence."""

import pytest

from pipelines.chunking.frames import frame


@pytest.mark.parametrize(
    ("table", "opening"),
    [
        ("| a | b |\n| --- | --- |\n| 1 | 2 |", "| a | b |\n| --- | --- |"),
        ("a | b\n:-: | ---------:\n1 | 2", "a | b\n:---: | ---:"),
        ("| a |\n| - |\n| 1 |", "| a |\n| --- |"),
        ("| a | b |\n| 1 | 2 |\n| 3 | 4 |", ""),
        ("| a | b |\n| --- | --- |", ""),
        ("| a |", ""),
    ],
)
def test_a_table_repeats_its_header(build, table: str, opening: str):
    document = build([("table", table)])
    assert frame(document.text, document.blocks[0]).opening == opening


@pytest.mark.parametrize(
    ("code", "opening", "closing"),
    [
        ("```python\nx\n```", "```python", "```"),
        ("~~~~\nx\n~~~~", "~~~~", "~~~~"),
        ("  ```\nx", "  ```", "```"),
        ("    indented\n    code", "", ""),
        ("```", "", ""),
    ],
)
def test_a_fence_is_opened_and_closed_again(build, code: str, opening: str, closing: str):
    document = build([("code", code)])
    around = frame(document.text, document.blocks[0])
    assert (around.opening, around.closing) == (opening, closing)


def test_other_blocks_have_none(build):
    document = build([("paragraph", "| a |\n| --- |\n| 1 |")])
    assert frame(document.text, document.blocks[0]).opening == ""
