"""What the chunking tests share: the tokenizer, documents with exact line numbers, and the promises as one check."""

from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest

from pipelines.chunking.chunk import Chunk
from pipelines.chunking.chunker import ChunkOptions, chunk
from pipelines.chunking.tokens import ChunkTokenizer, load_chunk_tokenizer
from pipelines.parsing.document import Block, BlockKind, ParsedDocument
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import parse


@pytest.fixture(scope="session")
def tokenizer() -> ChunkTokenizer:
    return load_chunk_tokenizer()


@pytest.fixture(scope="session")
def cut(tokenizer: ChunkTokenizer) -> Callable[..., tuple[Chunk, ...]]:
    """Chunk a document, or Markdown source, with the default options or those given."""

    def run(document: ParsedDocument | str, **options: object) -> tuple[Chunk, ...]:
        if isinstance(document, str):
            document = parse(document.encode(), media_type="markdown", options=ParseOptions())
        return chunk(document, options=ChunkOptions(**options), count_tokens=tokenizer.count)  # type: ignore[arg-type]

    return run


@pytest.fixture(scope="session")
def build() -> Callable[..., ParsedDocument]:
    """A document made of (kind, text) or (level, heading) with blank lines between; the text is the file."""

    def run(parts: Iterable[tuple[BlockKind | int, str]], *, between: str = "\n\n", title: str | None = None):
        text, blocks, line = "", [], 1
        for kind, content in parts:
            if text:
                text += between
                line += between.count("\n")
            last = line + content.count("\n")
            named: BlockKind = "heading" if isinstance(kind, int) else kind
            level = kind if isinstance(kind, int) else 0
            blocks.append(Block(named, len(text), len(text) + len(content), line, last, level))
            text += content
            line = last
        return ParsedDocument(text=text, blocks=tuple(blocks), title=title)

    return run


@pytest.fixture(scope="session")
def check_promises(tokenizer: ChunkTokenizer) -> Callable[..., None]:
    """Fail unless chunks keep what chunking promises for any text."""

    def run(document: ParsedDocument, chunks: tuple[Chunk, ...], options: ChunkOptions, *, lines: bool = False) -> None:
        text = document.text
        covered = bytearray(len(text))
        for one in chunks:
            assert 0 <= one.start < one.end <= len(text)
            covered[one.start : one.end] = b"\1" * (one.end - one.start)
            assert text[one.start : one.end] in one.content
            assert one.content.strip(), "a blank chunk"
            assert 1 <= one.line_start <= one.line_end
            assert one.tokens <= options.max_tokens
            assert len(one.embedded_text) <= options.max_characters
            if lines:
                assert one.line_start == 1 + text.count("\n", 0, one.start)
                assert one.line_end == 1 + text.count("\n", 0, one.end)
        lost = [letter for letter, seen in zip(text, covered, strict=True) if not seen and not letter.isspace()]
        assert not lost, f"{len(lost)} characters are in no chunk"
        assert [one.tokens for one in chunks] == tokenizer.count([one.embedded_text for one in chunks])
        assert [one.ordinal for one in chunks] == list(range(len(chunks)))
        assert all(a.start < b.start and a.end <= b.end for a, b in pairwise(chunks))
        assert bool(chunks) == bool(text.strip())

    return run
