"""What is known about embedding models by their names: prefixes, windows and dimensions.

A served model carries no configuration, so its prefixes are looked up here. Sources are the models' own cards; a wrong
or missing line is put right by EMBEDDING_QUERY_PREFIX, EMBEDDING_DOCUMENT_PREFIX and EMBEDDING_MAX_TOKENS.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Models whose name matches `pattern`; `max_tokens` is the model's window, None where the family has several."""

    pattern: str
    query_prefix: str = ""
    document_prefix: str = ""
    max_tokens: int | None = None


_PASSAGES = "Represent this sentence for searching relevant passages: "
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "

FAMILIES = (
    # The first match counts: narrower patterns stand first.
    Family(r"e5-mistral|e5.*instruct", _INSTRUCT, "", 512),
    Family(r"(^|[-_/])e5([-_]|$)", "query: ", "passage: ", 512),
    Family(r"nomic-embed", "search_query: ", "search_document: ", 2048),
    Family(r"bge-m3", "", "", 8192),
    Family(r"bge-.*-zh", "为这个句子生成表示以用于检索相关文章：", "", 512),
    Family(r"bge-", _PASSAGES, "", 512),
    Family(r"mxbai-embed", _PASSAGES, "", 512),
    Family(r"arctic-embed.*(2\.0|2)$|arctic-embed2", "query: ", "", 8192),
    Family(r"arctic-embed", _PASSAGES, "", 512),
    Family(r"embeddinggemma", "task: search result | query: ", "title: none | text: ", 2048),
    Family(r"qwen3-embedding", _INSTRUCT, "", 8192),
    Family(r"text-embedding-(3|ada)", "", "", 8191),
    Family(r"all-minilm", "", "", 256),
    Family(r"all-mpnet-base", "", "", 384),
)

UNKNOWN = Family("", max_tokens=512)

VOYAGE_DIMENSIONS = {
    # Numbers a vector has unless a size is asked for; from the provider's documentation.
    "voyage-4-large": 1024,
    "voyage-4": 1024,
    "voyage-4-lite": 1024,
    "voyage-3-large": 1024,
    "voyage-3.5": 1024,
    "voyage-3.5-lite": 1024,
    "voyage-3": 1024,
    "voyage-3-lite": 512,
    "voyage-code-3": 1024,
    "voyage-code-2": 1536,
    "voyage-finance-2": 1024,
    "voyage-law-2": 1024,
    "voyage-multilingual-2": 1024,
    "voyage-large-2": 1536,
    "voyage-2": 1024,
}

VOYAGE_SIZES = re.compile(r"voyage-(4|3-large|3\.5|code-3)")
"""Models that can be asked for a size (256, 512, 1024 or 2048)."""

VOYAGE_MAX_TOKENS = {"voyage-2": 4_000, "voyage-large-2": 16_000, "voyage-code-2": 16_000, "voyage-law-2": 16_000}
VOYAGE_WINDOW = 32_000


def family_of(model: str) -> Family:
    """The family of a model's name, UNKNOWN where there is none."""
    name = model.lower()
    return next((family for family in FAMILIES if re.search(family.pattern, name)), UNKNOWN)
