"""LangChain: `index()` with a record manager and full clean-up."""

import os

from common import CHUNK_CHARACTERS, DATABASE, STATE, VAULT, model_folder
from langchain_classic.indexes import SQLRecordManager
from langchain_core.documents import Document
from langchain_core.indexing import index
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_postgres import PGVector
from langchain_text_splitters import MarkdownTextSplitter

documents = [
    Document(path.read_text(encoding="utf-8"), metadata={"source": path.relative_to(VAULT).as_posix()})
    for path in sorted(VAULT.rglob("*.md"))
]
chunks = MarkdownTextSplitter(chunk_size=CHUNK_CHARACTERS, chunk_overlap=0).split_documents(documents)
store = PGVector(
    embeddings=HuggingFaceEmbeddings(model_name=model_folder()),
    collection_name="notes",
    connection=f"postgresql+psycopg://{os.environ['PGUSER']}@/{DATABASE}?host={os.environ['PGHOST']}",
    use_jsonb=True,
)
records = SQLRecordManager("notes", db_url=f"sqlite:///{STATE}/records.db")
records.create_schema()
print(index(chunks, records, store, cleanup="full", source_id_key="source", key_encoder="sha256"))
