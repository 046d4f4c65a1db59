"""LlamaIndex: an ingestion pipeline with a document store (upserts and deletes) and a cache."""

import os

from common import CHUNK_CHARACTERS, DATABASE, STATE, VAULT, model_folder
from langchain_text_splitters import MarkdownTextSplitter
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import LangchainNodeParser
from llama_index.core.schema import Document
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.vector_stores.postgres import PGVectorStore

address = f"@/{DATABASE}?host={os.environ['PGHOST']}"
store = PGVectorStore.from_params(
    connection_string=f"postgresql+psycopg2://{os.environ['PGUSER']}{address}",
    async_connection_string=f"postgresql+asyncpg://{os.environ['PGUSER']}{address}",
    table_name="notes",
    embed_dim=384,
)
pipeline = IngestionPipeline(
    transformations=[
        LangchainNodeParser(MarkdownTextSplitter(chunk_size=CHUNK_CHARACTERS, chunk_overlap=0)),
        HuggingFaceEmbedding(model_name=model_folder(), embed_batch_size=32),
    ],
    docstore=SimpleDocumentStore(),
    docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
    vector_store=store,
)
if (STATE / "pipeline").is_dir():
    pipeline.load(str(STATE / "pipeline"))
pipeline.run(
    documents=[
        Document(text=path.read_text(encoding="utf-8"), doc_id=path.relative_to(VAULT).as_posix())
        for path in sorted(VAULT.rglob("*.md"))
    ]
)
pipeline.persist(str(STATE / "pipeline"))
