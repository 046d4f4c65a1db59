"""How well each way of chunking can be found again: nDCG@10 and recall@5, by vectors and by vectors with BM25.

    python benchmarks/chunking_quality.py [--data DIR] [--cache DIR] [--variants NAME,...] [--corpora NAME,...]

A question's relevant passages are phrases of one note; the first chunk that holds a phrase counts, later ones do not,
so chunkings of different sizes compare. `recall@800t` is the recall within the first 800 tokens of results: what an
assistant's context would get for the same price. The handbook is sampled (every fifth note and all relevant ones).
"""

import argparse
import json
import math
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipelines.chunking.chunk import Chunk, hash_text
from pipelines.chunking.chunker import ChunkOptions, chunk
from pipelines.chunking.tokens import load_chunk_tokenizer
from pipelines.embedding.factory import create_embedder
from pipelines.embedding.protocol import Role
from pipelines.parsing.document import Block, ParsedDocument
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import parse
from pipelines.settings import Settings

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
MODEL = "sentence-transformers/all-MiniLM-L6-v2"

VARIANTS: dict[str, ChunkOptions | int] = {
    # each line changes one thing of the line above it that it names
    "96": ChunkOptions(target_tokens=96, max_tokens=96),
    "128": ChunkOptions(target_tokens=128, max_tokens=128),
    "160": ChunkOptions(target_tokens=160, max_tokens=160),
    "200": ChunkOptions(target_tokens=200, max_tokens=200),
    "254": ChunkOptions(target_tokens=254, max_tokens=254),
    "128 of 254": ChunkOptions(target_tokens=128, max_tokens=254),
    "160 of 254": ChunkOptions(target_tokens=160, max_tokens=254),
    "200 of 254": ChunkOptions(target_tokens=200, max_tokens=254),
    "254 no headings": ChunkOptions(heading_path=False, title=False),
    "254 no title": ChunkOptions(title=False),
    "254 title only": ChunkOptions(heading_path=False),
    "254 overlap 1": ChunkOptions(overlap_sentences=1),
    "254 overlap 2": ChunkOptions(overlap_sentences=2),
    "254 no merge": ChunkOptions(min_tokens=0),
    "254 merge 64": ChunkOptions(min_tokens=64),
    "254 merge 128": ChunkOptions(min_tokens=128),
    "254 merge 254": ChunkOptions(min_tokens=254),
    "paragraph": ChunkOptions(strategy="paragraph"),
    "windows 512": 512,  # chunks over the model's window, embedded as the mean of their windows
    "windows 1024": 1024,
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the phrases that answer it: (source, phrase)."""

    text: str
    relevant: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Parsed notes and the questions about them."""

    name: str
    documents: tuple[tuple[str, ParsedDocument], ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """One chunk as search would see it."""

    source: str
    content: str
    embedded: str
    tokens: int


def load_xquad(data: Path, locale: str) -> Corpus:
    """XQuAD with each paragraph as a note of its own; a question's phrase is its answer."""
    articles = json.loads((data / "retrieval" / "xquad" / f"xquad.{locale}.json").read_text(encoding="utf-8"))["data"]
    documents, questions = [], []
    for number, paragraph in enumerate(part for article in articles for part in article["paragraphs"]):
        text, source = paragraph["context"], f"{number}.txt"
        documents.append((source, parse(text.encode(), media_type="text", options=ParseOptions())))
        for asked in paragraph["qas"][::3]:
            questions.append(Question(asked["question"], ((source, asked["answers"][0]["text"]),)))
    return Corpus(f"xquad {locale}", tuple(documents), tuple(questions))


def load_vault(data: Path, name: str, *, every: int) -> Corpus:
    """A vault with its golden set: all notes that answer something, and every n-th of the rest."""
    asked = [json.loads(line) for line in (GOLDEN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    questions = tuple(
        Question(one["question"], tuple((passage["source"], passage["contains"]) for passage in one["relevant"]))
        for one in asked
        if not one.get("unanswerable")
    )
    wanted = {source for question in questions for source, _ in question.relevant}
    root = data / name
    documents = []
    for number, path in enumerate(sorted(root.rglob("*.md"))):
        source = path.relative_to(root).as_posix()
        if source in wanted or number % every == 0:
            documents.append((source, parse(path.read_bytes(), media_type="markdown", options=ParseOptions())))
    return Corpus(name, tuple(documents), questions)


def passages(corpus: Corpus, variant: ChunkOptions | int, count: Callable[[Sequence[str]], list[int]]) -> list[Passage]:
    """The corpus cut one way."""
    found = []
    for source, document in corpus.documents:
        if isinstance(variant, int):
            found += [Passage(source, text, text, count([text])[0]) for text in _long_pieces(document, variant, count)]
        else:
            chunks: tuple[Chunk, ...] = chunk(document, options=variant, count_tokens=count)
            found += [Passage(source, one.content, one.embedded_text, one.tokens) for one in chunks]
    return found


def _long_pieces(document: ParsedDocument, size: int, count: Callable[[Sequence[str]], list[int]]) -> Iterator[str]:
    """Blocks joined up to `size` tokens whatever the model's window is."""
    blocks: Iterable[Block] = document.blocks
    pieces: list[str] = []
    total = 0
    for block in blocks:
        text = document.text[block.start : block.end]
        [tokens] = count([text])
        if pieces and total + tokens > size:
            yield "\n\n".join(pieces)
            pieces, total = [], 0
        pieces.append(text)
        total += tokens
    if pieces:
        yield "\n\n".join(pieces)


class Vectors:
    """Vectors of texts, computed once and kept on disk."""

    def __init__(self, cache: Path) -> None:
        self._embedder = create_embedder(MODEL, Settings.load())
        self._folder = cache
        self._known: dict[str, NDArray[np.float32]] = {}
        for path in cache.glob("*.npz"):
            with np.load(path) as stored:
                self._known.update(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    def __call__(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Unit vectors, shape (texts, dimensions)."""
        keys = [f"{role}:{hash_text(text)}" for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            vectors = self._embedder.embed(list(new.values()), role=role).vectors
            self._known.update(zip(new, vectors, strict=True))
            np.savez(self._folder / f"{hash_text(''.join(new))}.npz", keys=np.array(list(new)), vectors=vectors)
        return np.stack([self._known[key] for key in keys])


def terms(text: str) -> list[str]:
    """Lower-case words without accents."""
    plain = unicodedata.normalize("NFD", text.lower())
    return re.findall(r"\w+", "".join(letter for letter in plain if not unicodedata.combining(letter)))


def bm25(found: Sequence[Passage], questions: Sequence[Question]) -> NDArray[np.float64]:
    """Okapi BM25 (k1 1.2, b 0.75), shape (questions, passages)."""
    counts = [Counter(terms(one.embedded)) for one in found]
    lengths = np.array([sum(one.values()) for one in counts], dtype=float)
    postings: dict[str, list[tuple[int, int]]] = {}
    for number, one in enumerate(counts):
        for term, times in one.items():
            postings.setdefault(term, []).append((number, times))
    scores = np.zeros((len(questions), len(found)))
    norm = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    for row, question in enumerate(questions):
        for term in set(terms(question.text)):
            holders = postings.get(term, [])
            weight = math.log(1 + (len(found) - len(holders) + 0.5) / (len(holders) + 0.5))
            for number, times in holders:
                scores[row, number] += weight * times * 2.2 / (times + norm[number])
    return scores


def fuse(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Reciprocal rank fusion (k = 60) of two score matrices."""

    def reciprocal(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
        result: NDArray[np.float64] = 1.0 / (61 + ranks)
        return result

    return reciprocal(first) + reciprocal(second)


def judge(scores: NDArray[np.float64], found: Sequence[Passage], questions: Sequence[Question]) -> dict[str, float]:
    """Mean nDCG@10, recall@5 and recall within 800 tokens."""
    folded = [" ".join(one.content.split()).casefold() for one in found]
    gains, fives, budgets = [], [], []
    for row, question in enumerate(questions):
        best = np.argsort(-scores[row], kind="stable")[:40]
        missing = {(source, " ".join(phrase.split()).casefold()) for source, phrase in question.relevant}
        all_wanted = len(missing)
        gain, at_five, in_budget, spent = 0.0, 0, 0, 0
        for rank, number in enumerate(best):
            hits = {one for one in missing if one[0] == found[number].source and one[1] in folded[number]}
            missing -= hits
            spent += found[number].tokens
            if rank < 10:
                gain += len(hits) / math.log2(rank + 2)
            at_five += len(hits) if rank < 5 else 0
            in_budget += len(hits) if spent <= 800 else 0
        gains.append(min(1.0, gain / sum(1 / math.log2(rank + 2) for rank in range(all_wanted))))
        fives.append(at_five / all_wanted)
        budgets.append(in_budget / all_wanted)
    return {"ndcg@10": float(np.mean(gains)), "recall@5": float(np.mean(fives)), "recall@800t": float(np.mean(budgets))}


def main() -> None:
    """Print one line a corpus and variant, and the mean over the corpora."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "vaultline-chunking-quality")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--corpora", default="xquad en,xquad es,help_vault,handbook")
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    load: dict[str, Callable[[], Corpus]] = {
        "xquad en": lambda: load_xquad(asked.data, "en"),
        "xquad es": lambda: load_xquad(asked.data, "es"),
        "help_vault": lambda: load_vault(asked.data, "help_vault", every=1),
        "handbook": lambda: load_vault(asked.data, "handbook", every=5),
    }
    corpora = [load[name]() for name in asked.corpora.split(",")]
    vectors, count = Vectors(asked.cache), load_chunk_tokenizer().count
    print("variant          corpus      chunks tokens   vector: nDCG@10, recall@5, recall@800t   the same with BM25")
    for name in asked.variants.split(","):
        rows = []
        for corpus in corpora:
            found = passages(corpus, VARIANTS[name], count)
            questions = vectors([one.text for one in corpus.questions], Role.QUERY)
            cosine = (questions @ vectors([one.embedded for one in found], Role.DOCUMENT).T).astype(float)
            alone = judge(cosine, found, corpus.questions)
            fused = judge(fuse(cosine, bm25(found, corpus.questions)), found, corpus.questions)
            rows.append([*alone.values(), *fused.values()])
            mean = sum(one.tokens for one in found) / len(found)
            print(f"{name:16} {corpus.name:11} {len(found):6} {mean:6.0f}   {_row(rows[-1])}", flush=True)
        print(f"{name:16} {'mean':11} {'':6} {'':6}   {_row(np.mean(rows, axis=0).tolist())}", flush=True)


def _row(figures: Sequence[float]) -> str:
    return "   ".join(" ".join(f"{figure:.3f}" for figure in part) for part in (figures[:3], figures[3:]))


if __name__ == "__main__":
    main()
