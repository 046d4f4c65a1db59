"""MCP over stdin and stdout, where stdout is the wire and must hold nothing else."""

import logging
import os
import sys
from io import TextIOWrapper

STDOUT = 1
STDERR = 2


def take_stdout() -> int:
    """Keep stdout for the protocol and send everything else that is written to it to stderr; returns the wire.

    To be called before anything heavy is imported: libraries print progress bars and warnings, some of them from C and
    from child processes, so that the descriptor itself has to point elsewhere.
    """
    sys.stdout.flush()
    wire = os.dup(STDOUT)  # not inherited by children
    os.dup2(STDERR, STDOUT)
    return wire


def serve_stdio(wire: int) -> None:
    """Answer until stdin ends. A database that is away is an error of a tool, not of the server."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")

    import anyio
    from mcp.server.stdio import stdio_server

    from pipelines.serving.knowledge import Knowledge
    from pipelines.serving.mcp_server import create_mcp_server
    from pipelines.serving.workers import Workers
    from pipelines.settings import Settings

    settings = Settings.load()
    knowledge = Knowledge(settings)
    workers = Workers(limit=settings.serving_concurrency, seconds=settings.serving_timeout_seconds)
    server = create_mcp_server(knowledge, workers)

    async def run() -> None:
        output = anyio.wrap_file(TextIOWrapper(os.fdopen(wire, "wb"), encoding="utf-8"))
        async with stdio_server(stdout=output) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    try:
        anyio.run(run)
    finally:
        workers.close()
        knowledge.close()
