"""What becomes of the documents that teams keep: long sections, code, tables, lists, empty notes, pages."""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from pipelines.chunking.chunk import Chunk
from pipelines.chunking.chunker import ChunkOptions, chunk, chunker_fingerprint
from pipelines.chunking.tokens import MAX_TOKENS, ChunkTokenizer
from pipelines.parsing.document import Block, Page, ParsedDocument
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import parse
from pipelines.settings import Settings

Cut = Callable[..., tuple[Chunk, ...]]

SENTENCES = (
    "El equipo revisa cada solicitud durante la semana.",
    "The team answers within two working days.",
    "Los contratos antiguos se guardan en el archivo central.",
    "Every change is written down where people look for it.",
)


def prose(sentences: int, seed: int = 0) -> str:
    chosen = random.Random(seed)
    return " ".join(f"{chosen.choice(SENTENCES)[:-1]} {number}." for number in range(sentences))


class TestTextBeyondTheWindow:
    """B08: nothing is cut off by the model, nothing is over the budget, whatever the text is."""

    def test_the_last_sentence_of_a_long_section_is_in_a_chunk_the_model_reads_whole(self, cut, tokenizer):
        text = f"# Seguros\n\n{prose(30)} Solo aquí se nombra la póliza."
        chunks = cut(text)
        assert len(text) > 1500
        [holder] = [one for one in chunks if "póliza" in one.content]
        assert tokenizer.count([holder.embedded_text])[0] + 2 <= 256
        assert holder.section == ("Seguros",)

    @pytest.mark.parametrize("unit", ["0123456789abcdef", "字", "https://example.org/", "한글은", "a\u0301", "👩‍👩‍👧"])
    def test_one_line_without_spaces(self, build, cut, check_promises, unit):
        document = build([("paragraph", unit * (2_000_000 // len(unit) if unit.startswith("0") else 20_000))])
        chunks = cut(document)
        assert len(chunks) > 1
        check_promises(document, chunks, ChunkOptions(), lines=True)

    def test_a_note_of_different_words(self, build, cut, check_promises):
        chosen = random.Random(1)
        words = {"".join(chosen.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(130_000)}
        document = build([("paragraph", " ".join(sorted(words)))])
        assert len(document.text) > 890_000
        chunks = cut(document)
        check_promises(document, chunks, ChunkOptions(), lines=True)
        assert sum(one.tokens for one in chunks) / len(chunks) > MAX_TOKENS / 2, "chunks are needlessly small"

    @pytest.mark.parametrize("line", ["the same line", None])
    def test_a_log(self, build, cut, check_promises, line):
        chosen = random.Random(2)
        rows = [
            line or f"2026-01-01 10:00:{n % 60:02d} INFO request {n} took {chosen.random():.4f}" for n in range(9000)
        ]
        document = build([("paragraph", "\n".join(rows))])
        chunks = cut(document)
        check_promises(document, chunks, ChunkOptions(), lines=True)
        assert all(document.text[one.end : one.end + 1] in ("\n", "") for one in chunks), "a line was cut"

    def test_a_huge_heading_and_a_thousand_empty_ones(self, build, cut, check_promises):
        document = build(
            [(1, "# " + "big heading " * 20_000), ("paragraph", "x"), *[(2, f"## H{n}") for n in range(1000)]]
        )
        chunks = cut(document)
        check_promises(document, chunks, ChunkOptions(), lines=True)
        assert max(len(name) for one in chunks for name in one.section) <= 200

    def test_the_heading_path_is_within_the_budget(self, build, cut, check_promises):
        deep = [(level, f"{'#' * level} A rather long heading at level {level} of the note") for level in range(1, 7)]
        document = build([*deep, ("paragraph", prose(60))], title="The title of the note")
        chunks = cut(document)
        check_promises(document, chunks, ChunkOptions(), lines=True)
        assert all("level 6" in one.context or "level 6" in one.content for one in chunks)

    @pytest.mark.parametrize("limit", [32, 64, 254])
    def test_any_budget(self, build, cut, check_promises, limit):
        document = build(
            [(1, "# T"), ("paragraph", prose(20)), (2, "## A"), ("list", "- " + prose(3)), ("code", "x = 1")]
        )
        options = {"max_tokens": limit, "target_tokens": limit}
        check_promises(document, cut(document, **options), ChunkOptions(**options), lines=True)


class TestCode:
    """B16: fences and tables keep what makes them readable."""

    @pytest.mark.parametrize("mark", ["```", "~~~"])
    def test_a_comment_in_a_fence_is_no_heading(self, cut, mark):
        [one] = cut(f"# Instalar\n\n{mark}sh\n# instala dependencias\npip install x\n{mark}\n\nListo.")
        assert one.section == ("Instalar",)
        assert "# instala dependencias\npip install x" in one.content

    def test_tabs_and_indentation_survive(self, cut):
        source = "```python\ndef f(x):\n\tif x:\n\t\treturn 1\n\treturn 2\n```"
        assert cut(f"# Code\n\n{source}")[0].content.endswith(source)

    def test_a_fence_within_the_budget_is_never_cut(self, cut):
        code = "```\n" + "\n".join(f"line {number} of the program" for number in range(30)) + "\n```"
        text = "\n\n".join(["# A", prose(8), code, prose(8, 1), code.replace("line", "row"), prose(8, 2)])
        for fence in (code, code.replace("line", "row")):
            assert sum(fence in one.content for one in cut(text)) == 1

    def test_a_long_fence_is_opened_and_closed_in_every_piece(self, build, cut, check_promises):
        rows = [f"\tvalue_{number} = compute({number})  # step {number}" for number in range(200)]
        document = build([(1, "# Code"), ("code", "```python\n" + "\n".join(rows) + "\n```")])
        chunks = cut(document)
        assert len(chunks) > 3
        for one in chunks:
            body = one.content.removeprefix("# Code\n\n").split("\n")
            assert body[0] == "```python"
            assert body[-1] == "```"
            assert all(row in rows for row in body[1:-1])
        check_promises(document, chunks, ChunkOptions(), lines=True)

    def test_a_program_is_cut_between_its_functions(self, build, cut):
        function = "def f{n}():\n    a = {n}\n\n    return a + some_other_function(a, {n})"
        code = "```python\n" + "\n\n".join(function.format(n=number) for number in range(40)) + "\n```"
        chunks = cut(build([("code", code)]))
        assert len(chunks) > 2
        assert all(one.content.split("\n")[1].startswith("def f") for one in chunks)


class TestTables:
    """B16 (d, e)."""

    @staticmethod
    def table(rows: int, *, edges: bool = True) -> tuple[str, str, list[str]]:
        header, delimiter = "name | value | note", "---- | ----: | :---"
        body = [f"key {n} | {n * 7} | escaped \\| pipe {n}" for n in range(rows)]
        if edges:
            header, delimiter, *body = (f"| {row} |" for row in (header, delimiter, *body))
        return header, delimiter, body

    @pytest.mark.parametrize("edges", [True, False])
    def test_every_piece_has_the_header_and_whole_rows(self, build, cut, check_promises, edges):
        header, delimiter, rows = self.table(60, edges=edges)
        document = build([(2, "## Table"), ("paragraph", "Caption:"), ("table", "\n".join([header, delimiter, *rows]))])
        options = {"max_tokens": 128, "target_tokens": 128}
        chunks = cut(document, **options)
        assert len(chunks) > 5
        found = []
        for one in chunks:
            lines = one.content[one.content.index(header) :].split("\n")
            assert set(lines[1]) <= set("|-: ")
            assert len(lines) > 2, "a header without a row"
            found += lines[2:]
        assert found == rows
        assert sum("Caption" in one.content for one in chunks) == 1
        check_promises(document, chunks, ChunkOptions(**options), lines=True)

    def test_a_row_that_alone_is_too_long_is_cut(self, build, cut, check_promises):
        header, delimiter, rows = self.table(5)
        rows[2] = f"| key | 1 | {prose(60)} |"
        document = build([("table", "\n".join([header, delimiter, *rows]))])
        chunks = cut(document)
        assert all(one.content.startswith(header) for one in chunks)
        for row in (*rows[:2], *rows[3:]):
            assert sum(row in one.content for one in chunks) == 1
        check_promises(document, chunks, ChunkOptions(), lines=True)

    def test_a_header_wider_than_the_budget_is_not_repeated(self, build, cut, check_promises):
        header = "| " + " | ".join(f"a long column name {n}" for n in range(80)) + " |"
        rows = [header, "|" + " --- |" * 80, *["| " + " | ".join(f"cell {n}" for n in range(80)) + " |"] * 3]
        document = build([("table", "\n".join(rows))])
        check_promises(document, cut(document), ChunkOptions(), lines=True)


class TestLists:
    def test_items_stay_whole_with_what_is_under_them(self, cut):
        items = [f"- item {n}: {SENTENCES[n % 4]}\n  - under {n}\n    1. deeper {n}" for n in range(40)]
        chunks = cut("# List\n\nIntroduction:\n\n" + "\n".join(items))
        assert len(chunks) > 3
        for item in items:
            assert sum(item in one.content for one in chunks) == 1

    def test_one_item_over_the_budget_is_cut_at_the_items_in_it(self, build, cut, check_promises):
        nested = "\n".join(f"  - {SENTENCES[n % 4]} {n}" for n in range(60))
        document = build([("list", f"- outer\n{nested}")])
        chunks = cut(document)
        assert all(line.lstrip().startswith("- ") for one in chunks for line in one.content.split("\n"))
        check_promises(document, chunks, ChunkOptions(), lines=True)


class TestNothingToSay:
    """B19: no blank chunk, no heading alone where there is text for it, at least one chunk of anything else."""

    @pytest.mark.parametrize("source", ["", "\n \n\t\n", "%% only a comment %%", "---\ntitle: x\n---\n", "\ufeff"])
    def test_no_text_gives_no_chunk(self, cut, source):
        assert cut(source) == ()

    def test_an_empty_section_goes_with_the_next(self, cut):
        chunks = cut("# T\n\n## Empty\n\n## Next\n\nText of next.\n\n## Last\n\nText of last.")
        assert [one.content for one in chunks] == [
            "# T\n\n## Empty\n\n## Next\n\nText of next.",
            "## Last\n\nText of last.",
        ]
        assert [one.section for one in chunks] == [("T", "Next"), ("T", "Last")]

    def test_headings_at_the_end_go_with_the_text_before(self, cut):
        chunks = cut("# T\n\nText.\n\n## See also\n\n## References")
        assert [one.content for one in chunks] == ["# T\n\nText.\n\n## See also\n\n## References"]
        assert chunks[0].section == ("T",)

    def test_headings_only(self, cut):
        [one] = cut("# T\n\n## A\n\n## B")
        assert one.content == "# T\n\n## A\n\n## B"
        assert one.section == ("T",)

    def test_a_note_of_one_word(self, cut):
        [one] = cut("word")
        assert (one.content, one.section, one.context, one.line_start, one.line_end) == ("word", (), "", 1, 1)

    def test_text_that_no_block_covers_is_not_lost(self, cut, check_promises):
        text = "before\n\nblock\n\nbetween\nlines\n\nblock\n\nafter"
        blocks = (Block("paragraph", 8, 13, 3, 3), Block("paragraph", 30, 35, 8, 8))
        document = ParsedDocument(text=text, blocks=blocks)
        chunks = cut(document, strategy="paragraph")
        assert [one.content for one in chunks] == ["before", "block", "between\nlines", "block", "after"]
        assert [(one.line_start, one.line_end) for one in chunks] == [(1, 1), (3, 3), (5, 6), (8, 8), (10, 10)]
        check_promises(ParsedDocument(text="no\n\nblocks"), cut(ParsedDocument(text="no\n\nblocks")), ChunkOptions())

    def test_blank_blocks_are_nothing(self, cut):
        assert cut(ParsedDocument(text=" \n\n ", blocks=(Block("paragraph", 0, 4, 1, 3),))) == ()


class TestSections:
    def test_top_headings_always_begin_a_chunk_and_lower_ones_join(self, cut):
        chunks = cut(
            "# T\n\nIntro.\n\n## A\n\n### A1\n\nOne.\n\n### A2\n\nTwo.\n\n## B\n\n### B1\n\nThree.\n\n# U\n\nFour."
        )
        assert [one.content.split("\n")[0] for one in chunks] == ["# T", "## A", "## B", "# U"]
        assert [one.section for one in chunks] == [("T",), ("T", "A"), ("T", "B", "B1"), ("U",)]

    def test_lower_headings_part_where_they_do_not_fit(self, cut):
        chunks = cut("## A\n\n" + "\n\n".join(f"### A{n}\n\n{prose(8, n)}" for n in range(6)))
        assert len(chunks) > 2
        assert all(one.content.startswith(("## A\n", "### A")) for one in chunks)

    def test_context_is_the_path_above_what_the_chunk_shows(self, cut):
        chunks = cut("# T\n\n## A\n\n" + "\n\n".join(prose(9, n) for n in range(4)), title=False)
        assert chunks[0].context == ""
        assert chunks[0].content.startswith("# T\n\n## A\n\n")
        assert {one.context for one in chunks[1:]} == {"T > A"}
        assert chunks[1].embedded_text == f"T > A\n\n{chunks[1].content}"
        assert {one.context for one in cut("# T\n\n" + prose(60), heading_path=False, title=False)} == {""}

    def test_same_headings_in_different_notes_are_told_apart(self, cut):
        runbooks = [f"# {name}\n\n## Meaning\n\nShort.\n\n## Impact\n\nLarge." for name in ("PodCrash", "DiskFull")]
        first, second = (cut(runbook)[-1] for runbook in runbooks)
        assert first.content == second.content
        assert first.text_hash != second.text_hash

    def test_the_path_of_the_file_plays_no_part(self, cut):
        assert cut("# T\n\nSame.")[0].text_hash == cut("# T\n\nSame.")[0].text_hash


class TestRests:
    def test_a_small_rest_joins_its_neighbour(self, build, cut):
        parts = [("paragraph", prose(12)), ("paragraph", "Tiny."), ("paragraph", prose(13, 1))]
        assert min(one.tokens for one in cut(build(parts), min_tokens=32)) > 32
        assert len(cut(build(parts), min_tokens=32)) == 2

    def test_target_stops_the_joining_and_blocks_stay_whole(self, build, cut):
        blocks = [prose(6, number) for number in range(8)]
        chunks = cut(build([("paragraph", block) for block in blocks]), target_tokens=40, min_tokens=0)
        assert [one.content for one in chunks] == blocks


class TestOverlap:
    def test_the_last_sentence_before_is_repeated(self, build, cut, check_promises):
        document = build([(1, "# T"), ("paragraph", prose(60))])
        plain, options = cut(document), {"overlap_sentences": 1}
        chunks = cut(document, **options)
        check_promises(document, chunks, ChunkOptions(**options))
        repeated = [(a, b) for a, b in pairwise(chunks) if b.start < a.end]
        assert len(repeated) >= len(chunks) // 2
        assert all(document.text[b.start : a.end] in a.content for a, b in repeated)
        assert all(document.text[b.start - 1].isspace() for _, b in repeated)
        assert [one.end for one in chunks] == [one.end for one in plain]

    def test_nothing_is_repeated_over_a_heading(self, cut):
        chunks = cut("## A\n\nOne. Two.\n\n## B\n\nThree.", overlap_sentences=2)
        assert [one.content for one in chunks] == ["## A\n\nOne. Two.", "## B\n\nThree."]


class TestParagraphStrategy:
    def test_every_block_by_itself_with_its_heading(self, cut):
        chunks = cut("# T\n\nOne.\n\nTwo.\n\n- a\n- b\n\n## S\n\nThree.", strategy="paragraph")
        assert [one.content for one in chunks] == ["# T\n\nOne.", "Two.", "- a\n- b", "## S\n\nThree."]

    def test_long_paragraphs_are_cut(self, build, cut, check_promises):
        document = build([("paragraph", prose(80)), ("paragraph", "Short.")])
        chunks = cut(document, strategy="paragraph")
        assert chunks[-1].content == "Short."
        check_promises(document, chunks, ChunkOptions(strategy="paragraph"), lines=True)


class TestPages:
    def test_chunks_know_their_pages(self, tokenizer):
        texts = [prose(14, number) for number in range(3)]
        text = "\n\n".join(texts)
        starts = [text.index(part) for part in texts]
        blocks = tuple(
            Block("paragraph", start, start + len(part), 1 + 2 * n, 1 + 2 * n)
            for n, (start, part) in enumerate(zip(starts, texts, strict=True))
        )
        pages = (
            Page(1, starts[0], starts[0] + len(texts[0]), "text"),
            Page(2, starts[1], starts[1], "blank"),
            Page(3, starts[1], starts[1] + len(texts[1]), "ocr"),
            Page(4, starts[2], starts[2] + len(texts[2]), "text"),
        )
        document = ParsedDocument(text=text, blocks=blocks, pages=pages)
        chunks = chunk(document, options=ChunkOptions(), count_tokens=tokenizer.count)
        for one in chunks:
            touched = [page.number for page in pages if page.start < one.end and page.end > one.start]
            assert (one.page_start, one.page_end) == (touched[0], touched[-1])
        assert {one.page_start for one in chunks} == {1, 3, 4}

    def test_notes_have_none(self, cut):
        assert {(one.page_start, one.page_end) for one in cut("text")} == {(None, None)}


class TestLines:
    def test_lines_are_those_of_the_file(self, cut):
        source = "---\ntitle: T\ntags: [a]\n---\n\n# T\n\nOne.\n\n## A\n\nTwo\nthree.\n"
        assert [(one.line_start, one.line_end) for one in cut(source)] == [(6, 8), (10, 13)]


class TestOptions:
    def test_settings_become_options(self):
        settings = Settings(chunk_strategy="paragraph", chunk_max_tokens=100, chunk_overlap_sentences=2)
        options = ChunkOptions.from_settings(settings)
        assert (options.strategy, options.max_tokens, options.target_tokens) == ("paragraph", 100, 100)
        assert options.overlap_sentences == 2
        assert ChunkOptions.from_settings(Settings()) == ChunkOptions()

    @pytest.mark.parametrize(
        "wrong", [{"max_tokens": 255}, {"max_tokens": 31}, {"target_tokens": 0}, {"target_tokens": 300}]
    )
    def test_what_no_model_could_read_is_refused(self, wrong):
        with pytest.raises(ValueError, match="allowed are"):
            ChunkOptions(**wrong)

    def test_the_fingerprint_follows_every_option_and_the_tokenizer(self):
        changed = [
            ChunkOptions(strategy="paragraph"),
            ChunkOptions(max_tokens=200, target_tokens=200),
            ChunkOptions(target_tokens=ChunkOptions().target_tokens - 1),
            ChunkOptions(min_tokens=ChunkOptions().min_tokens + 1),
            ChunkOptions(overlap_sentences=ChunkOptions().overlap_sentences + 1),
            ChunkOptions(heading_path=not ChunkOptions().heading_path),
            ChunkOptions(title=not ChunkOptions().title),
        ]
        prints = {chunker_fingerprint(options, "t") for options in [ChunkOptions(), *changed]}
        prints.add(chunker_fingerprint(ChunkOptions(), "another"))
        assert len(prints) == len(changed) + 2
        assert chunker_fingerprint(ChunkOptions(), "t") == chunker_fingerprint(ChunkOptions(), "t")


def test_real_notes_keep_the_promises(shared_data, tokenizer: ChunkTokenizer, check_promises):
    paths = sorted((shared_data / "help_vault").rglob("*.md"))[::4] + sorted(
        (shared_data / "markdown_edge").rglob("*.md")
    )
    assert len(paths) > 90
    for path in paths:
        document = parse(path.read_bytes(), media_type="markdown", options=ParseOptions())
        chunks = chunk(document, options=ChunkOptions(), count_tokens=tokenizer.count)
        check_promises(document, chunks, ChunkOptions())
