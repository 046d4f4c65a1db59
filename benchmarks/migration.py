"""A migration from one model to another while a client searches and another edits: what each of them notices.

    python -m benchmarks.migration --vault ../shared/data/runbooks/content --model-path FOLDER_OF_MODELS
    python -m benchmarks.migration --vault ../shared/data/help_vault --hosted

Three processes work beside the migration: a client that searches (fused search, as people get it) and one that reads
the view `knowledge` by SQL; a writer that publishes one document over and over; an editor that edits notes and syncs.
A pause is the longest that one of their calls took around the moment of the switch. `--hosted` migrates to voyage-3
(1,024 numbers) on a local server that speaks Voyage's API, by the real client.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.edits import copy_vault, notes
from pipelines.generations import promotion
from pipelines.settings import Settings
from pipelines.storage import generations, server
from pipelines.storage.database import Database
from pipelines.sync import sync

BEFORE = "sentence-transformers/all-MiniLM-L6-v2"
MPNET = "sentence-transformers/all-mpnet-base-v2"
QUESTIONS = (
    "how do I restart the service",
    "disk is full on the node",
    "certificate expired",
    "pods crash looping",
    "latency is too high",
    "how to link notes",
    "publish a site",
    "sync conflict between devices",
)
AROUND = 2.0
"""Seconds before and after a switch in which a call counts as met by it."""


@dataclass(frozen=True)
class Call:
    """One call of a client: when it ended, how long it took, and what it got."""

    at: float
    seconds: float
    detail: dict[str, Any]


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vault", type=Path)
    parser.add_argument("--after", default=MPNET)
    parser.add_argument("--model-path", type=Path, help="folder of sentence-transformers models that have no package")
    parser.add_argument("--hosted", action="store_true")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    parser.add_argument("--client", choices=sorted(CLIENTS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        CLIENTS[options.client]()
        return
    figures = measure(options)
    for name, value in figures.items():
        print(f"{name:<46} {value}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one migration and its rollback."""
    with tempfile.TemporaryDirectory(prefix="vlm") as folder, contextlib.ExitStack() as stack:
        home, vault = Path(folder) / "h", copy_vault(options.vault, Path(folder) / "vault")
        common: dict[str, Any] = {"vault_path": vault, "vaultline_home": home}
        common |= {"embedding_model_path": options.model_path}
        after = options.after
        if options.hosted:
            from tests.servers.embedding_api import EmbeddingApi

            api = stack.enter_context(EmbeddingApi(flavour="voyage", key="pa-benchmark").running())
            common |= {"voyage_base_url": api.url, "voyage_api_key": "pa-benchmark"}
            after = "voyage/voyage-3"
        before = Settings.load(_env_file=None, embedding_model=BEFORE, **common)
        wanted = Settings.load(_env_file=None, embedding_model=after, **common)
        started = time.monotonic()
        report = sync(before)
        first = time.monotonic() - started
        stack.callback(server.stop, home)
        database = Database.from_settings(before)
        logs = {name: Path(folder) / f"{name}.jsonl" for name in CLIENTS}
        with _clients(wanted, logs):
            time.sleep(5)
            migrated = time.monotonic()
            syncs = _migrate(database, wanted)
            migration = time.monotonic() - migrated
            switched = _when(database, "promoted")
            time.sleep(3)
            back = promotion.roll_back(database)
            rolled = _when(database, "rolled back")
            time.sleep(3)
        calls = {name: _read(path) for name, path in logs.items()}
        sync(wanted)
        return {
            "documents": report.documents["seen"],
            "chunks": report.chunks["total"],
            "first index, seconds": round(first, 1),
            "migration, seconds": round(migration, 1),
            "syncs until the switch": syncs,
            **_clients_figures(calls),
            **{f"at the switch: {name}": value for name, value in _pauses(calls, switched).items()},
            **{f"at the rollback: {name}": value for name, value in _pauses(calls, rolled).items()},
            "rollback transaction, ms": round(back.seconds * 1000, 2),
            **_lost(database, vault),
        }


def _migrate(database: Database, wanted: Settings) -> int:
    """Sync until the wanted model serves, as a schedule would; returns how often."""
    for count in range(1, 11):
        report = sync(wanted)
        with database.connect() as connection:
            active = generations.active_generation(connection)
        if active is not None and active.model == wanted.embedding_model:
            return count
        print(report.to_text(), file=sys.stderr)
    raise RuntimeError("ten syncs and no switch")


def _when(database: Database, event: str) -> float:
    with database.connect() as connection:
        row = connection.execute(
            "SELECT extract(epoch FROM max(at))::float8 FROM generation_event WHERE event = %s AND generation_id = "
            "(SELECT max(generation_id) FROM generation_event WHERE event = %s AND detail ->> 'left' IS NOT NULL)",
            (event, event),
        ).fetchone()
    assert row is not None
    return float(str(row[0]))


def _pauses(calls: dict[str, list[Call]], at: float) -> dict[str, float]:
    """The longest call of each client around a moment, in milliseconds, and its median all the time."""
    figures = {}
    for name in ("search", "read", "write"):
        near = [call.seconds for call in calls[name] if abs(call.at - call.seconds / 2 - at) < AROUND]
        figures[f"longest {name}, ms"] = round(1000 * max(near, default=0.0), 1)
    return figures


