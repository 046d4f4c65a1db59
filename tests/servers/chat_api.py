"""A local HTTP server that speaks OpenAI's chat completions and Anthropic's messages, scripted reply by reply.

It listens on loopback only, streams or answers whole as it is asked, and breaks in the ways that real ones do.
"""

import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.servers.loopback import served

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `text` is streamed in `pieces` (words, if they are not given); `calls` are (tool, arguments), which
    may be text that is no JSON.

    `status` with `body` is answered instead; `cut` breaks the connection after so many pieces, or ends the stream
    without its end with `clean`; `delay` and `pause` are seconds before the answer and between pieces.
    """

    text: str = ""
    calls: Sequence[tuple[str, Body | str]] = ()
    pieces: Sequence[str] | None = None
    status: int | None = None
    body: str = '{"error": {"message": "no", "type": "server_error"}}'
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    clean: bool = False
    finish: str = "stop"
    delay: float = 0.0
    pause: float = 0.0
    usage: tuple[int, int, int] = (100, 20, 0)
    """Tokens read, written, and read from the cache."""

    def stream(self) -> list[str]:
        return list(self.pieces) if self.pieces is not None else re.findall(r"\s*\S+\s*|\s+", self.text)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived; `key` is the secret it carried."""

    path: str
    body: Body
    key: str | None
    at: float

    @property
    def system(self) -> str:
        """The instructions."""
        if "system" in self.body:
            system = self.body["system"]
            return system if isinstance(system, str) else "".join(block["text"] for block in system)
        return "".join(_text(item["content"]) for item in self.body["messages"] if item["role"] == "system")

    @property
    def messages(self) -> list[tuple[str, str]]:
        """(role, text) of everything else."""
        return [
            (item["role"], _text(item.get("content"))) for item in self.body["messages"] if item["role"] != "system"
        ]

    @property
    def last(self) -> str:
        """The text of the last message."""
        return self.messages[-1][1]

    @property
    def tools(self) -> list[str]:
        """Names of the tools on offer."""
        return [tool["function"]["name"] if "function" in tool else tool["name"] for tool in self.body.get("tools", [])]

    @property
    def passages(self) -> list[Body]:
        """The passages of the last message, in their order."""
        lines = [line for line in self.last.splitlines() if line.startswith('{"n": ')]
        return [json.loads(line) for line in lines]


Script = Reply | Callable[[Asked], Reply]


