"""Local HTTP servers that imitate Voyage's and OpenAI's embeddings API, with faults on demand.

They listen on loopback only. Vectors come from the shipped fake, so that the same text always gets the same vector,
and another model or role gets another one.
"""

import base64
import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal

import numpy as np

from pipelines.embedding.fake import FakeEmbedder, fake_spec
from pipelines.embedding.protocol import Role
from tests.servers.loopback import served

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens instead of (or to) one answer.

    `delay` in seconds before anything is sent; `drop` cuts the connection; `status` with `body` answers so;
    `change` edits a good answer.
    """

    status: int | None = None
    body: str | Answer = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    change: Callable[[Answer], Answer | None] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived. `at` is `time.monotonic()`."""

    path: str
    texts: list[str]
    body: Answer
    authorization: str | None
    at: float

    @property
    def input_type(self) -> str | None:
        return self.body.get("input_type")


def count_words(text: str) -> int:
    """A simple tokenizer: words and signs."""
    return len(re.findall(r"\w+|[^\w\s]", text))


@dataclass
class EmbeddingApi:
    """A server's behaviour, which tests may change while it runs, and everything it was asked.

    `faults` are used up in order, one a request; `always` is used for every request while it is set. `refuse` gives
    the reason why a text is never accepted. `served` holds every text that got a vector, in order.
    """

    flavour: Literal["voyage", "openai"] = "voyage"
    dimensions: int = 1024
    key: str | None = "pa-test-key"
    models: tuple[str, ...] | None = None
    paths: tuple[str, ...] = ("/v1/embeddings",)
    max_inputs: int = 1_000
    max_tokens: int = 120_000
    window: int = 32_000
    cuts_in_silence: bool = False
    latency: float = 0.0
    count: Callable[[str], int] = count_words
    refuse: Callable[[str], str | None] = lambda text: None if text.strip() else "input cannot be an empty string"
    faults: deque[Fault] = field(default_factory=deque)
    always: Fault | None = None
    requests: list[Asked] = field(default_factory=list)
    served: list[str] = field(default_factory=list)
    port: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _running: int = 0
    most_at_once: int = 0

    @property
    def url(self) -> str:
        """Address with `/v1`, as a setting names it."""
        return f"http://127.0.0.1:{self.port}/v1"

    @contextmanager
    def running(self) -> Iterator["EmbeddingApi"]:
        """Serve on `port` of loopback, or on a free one if that is 0, until the block ends."""
        with served(self._handler(), port=self.port) as self.port:
            yield self

    def asked_texts(self) -> list[str]:
        """Every text of every request, in order of arrival."""
        return [text for asked in self.requests for text in asked.texts]

    def vector(self, text: str, *, model: str, input_type: str | None = None) -> np.ndarray:
        """The vector this server gives a text."""
        role = Role(input_type) if input_type else Role.DOCUMENT
        return self._embedder(model).embed([text], role=role).vectors[0]

    def _embedder(self, model: str) -> FakeEmbedder:
        name = re.sub(r"[^a-z0-9]+", "-", model.lower()) + ("-asymmetric" if self.flavour == "voyage" else "")
        return self._embedders.setdefault(model, FakeEmbedder(fake_spec(f"{name}-{self.dimensions}")))

    @cached_property
    def _embedders(self) -> dict[str, FakeEmbedder]:
        return {}

    def answer(self, asked: Asked) -> tuple[int, str | Answer, dict[str, str]]:
        """(status, body, headers) of a request that met no fault."""
        if asked.path not in self.paths:
            return 404, "<html><body>404 page not found</body></html>", {"Content-Type": "text/html"}
        if self.key is not None and asked.authorization != f"Bearer {self.key}":
            return 401, self._error(f"Provided API key is invalid: {asked.authorization}"), {}
        model = asked.body["model"]
        if self.models is not None and model not in self.models:
            status = 400 if self.flavour == "voyage" else 404
            return status, self._error(f"Model {model} is not supported. Supported models are {self.models}."), {}
        problem = self._problem(asked.texts)
        if problem is not None:
            return 400, self._error(problem), {}
        tokens = sum(min(self.count(text), self.window) for text in asked.texts)
        with self._lock:
            self.served.extend(asked.texts)
        embed = [self.vector(text, model=model, input_type=asked.input_type) for text in asked.texts]
        as_base64 = asked.body.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": index, "embedding": _encoded(vector) if as_base64 else vector.tolist()}
            for index, vector in enumerate(embed)
        ]
        return 200, {"object": "list", "data": data, "model": model, "usage": self._usage(tokens)}, {}

    def _problem(self, texts: list[str]) -> str | None:
        if len(texts) > self.max_inputs:
            return f"The batch size limit is {self.max_inputs}. Your batch size is {len(texts)}."
        total = sum(map(self.count, texts))
        if total > self.max_tokens:
            return (
                f"The max allowed tokens per submitted batch is {self.max_tokens}. Your batch has {total} tokens after "
                "truncation. Please lower the number of tokens in the batch."
            )
        if not self.cuts_in_silence and any(self.count(text) > self.window for text in texts):
            return f"The input length exceeds the context length of {self.window} tokens."
        return next((reason for text in texts if (reason := self.refuse(text))), None)

    def _usage(self, tokens: int) -> Answer:
        usage = {"total_tokens": tokens}
        return usage if self.flavour == "voyage" else {"prompt_tokens": tokens, **usage}

    def _error(self, message: str) -> Answer:
        return {"detail": message} if self.flavour == "voyage" else {"error": {"message": message, "type": "invalid"}}

    def _handler(api) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                with api._lock:
                    api._running += 1
                    api.most_at_once = max(api.most_at_once, api._running)
                try:
                    self._serve()
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client went away
                finally:
                    with api._lock:
                        api._running -= 1

            def _serve(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                given = body["input"]
                texts = [given] if isinstance(given, str) else list(given)
                asked = Asked(self.path, texts, body, self.headers.get("Authorization"), time.monotonic())
                with api._lock:
                    api.requests.append(asked)
                    fault = api.always or (api.faults.popleft() if api.faults else Fault())
                time.sleep(max(fault.delay, api.latency))
                if fault.drop:
                    self.connection.close()
                    self.close_connection = True
                    return
                if fault.status is not None:
                    self._send(fault.status, fault.body, fault.headers)
                    return
                status, answer, headers = api.answer(asked)
                if fault.change is not None and isinstance(answer, dict):
                    answer = fault.change(answer) or answer
                self._send(status, answer, headers)

            def _send(self, status: int, content: str | Answer, headers: dict[str, str]) -> None:
                payload = content.encode() if isinstance(content, str) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        return Handler


def _encoded(vector: np.ndarray) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
