"""Runs the server until it is told to stop."""

import logging
import sys

import uvicorn

from pipelines.serving.app import create_app
from pipelines.settings import Settings

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8321
_CONNECTIONS = 256
_LARGEST_HEADERS = 256 * 1024  # a question of 20,000 characters, percent-encoded


def serve(settings: Settings, *, host: str = DEFAULT_HOST, port: int = DEFAULT_PORT) -> None:
    """Serve HTTP and MCP at http://host:port until SIGINT or SIGTERM.

    Raises SettingsError if the address needs a token. Questions are private: there is no log of requests.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    config = uvicorn.Config(
        create_app(settings, host=host),
        host=host,
        port=port,
        access_log=False,
        log_level="warning",
        log_config=None,
        proxy_headers=False,
        server_header=False,
        ws="none",
        http="h11",
        h11_max_incomplete_event_size=_LARGEST_HEADERS,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
    )
    uvicorn.Server(config).run()
