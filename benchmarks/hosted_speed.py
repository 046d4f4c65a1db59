"""How busy the hosted path keeps a provider: a migration to a server that answers 100 ms after it was asked.

    python -m benchmarks.hosted_speed [--notes 4000] [--latency 0.1] [--inputs 32 128]

A vault of short notes is indexed by the deterministic fake; then it migrates to voyage-3 (1,024 numbers) by the real
client, once for every batch limit. The server is a process of its own and does next to nothing but wait. What its
limits allow is `EMBEDDING_CONCURRENCY` full requests in every latency; the share is of that, from the first request
to the last answer, storing in Postgres included.
"""

import argparse
import base64
import contextlib
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.sync import sync

DIMENSIONS = 1024
WORDS = ("harbour", "lamp", "tide", "fog", "boat", "mast", "keel", "wind", "rope", "coast", "light", "buoy", "pilot")


def main() -> None:
    """Print a line for every batch limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=4_000)
    parser.add_argument("--latency", type=float, default=0.1, help="seconds")
    parser.add_argument("--inputs", type=int, nargs="+", default=[32, 128], help="texts a request may have")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        _serve(options.serve, options.latency, options.inputs[0])
        return
    for limit in options.inputs:
        row = _measure(options.notes, options.latency, limit)
        print(
            f"at most {limit:5} texts a request: {row['texts']} texts in {row['requests']} requests, "
            f"{row['seconds']:.2f} s = {row['rate']:.0f} texts/s, {row['share']:.0%} of what the limits allow"
        )


def _measure(count: int, latency: float, limit: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="vlh") as folder, contextlib.ExitStack() as stack:
        home, vault, log = Path(folder) / "h", Path(folder) / "vault", Path(folder) / "log"
        _write_notes(vault, count)
        common: dict[str, Any] = {"vault_path": vault, "vaultline_home": home, "_env_file": None}
        stack.callback(server.stop, home)
        sync(Settings.load(embedding_model="fake/speed-64", **common))
        address = stack.enter_context(_server(log, latency, limit))
        settings = Settings.load(
            embedding_model="voyage/voyage-3",
            embedding_max_inputs=limit,
            voyage_base_url=address,
            voyage_api_key="pa-benchmark",
            **common,
        )
        sync(settings)
        answers = [json.loads(line) for line in log.read_text().splitlines()]
        full = [answer for answer in answers if answer["texts"] > 1]  # the canary's and a ping's are no work
        texts = sum(answer["texts"] for answer in full)
        seconds = max(answer["end"] for answer in full) - min(answer["start"] for answer in full)
        rounds = math.ceil(texts / limit) * latency / settings.embedding_concurrency
        return {
            "texts": texts,
            "requests": len(full),
            "seconds": seconds,
            "rate": texts / seconds,
            "share": rounds / seconds,
        }


def _write_notes(vault: Path, count: int) -> None:
    for number in range(count):
        note = vault / f"folder{number % 4}" / f"note {number}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        text = " ".join(WORDS[(number * step + step) % len(WORDS)] for step in range(1, 61))
        note.write_text(f"# Note {number}\n\n{text}\n", encoding="utf-8")


@contextlib.contextmanager
def _server(log: Path, latency: float, limit: int) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.hosted_speed", "--serve", str(log)]
    process = subprocess.Popen(
        [*command, "--latency", str(latency), "--inputs", str(limit)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _serve(log: Path, latency: float, limit: int) -> None:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            start = time.time()
            texts = len(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"])
            if texts > limit:
                detail = f"The batch size limit is {limit}. Your batch size is {texts}."
                self._answer(400, json.dumps({"detail": detail}).encode())
                return
            time.sleep(max(0.0, latency - (time.time() - start)))
            self._answer(200, _body(texts))
            with log.open("a") as file:
                file.write(json.dumps({"start": start, "end": time.time(), "texts": texts}) + "\n")

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(listener.server_address[1], flush=True)
    listener.serve_forever()


@cache
def _body(texts: int) -> bytes:
    """The same answer for every request of so many texts: what is measured is not the server."""
    noise = np.random.default_rng(1).standard_normal((texts, DIMENSIONS)).astype("<f4")
    vectors = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    data = [{"index": n, "embedding": base64.b64encode(vector.tobytes()).decode()} for n, vector in enumerate(vectors)]
    return json.dumps({"data": data, "model": "voyage-3", "usage": {"total_tokens": 80 * texts}}).encode()


if __name__ == "__main__":
    main()
