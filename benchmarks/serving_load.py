"""Load on the HTTP server: requests a second and latencies from several clients, against plain calls of `Searcher`.

    python -m benchmarks.serving_load VAULT [--chunks N] [--clients 8] [--seconds 10] [--mode hybrid] [--json]

Indexes VAULT in an embedded server of its own (with --chunks, filled up with noisy copies as `search_latency` does),
starts `vaultline serve`, and asks sentences of the vault from threads that keep their connections. The same questions
then go to `Searcher.search` in this process, from one thread and from as many: the ratio tells what HTTP costs.
"""

import argparse
import http.client
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from benchmarks import search_latency
from pipelines.retrieval.searcher import Searcher
from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database
from pipelines.storage.generations import active_generation
from pipelines.sync import sync

_START_SECONDS = 120.0

Ask = Callable[[str], None]


def main() -> None:
    """See the module."""
    options = _options()
    home = Path(tempfile.mkdtemp(prefix="vl-"))
    try:
        settings = Settings.load(_env_file=None, vault_path=options.vault, vaultline_home=home, record_unanswered=False)
        sync(settings)
        chunks = _fill(settings, options.chunks)
        questions = _questions(Database.from_settings(settings))
        load = {"clients": options.clients, "seconds": options.seconds}
        with _served(settings) as port:
            over_http = _measure(lambda: _http_client(port, options.mode), questions, **load)
        searcher = Searcher(Database.from_settings(settings), settings)
        searcher.search(questions[0])  # model and pool are made by one thread
        plain = _measure(lambda: _plain(searcher, options.mode), questions, **load)
        alone = _measure(lambda: _plain(searcher, options.mode), questions, clients=1, seconds=options.seconds)
        searcher.close()
        figures = {
            "chunks": chunks,
            "mode": options.mode,
            "load average": round(os.getloadavg()[0], 1),
            f"HTTP, {options.clients} clients": over_http,
            f"Searcher.search, {options.clients} threads": plain,
            "Searcher.search, 1 thread": alone,
            "HTTP / Searcher with as many threads": round(over_http["per_second"] / plain["per_second"], 2),
            "HTTP / Searcher with one thread": round(over_http["per_second"] / alone["per_second"], 2),
        }
        print(json.dumps(figures, indent=2) if options.json else "\n".join(f"{k:<40} {v}" for k, v in figures.items()))
    finally:
        server.stop(home)
        shutil.rmtree(home, ignore_errors=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path)
    parser.add_argument("--chunks", type=int, default=0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--mode", choices=["hybrid", "vector", "text"], default="hybrid")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _fill(settings: Settings, chunks: int) -> int:
    with Database.from_settings(settings).connect() as connection:
        generation = active_generation(connection)
        assert generation is not None
        if chunks:
            search_latency._multiply(connection, generation, chunks)
            search_latency._index(connection, generation, settings)
        row = connection.execute("SELECT count(*) FROM knowledge").fetchone()
        assert row is not None
        return int(str(row[0]))


def _questions(database: Database) -> list[str]:
    with database.connect() as connection:
        texts = [str(row[0]) for row in connection.execute("SELECT content FROM knowledge WHERE ordinal < 10000")]
    sentences = [part.strip() for text in texts for part in re.split(r"[.\n]", text) if 20 < len(part.strip()) < 120]
    random.Random(7).shuffle(sentences)
    return sentences[:500]


@contextmanager
def _served(settings: Settings) -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    environment = os.environ | {"VAULTLINE_HOME": str(settings.vaultline_home), "RECORD_UNANSWERED": "false"}
    process = subprocess.Popen([sys.executable, "-m", "pipelines.cli", "serve", "--port", str(port)], env=environment)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                _http_client(port, "hybrid")("warm up")
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        yield port
    finally:
        process.terminate()
        process.wait()


def _http_client(port: int, mode: str) -> Ask:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(question: str) -> None:
        connection.request("GET", f"/api/search?q={quote(question)}&mode={mode}")
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise RuntimeError(f"the server answered {response.status}: {body[:200]!r}")

    return ask


def _plain(searcher: Searcher, mode: str) -> Ask:
    return lambda question: searcher.search(question, mode=mode) and None


def _measure(client: Callable[[], Ask], questions: list[str], *, clients: int, seconds: float) -> dict[str, Any]:
    """Ask from all clients for `seconds`, after a warm-up of a fifth of it; milliseconds."""

    def work(number: int) -> list[float]:
        ask = client()
        dice = random.Random(number)
        found = []
        now = time.perf_counter()
        begin, end = now + seconds / 5, now + seconds * 6 / 5
        while now < end:
            ask(dice.choice(questions))
            done = time.perf_counter()
            if now >= begin:
                found.append((done - now) * 1000)
            now = done
        return found

    with ThreadPoolExecutor(clients) as pool:
        times = [spent for found in pool.map(work, range(clients)) for spent in found]
    p50, p95, p99 = map(float, np.percentile(times, [50, 95, 99]))
    return {
        "requests": len(times),
        "per_second": round(len(times) / seconds, 1),
        "p50": round(p50, 1),
        "p95": round(p95, 1),
        "p99": round(p99, 1),
    }


if __name__ == "__main__":
    main()
