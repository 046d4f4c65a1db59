"""The local embedding server as a process of its own, which tests can kill.

It speaks OpenAI's API on a fixed port, so that a restarted one is found, and writes every text that it gave a vector
(by hash, a line of JSON a request) to a file that outlives it.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from pipelines.chunking.chunk import hash_text
from pipelines.embedding.canary import CANARY_TEXT
from tests.servers.embedding_api import Answer, Asked, EmbeddingApi

REPOSITORY = Path(__file__).resolve().parents[2]
MODEL = "openai/chaos"
_CANARY = hash_text(CANARY_TEXT)


class LoggedApi(EmbeddingApi):
    """Writes down what it serves before it answers: what is not in the log was not paid for."""

    log: Path

    def answer(self, asked: Asked) -> tuple[int, str | Answer, dict[str, str]]:
        status, body, headers = super().answer(asked)
        if status == 200:
            line = json.dumps([hash_text(text) for text in asked.texts]) + "\n"
            with self._lock, self.log.open("a", encoding="utf-8") as file:
                file.write(line)
        return status, body, headers


@dataclass
class EmbeddingProcess:
    """Such a server on `port`, started and killed as often as needed. `log` is what all of them served."""

    port: int
    log: Path
    latency: float = 0.05
    max_inputs: int = 8
    _process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it unless it runs, and wait until it answers."""
        if self.running:
            return
        options = ("--port", self.port, "--log", self.log, "--latency", self.latency, "--max-inputs", self.max_inputs)
        command = [sys.executable, "-m", __name__, *map(str, options)]
        with self.log.with_suffix(".err").open("ab") as noise:  # clients that are killed are not its fault
            self._process = subprocess.Popen(
                command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=noise, stderr=noise
            )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if httpx.get(self.url, timeout=5).status_code:
                    return
            except httpx.HTTPError:
                assert self._process.poll() is None, "the embedding server has ended"
                time.sleep(0.05)
        raise AssertionError("the embedding server does not answer")

    def kill(self) -> None:
        """End it in the middle of whatever it does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def served(self, *, since: int = 0) -> Counter[str]:
        """How often each text got a vector, by hash, from a byte of the log on; the canary apart."""
        if not self.log.exists():
            return Counter()
        with self.log.open("rb") as file:
            file.seek(since)
            counted = Counter(text for line in file for text in json.loads(line))
        del counted[_CANARY]
        return counted


def main() -> None:
    """Serve until killed, or until whoever started it is gone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--latency", type=float, required=True)
    parser.add_argument("--max-inputs", type=int, required=True)
    options = parser.parse_args()
    parent = os.getppid()
    api = LoggedApi(
        flavour="openai",
        key=None,
        dimensions=64,
        latency=options.latency,
        max_inputs=options.max_inputs,
        port=options.port,
    )
    api.log = options.log
    with api.running():
        while os.getppid() == parent:
            time.sleep(0.5)


if __name__ == "__main__":
    main()
