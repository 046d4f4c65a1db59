"""Chat under load: how long after the search the first words come, and many chats that stream at once.

    python -m benchmarks.chat_load VAULT [--chats 50] [--questions 20] [--cite 2] [--json]

Indexes VAULT in an embedded server of its own, starts `vaultline serve` with a scripted language model (another process
on loopback, which begins to answer at once and streams 120 words, one every 25 ms), and asks by HTTP. "First" counts
from the `sources` event, with which the search is done, to the first `text` event. Text is shown from its first
citation on: --cite says which word of the model that is, and the time of the words before it counts.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.sync import sync
from tests.servers.chat_api import ChatApi, Reply

_QUESTIONS = (
    "How do we roll back a release?",
    "¿Qué hace una persona de guardia?",
    "How do feature flags work?",
    "How long are images kept?",
    "When does nobody deploy?",
)


def main() -> None:
    """See the module."""
    options = _options()
    home = Path(tempfile.mkdtemp(prefix="vl-"))
    port, model_port = _free_port(), _free_port()
    arguments = (model_port, options.cite)
    model = multiprocessing.get_context("spawn").Process(target=_model, args=arguments, daemon=True)
    try:
        sync(Settings.load(_env_file=None, vault_path=options.vault, vaultline_home=home))
        model.start()
        with _served(home, port, model_port):
            asyncio.run(_ask(port, 5))  # libraries, models and pools are there
            alone = [asyncio.run(_ask(port, 1))[0] for _ in range(options.questions)]
            together = asyncio.run(_ask(port, options.chats))
        figures = {
            "load average": round(os.getloadavg()[0], 1),
            "one at a time": _figures(alone),
            f"{options.chats} at once": _figures(together),
            "errors": sum(not item["complete"] for item in (*alone, *together)),
        }
        print(json.dumps(figures, indent=2) if options.json else "\n".join(f"{k:<20} {v}" for k, v in figures.items()))
    finally:
        model.kill()
        server.stop(home)
        shutil.rmtree(home, ignore_errors=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path)
    parser.add_argument("--chats", type=int, default=50)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--cite", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _model(port: int, cite: int) -> None:
    reply = Reply("word " * (cite - 1) + "[1]. " + "word " * (120 - cite), pause=0.025)
    with ChatApi(always=reply, port=port).serving():
        time.sleep(600)


@contextmanager
def _served(home: Path, port: int, model_port: int) -> Iterator[None]:
    environment = os.environ | {
        "VAULTLINE_HOME": str(home),
        "LLM_MODEL": "openai/scripted",
        "LLM_BASE_URL": f"http://127.0.0.1:{model_port}/v1",
        "ASSISTANT_REQUESTS_PER_MINUTE": "10000",
        "RECORD_UNANSWERED": "false",
        "SERVING_UPLOADS": "false",
    }
    process = subprocess.Popen([sys.executable, "-m", "pipelines.cli", "serve", "--port", str(port)], env=environment)
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/api/config")
                break
            except httpx.HTTPError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait()


async def _ask(port: int, chats: int) -> list[dict[str, Any]]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120, limits=limits) as client:
        return list(await asyncio.gather(*(_chat(client, _QUESTIONS[n % len(_QUESTIONS)]) for n in range(chats))))


async def _chat(client: httpx.AsyncClient, question: str) -> dict[str, Any]:
    begin = time.perf_counter()
    times: dict[str, float] = {}
    end: dict[str, Any] = {"complete": False}
    async with client.stream("POST", "/api/chat", json={"message": question}) as stream:
        name = ""
        async for line in stream.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
                times.setdefault(name, time.perf_counter())
            elif name == "end" and line.startswith("data: "):
                end = json.loads(line.removeprefix("data: "))
    whole = bool(end["complete"] and end.get("answered"))
    found = times.get("sources", begin)
    return {
        "complete": whole,
        "search": (found - begin) * 1000,
        "first": (times.get("text", found) - found) * 1000,
        "whole": (time.perf_counter() - begin) * 1000,
    }


def _figures(items: list[dict[str, Any]]) -> dict[str, Any]:
    """Milliseconds: until the search was done, from there to the first words, and for all of it."""
    found: dict[str, Any] = {"chats": len(items)}
    for name in ("search", "first", "whole"):
        p50, p95 = np.percentile([item[name] for item in items], [50, 95])
        most = max(item[name] for item in items)
        found[name] = {"p50": round(float(p50), 1), "p95": round(float(p95), 1), "max": round(most, 1)}
    return found


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    main()
