"""The golden sets: well formed, answerable from the notes they name, and no answer is torn apart by chunking."""

import json
from pathlib import Path

import pytest

from pipelines.chunking.chunker import ChunkOptions, chunk
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import parse

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


def questions(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (GOLDEN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_golden_sets_are_what_they_say():
    asked = [*questions("help_vault"), *questions("handbook")]
    assert len(asked) >= 100
    assert sum(bool(one.get("unanswerable")) for one in asked) >= 12
    assert sum(one["locale"] == "es" for one in asked) >= 25
    assert len({one["question"] for one in asked}) == len(asked)
    for one in asked:
        assert bool(one["relevant"]) != bool(one.get("unanswerable"))
        assert set(one) <= {"question", "locale", "relevant", "unanswerable"}
        assert all(set(passage) == {"source", "contains"} for passage in one["relevant"])


@pytest.mark.parametrize("name", ["help_vault", "handbook"])
def test_every_answer_is_in_one_chunk(shared_data: Path, tokenizer, name: str):
    wanted = {(passage["source"], passage["contains"]) for one in questions(name) for passage in one["relevant"]}
    assert len(wanted) >= 35
    for source, phrase in sorted(wanted):
        data = (shared_data / name / source).read_bytes()
        document = parse(data, media_type="markdown", options=ParseOptions())
        chunks = chunk(document, options=ChunkOptions(), count_tokens=tokenizer.count)
        folded = [" ".join(one.content.split()).casefold() for one in chunks]
        assert any(phrase.casefold() in content for content in folded), (source, phrase)
