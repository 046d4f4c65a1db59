"""How fast the local runtimes embed a folder of notes, how much memory they take, and whether they agree.

    python -m benchmarks.embed_speed [FOLDER ...] [--texts N] [--model MODEL] [--reference]

Texts are passages of about 900 characters. Each runtime runs in a process of its own: start is from nothing to the
first vector of a question, memory the most the process held. --reference also asks sentence-transformers itself, in
fp32, and prints the least cosine to it.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDERS = (DATA / "help_vault" / "en", DATA / "help_vault" / "es", DATA / "runbooks")
PASSAGE = 900  # characters


def main() -> None:
    """Print one line a runtime, and JSON of them all at the end."""
    asked = _arguments()
    if asked.runtime:
        print(json.dumps(_measure(asked)))
        return
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        home = asked.home or Path(scratch)
        runtimes = ["openvino", "openvino", "torch", *(["sentence-transformers"] if asked.reference else [])]
        for runtime in runtimes:  # openvino twice: the first start converts the model
            vectors = Path(scratch) / f"{runtime}.npy"
            command = [sys.executable, "-m", "benchmarks.embed_speed", *map(str, asked.folders)]
            command += ["--texts", str(asked.texts), "--model", asked.model, "--runtime", runtime]
            command += ["--home", str(home), "--vectors", str(vectors)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            row = json.loads(done.stdout.splitlines()[-1])
            rows.append(row)
            print(
                f"{runtime:24} {row['precision']:5} start {row['start']:6.2f} s   {row['tokens']:7} tokens in "
                f"{row['seconds']:6.1f} s = {row['rate']:6.0f} tokens/s   {row['megabytes']:5.0f} MB"
            )
        other = Path(scratch) / ("sentence-transformers.npy" if asked.reference else "torch.npy")
        cosines = (np.load(Path(scratch) / "openvino.npy") * np.load(other)).sum(axis=1)
        print(f"OpenVINO against {other.stem}: least cosine {cosines.min():.6f}, mean {cosines.mean():.6f}")
        print(json.dumps({"runs": rows, "least_cosine": float(cosines.min()), "cores": len(os.sched_getaffinity(0))}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*", default=list(FOLDERS))
    parser.add_argument("--texts", type=int, default=600, help="passages to embed, chosen by a fixed seed")
    parser.add_argument("--model", default="sentence-transformers/all-MiniLM-L6-v2")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--runtime", help=argparse.SUPPRESS)
    parser.add_argument("--vectors", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _measure(asked: argparse.Namespace) -> dict[str, object]:
    began = time.perf_counter()
    from pipelines.embedding.factory import create_embedder
    from pipelines.embedding.protocol import Role
    from pipelines.settings import Settings

    runtime = "auto" if asked.runtime == "sentence-transformers" else asked.runtime
    embedder = create_embedder(asked.model, Settings.load(vaultline_home=asked.home, embedding_runtime=runtime))
    texts = _passages(asked.folders, asked.texts)
    counts = embedder.count_tokens(texts)
    texts = [text for text, count in zip(texts, counts, strict=True) if count <= embedder.spec.max_tokens]
    if asked.runtime == "sentence-transformers":
        return _measure_reference(
            asked, embedder.spec.model, texts, tokens=sum(embedder.count_tokens(texts)), began=began
        )
    embedder.embed(["¿dónde está la copia de seguridad?"], role=Role.QUERY)
    start = time.perf_counter() - began
    began = time.perf_counter()
    result = embedder.embed(texts, role=Role.DOCUMENT)
    seconds = time.perf_counter() - began
    np.save(asked.vectors, result.vectors)
    return _row(asked.runtime, getattr(embedder, "precision", "?"), start, int(result.tokens.sum()), seconds)


def _measure_reference(
    asked: argparse.Namespace, model: str, texts: list[str], *, tokens: int, began: float
) -> dict[str, object]:
    from pipelines.embedding.model_files import find_model
    from pipelines.settings import Settings

    warnings.simplefilter("ignore")
    from sentence_transformers import SentenceTransformer

    reference = SentenceTransformer(str(find_model(model, Settings.load(vaultline_home=asked.home))))
    reference.encode(["¿dónde está la copia de seguridad?"])
    start = time.perf_counter() - began
    began = time.perf_counter()
    vectors = reference.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
    np.save(asked.vectors, vectors)
    return _row(asked.runtime, "f32", start, tokens, time.perf_counter() - began)


def _row(runtime: str, precision: str, start: float, tokens: int, seconds: float) -> dict[str, object]:
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rate = tokens / seconds
    return {
        "runtime": runtime,
        "precision": precision,
        "start": start,
        "tokens": tokens,
        "seconds": seconds,
        "rate": rate,
        "megabytes": megabytes,
    }


def _passages(folders: list[Path], count: int) -> list[str]:
    """Passages of whole paragraphs, the same ones at every call."""
    found: list[str] = []
    for file in sorted(file for folder in folders for file in folder.rglob("*.md")):
        passage = ""
        for paragraph in file.read_text(errors="replace").split("\n\n"):
            if passage and len(passage) + len(paragraph) > PASSAGE:
                found.append(passage)
                passage = ""
            passage = f"{passage}\n\n{paragraph}".strip()
        if passage:
            found.append(passage)
    return random.Random(1).sample(found, min(count, len(found)))


if __name__ == "__main__":
    main()
