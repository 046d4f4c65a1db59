"""Retrieval quality of the real pipeline on a collection, by leg and language.

    python benchmarks/retrieval_quality.py VAULT GOLDEN.jsonl [--learn] [--json]
    python benchmarks/retrieval_quality.py --xquad XQUAD.json [--language es] [--half] [--learn] [--json]

The first form indexes VAULT in an embedded server of its own and asks the golden set. The second makes a vault of an
XQuAD file, one paragraph a note, and asks its questions; with `--half`, every second paragraph is left out, and its
questions have no answer, though their article is there. `--learn` prints the calibration that the questions teach, and
the figures with it.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from psycopg.types.json import Jsonb

from pipelines.retrieval.evaluation import LEGS, evaluate
from pipelines.retrieval.golden import GoldenQuestion, GoldenSet, Relevant, load_golden
from pipelines.retrieval.learning import calibrate
from pipelines.retrieval.searcher import Searcher
from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database
from pipelines.sync import sync


def main() -> None:
    """See the module."""
    options = _options()
    home = Path(tempfile.mkdtemp(prefix="vl-"))
    try:
        if options.xquad is not None:
            vault, golden = _xquad(options.xquad, home / "vault", options.language, half=options.half)
        else:
            vault, golden = options.vault, load_golden(options.golden)
        settings = Settings.load(_env_file=None, vault_path=vault, vaultline_home=home)
        report = sync(settings)
        database = Database.from_settings(settings)
        searcher = Searcher(database, settings)
        figures: dict[str, Any] = {"chunks": report.chunks["total"], "defaults": evaluate(searcher, golden)}
        if options.learn:
            learnt = calibrate(searcher, golden)
            with database.connect() as connection:
                connection.execute("UPDATE generation SET calibration = %s", (Jsonb(learnt),))
            figures |= {"calibration": learnt, "learnt": evaluate(searcher, golden)}
        searcher.close()
        _show(figures, as_json=options.json)
    finally:
        server.stop(home)
        shutil.rmtree(home, ignore_errors=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path, nargs="?")
    parser.add_argument("golden", type=Path, nargs="?")
    parser.add_argument("--xquad", type=Path)
    parser.add_argument("--language", default="en")
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.xquad is None and options.golden is None:
        parser.error("a vault and a golden set are needed, or --xquad")
    return options


def _xquad(path: Path, vault: Path, language: str, *, half: bool) -> tuple[Path, GoldenSet]:
    """A vault with one paragraph a note, or with every second one, and the questions."""
    folder = vault / language
    folder.mkdir(parents=True)
    questions: list[GoldenQuestion] = []
    number = 0
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            number += 1
            source = f"{language}/{number:04d}.md"
            relevant = () if half and number % 2 else (Relevant(source),)
            if relevant:
                (vault / source).write_text(paragraph["context"].lstrip("\ufeff") + "\n", encoding="utf-8")
            for item in paragraph["qas"]:
                questions.append(GoldenQuestion(len(questions) + 1, item["question"], language, relevant))
    return vault, GoldenSet(path.name, tuple(questions))


def _show(figures: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        plain = {name: value.to_json() if name in ("defaults", "learnt") else value for name, value in figures.items()}
        print(json.dumps(plain, indent=2, ensure_ascii=False))
        return
    for name, value in figures.items():
        if name in ("defaults", "learnt"):
            shown = ["ndcg@10", "mrr", "recall@1", "recall@10", "false_refusals", "false_answers", "milliseconds"]
            table = value.table()
            print(f"{name}:\n{table[[column for column in shown if column in table]].round(4).to_string()}\n")
            legs = {leg: value.summary(leg=leg).get("ndcg@10", 0.0) for leg in LEGS}
            print(f"fused - better leg: {legs['hybrid'] - max(legs['vector'], legs['text']):+.4f}\n")
        else:
            print(f"{name}: {value}\n")


if __name__ == "__main__":
    main()