def _clients_figures(calls: dict[str, list[Call]]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name in ("search", "read", "write", "edit"):
        seconds = sorted(call.seconds for call in calls[name])
        figures[f"{name}: calls"] = len(seconds)
        figures[f"{name}: failed"] = sum("error" in call.detail for call in calls[name])
        figures[f"{name}: median, ms"] = round(1000 * statistics.median(seconds), 1) if seconds else None
        figures[f"{name}: longest, ms"] = round(1000 * seconds[-1], 1) if seconds else None
    searches = [call.detail for call in calls["search"] if "error" not in call.detail]
    figures["searches answered by words alone"] = sum(bool(item["words_alone"]) for item in searches)
    similar: dict[tuple[str, int], list[float]] = defaultdict(list)
    for item in searches:
        if item["similarity"] is not None:
            similar[item["question"], item["generation"]].append(item["similarity"])
    # The best cosine of a question under one generation moves a little with the edits; a mix of two models is far off.
    figures["searches answered by a mix"] = sum(
        sum(abs(value - statistics.median(values)) > 0.15 for value in values) for values in similar.values()
    )
    return figures


def _lost(database: Database, vault: Path) -> dict[str, int]:
    """Rows that a live generation lacks, and edits that search cannot find."""
    words = [line.split()[-1] for note in notes(vault) for line in note.read_text().splitlines() if _MARK in line]
    with database.connect() as connection:
        live = generations.live_generations(connection)
        missing = 0
        for generation in live:
            row = connection.execute(
                f"SELECT count(*) FROM chunk c WHERE NOT EXISTS (SELECT FROM {generation.table} k WHERE "  # noqa: S608
                "(k.document_id, k.ordinal, k.text_hash) = (c.document_id, c.ordinal, c.text_hash) "
                "AND k.embedding IS NOT NULL)"
            ).fetchone()
            missing += int(str(row[0])) if row else 0
        lost = sum(
            connection.execute("SELECT FROM knowledge WHERE content LIKE %s LIMIT 1", (f"%{word}%",)).fetchone() is None
            for word in words
        )
    return {"live generations": len(live), "rows lost": missing, "edits made": len(words), "edits lost": lost}


@contextlib.contextmanager
def _clients(settings: Settings, logs: dict[str, Path]) -> Iterator[None]:
    """Run the clients in processes of their own until the block ends."""
    values = {name: getattr(settings, name) for name in settings.model_fields_set}
    environment = {key: value for key, value in os.environ.items() if key.upper().lower() not in Settings.model_fields}
    environment |= {
        name.upper(): value.get_secret_value() if hasattr(value, "get_secret_value") else str(value)
        for name, value in values.items()
        if value is not None
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.migration", "--client", name],
            env={**environment, "BENCHMARK_LOG": str(log)},
        )
        for name, log in logs.items()
    ]
    try:
        while not all(log.exists() for log in logs.values()):
            time.sleep(0.1)
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait()


def _repeat(work: Callable[[], dict[str, Any]], *, pause: float) -> None:
    """Call until the process is told to end, and log every call."""
    ended: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):  # Dagster turns one into the other
        signal.signal(number, lambda received, _: ended.append(received))
    with Path(os.environ["BENCHMARK_LOG"]).open("a") as log:
        while not ended:
            started = time.perf_counter()
            try:
                detail = work()
            except KeyboardInterrupt:
                break
            except Exception as error:
                detail = {"error": f"{type(error).__name__}: {error}"}
            line = {"at": time.time(), "seconds": time.perf_counter() - started, "detail": detail}
            log.write(json.dumps(line) + "\n")
            log.flush()
            time.sleep(pause)


def _read(path: Path) -> list[Call]:
    return [Call(**json.loads(line)) for line in path.read_text().splitlines()]


def _search() -> None:
    from pipelines.retrieval.searcher import Searcher

    settings = Settings.load(_env_file=None)
    searcher = Searcher(Database.from_settings(settings), settings)
    for question in QUESTIONS:
        searcher.search(question)

    def work() -> dict[str, Any]:
        question = random.choice(QUESTIONS)
        result = searcher.search(question, always=True)
        similar = [item.similarity for item in result.results if item.similarity is not None]
        return {
            "question": question,
            "generation": result.generation,
            "similarity": max(similar, default=None),
            "words_alone": "words alone" in (result.reason or ""),
        }

    _repeat(work, pause=0.05)


def _view() -> None:
    database = Database.from_settings(Settings.load(_env_file=None))

    def work() -> dict[str, Any]:
        with database.reader() as connection:
            row = connection.execute("SELECT generation_id, count(*) FROM knowledge GROUP BY 1").fetchall()
        return {"generations": len(row)}

    _repeat(work, pause=0.01)


def _write() -> None:
    database = Database.from_settings(Settings.load(_env_file=None))
    with database.connect() as connection:
        row = connection.execute("SELECT min(id) FROM document WHERE described_from IS NOT NULL").fetchone()
    document = int(str(row[0])) if row else 0

    def work() -> dict[str, Any]:
        with database.reader() as connection:
            live = generations.live_generations(connection)
            for generation in sorted(live, key=lambda item: item.state == "active"):
                if generation.state != "building":
                    generations.publish(connection, generation, [document])
        return {}

    _repeat(work, pause=0.01)


_MARK = "Remark of the benchmark:"


def _edit() -> None:
    settings = Settings.load(_env_file=None)
    assert settings.vault_path is not None
    every = notes(settings.vault_path)
    former = settings.model_copy(update={"embedding_model": BEFORE})  # as a process that has not been restarted
    made = iter(range(1_000_000))

    def work() -> dict[str, Any]:
        note = random.choice(every)
        word = f"benchmark{next(made)}x"
        with note.open("a") as file:
            file.write(f"\n\n{_MARK} {word}\n")
        sync(former, build_seconds=0.01)
        return {"word": word}

    _repeat(work, pause=1.0)


CLIENTS = {"search": _search, "read": _view, "write": _write, "edit": _edit}

if __name__ == "__main__":
    main()
