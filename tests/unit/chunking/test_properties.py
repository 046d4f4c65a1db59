"""What chunking promises for any text, tried on generated documents."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.chunking.chunker import ChunkOptions, chunk
from pipelines.parsing.document import ParsedDocument
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import parse

LETTERS = st.characters(exclude_categories=["Cs", "Cc"])
NASTY = [
    "the",
    "año",
    "¿qué?",
    "x.",
    "Fin.",
    "|",
    "```",
    "~~~",
    "#",
    "-",
    "字字字",
    "a" * 150,
    "한글",
    "\u200b",
    "1.",
    ":",
]
WORD = st.one_of(st.sampled_from(NASTY), st.text(LETTERS, min_size=1, max_size=8))
LINE = st.builds(
    lambda words, times: " ".join(words * times), st.lists(WORD, min_size=1, max_size=4), st.sampled_from([1, 1, 5, 40])
).filter(str.strip)
BLOCK = st.lists(LINE, min_size=1, max_size=4).map("\n".join).map(str.strip).filter(bool)
KIND = st.sampled_from([1, 2, 3, 4, 6, "paragraph", "paragraph", "list", "code", "table", "quote", "html", "math"])
PARTS = st.lists(st.tuples(KIND, BLOCK), max_size=9)
TABLE = st.lists(LINE.map(lambda row: f"| {row} |"), min_size=1, max_size=5).map(
    lambda rows: ("table", "\n".join([rows[0], "| --- |", *rows[1:]]))
)
FENCE = BLOCK.map(lambda code: ("code", f"```py\n{code}\n```"))
OPTIONS = st.builds(
    ChunkOptions,
    strategy=st.sampled_from(["structural", "structural", "paragraph"]),
    max_tokens=st.sampled_from([32, 50, 128, 254]),
    target_tokens=st.sampled_from([8, 32]),
    min_tokens=st.sampled_from([0, 12, 64]),
    overlap_sentences=st.sampled_from([0, 0, 1, 3]),
    heading_path=st.booleans(),
    title=st.booleans(),
)


@given(
    parts=st.one_of(PARTS, st.lists(st.one_of(TABLE, FENCE, st.tuples(KIND, BLOCK)), max_size=8)),
    between=st.sampled_from(["\n\n", "\n", " \n\t\n\n"]),
    title=st.one_of(st.none(), LINE),
    options=OPTIONS,
)
@settings(max_examples=200, deadline=None)
def test_any_document(build, check_promises, tokenizer, parts, between, title, options):
    document = build(parts, between=between, title=title)
    chunks = chunk(document, options=options, count_tokens=tokenizer.count)
    check_promises(document, chunks, options, lines=True)
    assert chunks == chunk(document, options=options, count_tokens=tokenizer.count)


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=600), options=OPTIONS)
@settings(max_examples=150, deadline=None)
def test_any_text_without_blocks(check_promises, tokenizer, text, options):
    document = ParsedDocument(text=text)
    check_promises(document, chunk(document, options=options, count_tokens=tokenizer.count), options, lines=True)


@given(source=st.lists(st.one_of(BLOCK, TABLE.map(lambda part: part[1]), FENCE.map(lambda part: part[1])), max_size=10))
@settings(max_examples=100, deadline=None)
def test_any_markdown_through_the_parser(check_promises, tokenizer, source):
    document = parse("\n\n".join(source).encode(), media_type="markdown", options=ParseOptions())
    check_promises(document, chunk(document, options=ChunkOptions(), count_tokens=tokenizer.count), ChunkOptions())
