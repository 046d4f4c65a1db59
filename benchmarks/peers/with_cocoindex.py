"""CocoIndex 1: declared target rows, memoized functions."""

import os
import pathlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

import asyncpg
import cocoindex as coco
from cocoindex.connectors import localfs, postgres
from cocoindex.ops.sentence_transformers import SentenceTransformerEmbedder
from cocoindex.ops.text import RecursiveSplitter
from cocoindex.resources.chunk import Chunk
from cocoindex.resources.file import FileLike, PatternFilePathMatcher
from cocoindex.resources.id import IdGenerator
from common import CHUNK_CHARACTERS, DATABASE, STATE, VAULT, model_folder
from numpy.typing import NDArray

os.environ.setdefault("COCOINDEX_DB", str(STATE / "cocoindex.db"))
POOL = coco.ContextKey[asyncpg.Pool]("pool")
EMBEDDER = coco.ContextKey[SentenceTransformerEmbedder]("embedder")
splitter = RecursiveSplitter()


@coco.lifespan
async def resources(builder: coco.EnvironmentBuilder) -> AsyncIterator[None]:
    address = f"postgresql://{os.environ['PGUSER']}@/{DATABASE}?host={os.environ['PGHOST']}"
    async with asyncpg.create_pool(address) as pool:
        builder.provide(POOL, pool)
        builder.provide(EMBEDDER, SentenceTransformerEmbedder(model_folder()))
        yield


@dataclass
class Passage:
    id: int
    source: str
    start: int
    text: str
    embedding: Annotated[NDArray, EMBEDDER]


@coco.fn
async def embed(chunk: Chunk, source: str, ids: IdGenerator, table: postgres.TableTarget[Passage]) -> None:
    vector = await coco.use_context(EMBEDDER).embed(chunk.text)
    row_id = await ids.next_id(chunk.text)
    table.declare_row(row=Passage(row_id, source, chunk.start.char_offset, chunk.text, vector))


@coco.fn(memo=True)
async def index_file(file: FileLike, table: postgres.TableTarget[Passage]) -> None:
    text = await file.read_text()
    chunks = splitter.split(text, chunk_size=CHUNK_CHARACTERS, language="markdown")
    await coco.map(embed, chunks, str(file.file_path.path), IdGenerator(), table)


@coco.fn
async def index_vault(vault: pathlib.Path) -> None:
    schema = await postgres.TableSchema.from_class(Passage, primary_key=["id"])
    table = await postgres.mount_table_target(POOL, table_name="passage", table_schema=schema)
    files = localfs.walk_dir(vault, recursive=True, path_matcher=PatternFilePathMatcher(included_patterns=["**/*.md"]))
    await coco.mount_each(index_file, files.items(), table)


if __name__ == "__main__":
    app = coco.App(coco.AppConfig(name="peers"), index_vault, vault=VAULT)
    app.update_blocking()