@dataclass
class ChatApi:
    """A server's behaviour and everything it was asked. `replies` are used up in order, then `always`."""

    replies: deque[Script] = field(default_factory=deque)
    always: Script = field(default_factory=lambda: Reply("NO ANSWER"))
    aside: Script | None = None
    """The answer to requests without tools: a question to reword, what to remember."""
    asked: list[Asked] = field(default_factory=list)
    port: int = 0
    running: int = 0
    cut_short: int = 0
    """Streams that the client left."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        """Address as LLM_BASE_URL has it for an OpenAI-compatible server."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        """The same for Anthropic's protocol."""
        return f"http://127.0.0.1:{self.port}"

    def script(self, *replies: Script) -> None:
        """What the next requests are answered with; what was asked before is forgotten."""
        with self._lock:
            self.replies = deque(replies)
            self.asked = []

    @contextmanager
    def serving(self) -> Iterator["ChatApi"]:
        """Serve on a free port of loopback until the block ends."""
        with served(self._handler(), port=self.port) as self.port:
            yield self

    def _next(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
            if self.aside is not None and not asked.tools:
                script = self.aside
            else:
                script = self.replies.popleft() if self.replies else self.always
        return script if isinstance(script, Reply) else script(asked)

    def _handler(api) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                with api._lock:
                    api.running += 1
                try:
                    self._serve()
                except (BrokenPipeError, ConnectionResetError):
                    api.cut_short += 1
                    self.close_connection = True
                finally:
                    with api._lock:
                        api.running -= 1

            def _serve(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                bearer = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
                asked = Asked(self.path, body, self.headers.get("x-api-key") or bearer or None, time.monotonic())
                reply = api._next(asked)
                time.sleep(reply.delay)
                if self.path not in ("/v1/chat/completions", "/v1/messages"):
                    self._whole(404, "{}", {})
                elif reply.status is not None:
                    self._whole(reply.status, reply.body, reply.headers)
                elif not body.get("stream"):
                    make = _openai_whole if self.path.endswith("completions") else _anthropic_whole
                    self._whole(200, json.dumps(make(reply, body)), {})
                else:
                    make_events = _openai_events if self.path.endswith("completions") else _anthropic_events
                    self._stream(make_events(reply, body), reply)

            def _whole(self, status: int, text: str, headers: dict[str, str]) -> None:
                payload = text.encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def _stream(self, events: Iterator[tuple[str | None, Body | str, bool]], reply: Reply) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                pieces = 0
                for name, data, piece in events:
                    if piece:
                        if reply.cut is not None and pieces == reply.cut:
                            if reply.clean:
                                break
                            self.connection.close()
                            self.close_connection = True
                            return
                        pieces += 1
                        time.sleep(reply.pause)
                    text = data if isinstance(data, str) else json.dumps(data)
                    payload = ((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode()
                    self.wfile.write(f"{len(payload):x}\r\n".encode() + payload + b"\r\n")
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        return Handler


def cite_all(asked: Asked) -> Reply:
    """An answer that cites every passage of the last message."""
    return Reply("".join(f"As passage {item['n']} says [{item['n']}]. " for item in asked.passages) or "NO ANSWER")


def _openai_usage(reply: Reply) -> Body:
    read, written, cached = reply.usage
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _openai_calls(reply: Reply) -> list[Body]:
    return [
        {
            "index": index,
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": name, "arguments": _arguments(a)},
        }
        for index, (name, a) in enumerate(reply.calls)
    ]


def _openai_whole(reply: Reply, body: Body) -> Body:
    message: Body = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [{k: v for k, v in call.items() if k != "index"} for call in _openai_calls(reply)]
    finish = "tool_calls" if reply.calls else reply.finish
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": _openai_usage(reply),
    }


def _openai_events(reply: Reply, body: Body) -> Iterator[tuple[str | None, Body | str, bool]]:
    def chunk(delta: Body, finish: str | None = None) -> Body:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": body["model"], "choices": choices}

    yield None, chunk({"role": "assistant", "content": ""}), False
    for piece in reply.stream():
        yield None, chunk({"content": piece}), True
    for call in _openai_calls(reply):
        yield None, chunk({"tool_calls": [call]}), True
    yield None, chunk({}, "tool_calls" if reply.calls else reply.finish), True
    if body.get("stream_options", {}).get("include_usage"):
        yield None, {**chunk({}), "choices": [], "usage": _openai_usage(reply)}, False
    yield None, "[DONE]", False


def _anthropic_usage(reply: Reply) -> Body:
    read, written, cached = reply.usage
    return {
        "input_tokens": read - cached,
        "output_tokens": written,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
    }


def _anthropic_stop(reply: Reply) -> str:
    return "tool_use" if reply.calls else {"stop": "end_turn", "length": "max_tokens"}[reply.finish]


def _anthropic_whole(reply: Reply, body: Body) -> Body:
    content: list[Body] = [{"type": "text", "text": reply.text}] if reply.text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": arguments}
        for index, (name, arguments) in enumerate(reply.calls)
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": _anthropic_stop(reply),
        "stop_sequence": None,
        "usage": _anthropic_usage(reply),
    }


def _anthropic_events(reply: Reply, body: Body) -> Iterator[tuple[str | None, Body | str, bool]]:
    def event(kind: str, piece: bool = False, **data: Any) -> tuple[str, Body, bool]:
        return kind, {"type": kind, **data}, piece

    whole = _anthropic_whole(reply, body)
    yield event("message_start", message={**whole, "content": [], "stop_reason": None})
    index = 0
    if reply.stream():
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in reply.stream():
            yield event("content_block_delta", True, index=0, delta={"type": "text_delta", "text": piece})
        yield event("content_block_stop", index=0)
        index = 1
    for number, (name, arguments) in enumerate(reply.calls):
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
        yield event("content_block_start", index=index, content_block=block)
        delta = {"type": "input_json_delta", "partial_json": _arguments(arguments)}
        yield event("content_block_delta", True, index=index, delta=delta)
        yield event("content_block_stop", index=index)
        index += 1
    delta = {"stop_reason": _anthropic_stop(reply), "stop_sequence": None}
    yield event("message_delta", True, delta=delta, usage=_anthropic_usage(reply))
    yield event("message_stop")


def _arguments(arguments: Body | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(str(block.get("text") or _text(block.get("content"))) for block in content)
