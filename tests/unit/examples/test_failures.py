"""examples/dagster/failures.py: a failed run is told to a chat by its webhook, without anything of a note."""

import json
import runpy
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/dagster/failures.py"


class Chat:
    """A chat's incoming webhook. `told` is what it was sent."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        told = self.told

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"


@pytest.fixture
def chat() -> Iterator[Chat]:
    chat = Chat()
    thread = threading.Thread(target=chat.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield chat
    chat.server.shutdown()
    chat.server.server_close()
    thread.join()


def test_a_failed_run_is_told(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILURE_WEBHOOK", chat.url)
    sensor = runpy.run_path(str(EXAMPLE))["tell_of_failures"]
    assert sensor.default_status == dg.DefaultSensorStatus.RUNNING

    @dg.op
    def fails() -> None:
        raise dg.Failure("the provider refused the key\nand a second line")

    @dg.job
    def index() -> None:
        fails()

    with dg.DagsterInstance.ephemeral() as instance:
        result = index.execute_in_process(
            instance=instance, tags={"dagster/partition": "runbooks"}, raise_on_error=False
        )
        (failure,) = [event for event in result.all_events if event.is_run_failure]
        context = dg.build_run_status_sensor_context(
            sensor_name="tell_of_failures",
            dagster_event=failure,
            dagster_instance=instance,
            dagster_run=result.dagster_run,
        ).for_run_failure()
        sensor(context)
    (told,) = chat.told
    assert told["text"].startswith(f"index {result.run_id[:8]} (runbooks): ")
    assert "\n" not in told["text"]
