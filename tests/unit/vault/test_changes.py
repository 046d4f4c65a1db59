"""What a scan means beside what is known: read, gone, left out, a problem, moved."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.vault.changes import Known, find_differences, is_suspicious_loss, match_moves
from pipelines.vault.scan import FoundFile, Scan

SECOND = 10**9
NOW = 1_000_000 * SECOND
OLD = NOW - 1_000 * SECOND
WEEK = 7 * 86_400 * SECOND


def found(source: str, *, size: int = 10, mtime_ns: int = OLD, **more: str) -> FoundFile:
    return FoundFile(source, source.encode(), size, mtime_ns, "markdown", **more)


def known(source: str, *, number: int = 1, content: str | None = "h", **more: object) -> Known:
    row = Known(number, source, "f", 10, OLD, content, verified_ns=NOW - 10 * SECOND)
    return replace(row, **more)  # type: ignore[arg-type]


def scan(*files: FoundFile, **more: object) -> Scan:
    return Scan({file.source: file for file in files}, **more)  # type: ignore[arg-type]


def differences(seen: Scan, *rows: Known, full_hash_ns: int = WEEK):  # type: ignore[no-untyped-def]
    return find_differences(seen, {row.source: row for row in rows}, now_ns=NOW, full_hash_ns=full_hash_ns)


def test_an_unchanged_file_is_not_read() -> None:
    result = differences(scan(found("a.md")), known("a.md"))
    assert not result
    assert result.unchanged == 1


@pytest.mark.parametrize(
    ("file", "row"),
    [
        (found("a.md"), None),
        (found("a.md", size=11), known("a.md")),
        (found("a.md", mtime_ns=OLD + 1), known("a.md")),
        (found("a.md", mtime_ns=OLD - 9 * SECOND), known("a.md")),
        (found("a.md"), known("a.md", content_hash=None)),
        (found("a.md"), known("a.md", content_hash=None, left_out="a rule of before")),
        (found("a.md"), known("a.md", problem="could not be read")),
        (found("a.md"), known("a.md", verified_ns=OLD + SECOND)),
        (found("a.md"), known("a.md", verified_ns=0)),
        (found("a.md", mtime_ns=NOW + 9 * SECOND), known("a.md", mtime_ns=NOW + 9 * SECOND)),
        (found("a.md"), known("a.md", verified_ns=NOW - WEEK)),
    ],
    ids=[
        "new",
        "size",
        "a nanosecond later",
        "an older date",
        "never read",
        "no longer left out",
        "was a problem",
        "saved within the clock's step of the reading",
        "distrusted",
        "dated in the future",
        "due for the periodic hash",
    ],
)
def test_what_must_be_read(file: FoundFile, row: Known | None) -> None:
    result = differences(scan(file), *([row] if row else []))
    assert result.to_read == (file,)
    assert result.unchanged == 0


def test_rules_and_problems_are_told_once() -> None:
    left_out, problem = found("a.md", excluded="a rule"), found("b.md", problem="a pipe")
    first = differences(scan(left_out, problem), known("a.md"), known("b.md"))
    assert (first.left_out, first.problems) == ((left_out,), (problem,))
    assert not first.to_read
    told = (known("a.md", content_hash=None, left_out="a rule"), known("b.md", problem="a pipe"))
    assert not differences(scan(left_out, problem), *told)
    other = differences(
        scan(replace(left_out, excluded="another rule"), replace(problem, problem="no permission")), *told
    )
    assert len(other.left_out) == len(other.problems) == 1


def test_gone_unknown_and_shut_out_are_three_things() -> None:
    rows = [
        known(source, number=number)
        for number, source in enumerate(
            ("gone.md", "blind/a.md", "blind/deep/b.md", "shut/c.md", "blindfold/d.md", "shutter/e.md")
        )
    ]
    result = differences(scan(unreadable_folders=("blind",), excluded_folders={"shut": "a rule"}), *rows)
    assert {row.source for row in result.vanished} == {"gone.md", "blindfold/d.md", "shutter/e.md"}
    assert {row.source for row in result.shut_out} == {"shut/c.md"}


def test_a_folder_that_is_both_closed_and_shut_out_is_shut_out() -> None:
    result = differences(
        scan(unreadable_folders=("shut/deep",), excluded_folders={"shut": "a rule"}), known("shut/deep/a.md")
    )
    assert [row.source for row in result.shut_out] == ["shut/deep/a.md"]
    assert not result.vanished


@pytest.mark.parametrize(
    ("lost", "held", "suspicious"),
    [
        (0, 0, False),
        (0, 10, False),
        (1, 1, True),
        (10, 10, True),
        (9, 12, False),  # under the minimum
        (10, 20, False),  # not more than half
        (11, 20, True),
        (500, 1_000, False),
        (501, 1_000, True),
    ],
)
def test_suspicious_losses(lost: int, held: int, suspicious: bool) -> None:
    rows = [known(f"{number}.md", number=number) for number in range(held)]
    assert is_suspicious_loss(rows[:lost], rows, fraction=0.5, minimum=10) is suspicious


def test_files_without_text_are_no_loss() -> None:
    rows = [known(f"{number}.md", content_hash=None, left_out="a rule") for number in range(20)]
    assert not is_suspicious_loss(rows, rows, fraction=0.5, minimum=10)
    assert is_suspicious_loss([*rows, known("a.md")], [*rows, known("a.md")], fraction=0.5, minimum=10)


def test_moves_go_to_the_likeliest_name() -> None:
    vanished = [known("a/x.md", number=1), known("b/y.md", number=2), known("c/Z.md", number=3)]
    moves = match_moves(vanished, {"new/y.md": "h", "new/z.md": "h", "a/other.md": "h", "fourth.md": "h"})
    assert {source: row.id for source, row in moves.items()} == {"new/y.md": 2, "new/z.md": 3, "a/other.md": 1}


def test_only_the_same_content_is_a_move() -> None:
    vanished = [known("a.md", content_hash="one"), known("b.md", content_hash=None)]
    assert match_moves(vanished, {"c.md": "two"}) == {}


@given(
    st.lists(
        st.tuples(st.sampled_from("pqr"), st.sampled_from("xyz"), st.sampled_from("123")), unique_by=lambda t: t[:2]
    ),
    st.lists(
        st.tuples(st.sampled_from("uvw"), st.sampled_from("xyz"), st.sampled_from("123")), unique_by=lambda t: t[:2]
    ),
)
def test_every_document_moves_at_most_once_and_only_to_its_own_content(
    gone: list[tuple[str, str, str]], new: list[tuple[str, str, str]]
) -> None:
    vanished = [known(f"{a}/{b}.md", number=number, content_hash=h) for number, (a, b, h) in enumerate(gone)]
    hashes = {f"{a}/{b}.md": h for a, b, h in new}
    moves = match_moves(vanished, hashes)
    assert len({row.id for row in moves.values()}) == len(moves)
    assert all(row.content_hash == hashes[source] for source, row in moves.items())
    for content in "123":
        possible = min(sum(h == content for *_, h in gone), sum(h == content for h in hashes.values()))
        assert sum(row.content_hash == content for row in moves.values()) == possible
    assert match_moves(vanished[::-1], dict(reversed(list(hashes.items())))) == moves, "order decides nothing"
