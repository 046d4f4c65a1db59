"""Golden sets are read strictly, and mistakes are named by line."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.errors import UsageError
from pipelines.retrieval.golden import Relevant, load_golden
from pipelines.retrieval.passage import Passage


def _write(folder: Path, *lines: str) -> Path:
    path = folder / "golden.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _passage(**fields: object) -> Passage:
    base = {
        "source": "a/b.md", "ordinal": 0, "section": "Guide > Set up > Linux", "lines": (1, 2), "pages": None,
        "content": "Run the\n  Installer first.", "score": 1.0, "similarity": 1.0, "locale": "en",
        "modified_at": datetime.now(UTC),
    }  # fmt: skip
    return Passage(**(base | fields))  # type: ignore[arg-type]


def test_a_golden_set(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        '\ufeff{"question": "how?", "locale": "en", "relevant": [{"source": "a.md", "section": "S", "contains": "x"}]}',
        "",
        '{"question": "why?", "relevant": [], "unanswerable": true}',
    )
    golden = load_golden(path)
    assert [item.line for item in golden.questions] == [1, 3]
    assert [item.answerable for item in golden.questions] == [True, False]
    assert golden.questions[0].relevant == (Relevant("a.md", "S", "x"),)
    assert golden.name == "golden.jsonl"
    assert golden.hash == load_golden(path).hash


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "line 2: a JSON object is wanted"),
        ('{"question": " ", "unanswerable": true}', 'line 2: "question" must be a text'),
        ('{"question": "q"}', "line 2: the question needs relevant sources"),
        (
            '{"question": "q", "relevant": [{"source": "a"}], "unanswerable": true}',
            "line 2: the question needs no relevant",
        ),
        ('{"question": "q", "relevant": {"source": "a"}}', 'line 2: "relevant" must be a list'),
        ('{"question": "q", "relevant": ["a.md"]}', 'an object with a "source"'),
        ('{"question": "q", "relevant": [{"source": "a", "sections": "b"}]}', "'sections' is unknown"),
        ('{"question": "q", "relevant": [{"source": "a", "section": 3}]}', "not a text"),
        ('{"question": "q", "locale": 5, "relevant": [{"source": "a"}]}', '"locale" must be a text'),
        ('{"question": "q", "unanswerable": "yes"}', '"unanswerable" must be true or false'),
        ('{"question": "q", "answer": "x", "unanswerable": true}', "unknown key answer"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = _write(tmp_path, '{"question": "fine", "unanswerable": true}', line)
    with pytest.raises(UsageError) as caught:
        load_golden(path)
    assert message in str(caught.value)
    assert "golden.jsonl" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_golden(tmp_path / "missing.jsonl")
    (tmp_path / "latin.jsonl").write_bytes("año".encode("latin-1"))
    with pytest.raises(UsageError, match="not UTF-8"):
        load_golden(tmp_path / "latin.jsonl")
    with pytest.raises(UsageError, match="holds no questions"):
        load_golden(_write(tmp_path, "", "  "))


@pytest.mark.parametrize(
    ("relevant", "matches"),
    [
        (Relevant("a/b.md"), True),
        (Relevant("b.md"), False),
        (Relevant("a/b.md", "Linux"), True),
        (Relevant("a/b.md", "set up"), True),
        (Relevant("a/b.md", "Set up > Linux"), True),
        (Relevant("a/b.md", "Windows"), False),
        (Relevant("a/b.md", None, "the installer"), True),
        (Relevant("a/b.md", None, "the uninstaller"), False),
        (Relevant("a/b.md", "Linux", "nothing"), False),
    ],
)
def test_what_counts_as_the_answer(relevant: Relevant, matches: bool) -> None:
    assert relevant.matches(_passage()) is matches
