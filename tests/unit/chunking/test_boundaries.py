"""B25: an edit changes its own chunk and its neighbours; every other boundary stays where it is."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from pipelines.chunking.chunk import Chunk
from pipelines.parsing.document import ParsedDocument

Parts = list[tuple[object, str]]

WORDS = (
    *(
        "service",
        "deploy",
        "cluster",
        "token",
        "invoice",
        "budget",
        "week",
        "owner",
        "region",
        "alert",
        "query",
        "index",
    ),
    *("puerto", "cuenta", "factura", "equipo", "semana", "clave", "copia", "carpeta", "enlace", "resumen", "pregunta"),
)


def paragraph(chosen: random.Random, words: int) -> str:
    return " ".join(chosen.choice(WORDS) for _ in range(words)).capitalize() + "."


def sentences(chosen: random.Random, count: int) -> str:
    return " ".join(paragraph(chosen, chosen.randint(6, 18)) for _ in range(count))


def long_note(headings: int, *, paragraphs: int = 3300, same_size: bool = False, seed: int = 0) -> Parts:
    chosen = random.Random(seed)
    parts: Parts = []
    for number in range(paragraphs):
        if headings and number % 12 == 0:
            parts.append((headings, f"{'#' * headings} {paragraph(chosen, 3)} {number}"))
        parts.append(("paragraph", paragraph(chosen, 40) if same_size else sentences(chosen, chosen.randint(1, 5))))
    return parts


def new_hashes(before: tuple[Chunk, ...], after: tuple[Chunk, ...]) -> int:
    return len({one.text_hash for one in after} - {one.text_hash for one in before})


@pytest.mark.parametrize(("headings", "same_size"), [(0, False), (0, True), (2, False), (3, False)])
def test_a_paragraph_inserted_in_a_note_of_a_thousand_chunks(build, cut, headings, same_size):
    parts = long_note(headings, same_size=same_size)
    before = cut(build(parts))
    assert len(before) >= 1000
    chosen = random.Random(7)
    counts = Counter(
        new_hashes(before, cut(build([*parts[:place], ("paragraph", paragraph(chosen, 40)), *parts[place:]])))
        for place in [0, 1, len(parts), *(chosen.randrange(len(parts)) for _ in range(9))]
    )
    assert max(counts) <= 3, counts
    assert min(counts) >= 1


@pytest.mark.parametrize("kind", ["insert", "delete", "retype", "heading"])
def test_many_edits_of_many_notes(build, cut, kind):
    counts: Counter[int] = Counter()
    for seed in range(120):
        chosen = random.Random(seed)
        parts = long_note(
            chosen.choice([2, 3] if kind == "heading" else [0, 2, 3]),
            paragraphs=60,
            same_size=chosen.random() < 0.3,
            seed=seed,
        )
        place = chosen.randrange(1, len(parts))
        changed = {
            "insert": [*parts[:place], ("paragraph", sentences(chosen, 2)), *parts[place:]],
            "delete": [*parts[:place], *parts[place + 1 :]],
            "retype": [*parts[:place], (parts[place][0], parts[place][1].replace("a", "o", 1)), *parts[place + 1 :]],
            "heading": [*parts[:place], (3, "### Inserted heading"), *parts[place:]],
        }[kind]
        counts[new_hashes(cut(build(parts)), cut(build(changed)))] += 1
    few = sum(times for new, times in counts.items() if new <= 3)
    # A heading is part of the path of all that follows it up to the next one: that text is really embedded anew.
    least, most = {"insert": (115, 6), "retype": (115, 6), "delete": (105, 12), "heading": (50, 12)}[kind]
    assert few >= least, counts
    assert max(counts) <= most, counts


def test_a_sentence_inserted_in_one_endless_paragraph(build, cut):
    chosen = random.Random(3)
    parts = [paragraph(chosen, chosen.randint(5, 25)) for _ in range(3000)]
    before = cut(build([("paragraph", " ".join(parts))]))
    for place in (0, 700, 1500, 2999):
        edited = [*parts[:place], paragraph(chosen, 12), *parts[place:]]
        assert 1 <= new_hashes(before, cut(build([("paragraph", " ".join(edited))]))) <= 3


def test_a_row_inserted_in_a_long_table(build, cut):
    rows = [f"| key {number} | {number * 7919 % 1000} |" for number in range(2000)]
    head = ["| name | value |", "| --- | --- |"]
    before = cut(build([("table", "\n".join([*head, *rows]))]))
    for place in (0, 1000, 1999):
        edited = [*rows[:place], "| new | 0 |", *rows[place:]]
        assert 1 <= new_hashes(before, cut(build([("table", "\n".join([*head, *edited]))]))) <= 3


def test_boundaries_do_not_depend_on_what_is_far_away(build, cut):
    """Two notes that share a long middle are cut alike in it, whatever is around."""
    middle = long_note(0, paragraphs=300, seed=5)
    first: ParsedDocument = build([*long_note(0, paragraphs=40, seed=1), *middle, *long_note(0, paragraphs=10, seed=2)])
    second: ParsedDocument = build([*long_note(0, paragraphs=7, seed=3), *middle, *long_note(0, paragraphs=90, seed=4)])
    cut_it: Callable[..., tuple[Chunk, ...]] = cut
    shared = {one.text_hash for one in cut_it(first)} & {one.text_hash for one in cut_it(second)}
    assert len(shared) >= len(cut_it(build(middle))) - 6


def test_chunks_are_not_small(build, cut):
    sizes = [one.tokens for one in cut(build(long_note(0)))]
    assert sum(sizes) / len(sizes) > 130
    assert sum(size < 40 for size in sizes) < len(sizes) / 50
