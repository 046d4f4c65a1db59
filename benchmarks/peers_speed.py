"""Vaultline beside CocoIndex, LangChain and LlamaIndex: same edits of the same vault, same model files, same server.

    python -m benchmarks.peers_speed VAULT [VAULT ...] --python PEERS_PYTHON [--rounds N] [--json FILE]

Every step is a whole process. The tools take turns within a step: a slow minute of the machine meets all of them.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.edits import STEPS, copy_vault
from benchmarks.processes import run
from pipelines.storage import server

PEERS = ("cocoindex", "langchain", "llamaindex")
HERE = Path(__file__).resolve().parent / "peers"


class Contest:
    """One round: a fresh server, and for every tool a database, a state folder and a copy of the vault."""

    def __init__(self, vaults: list[Path], python: str) -> None:
        self.work = Path(tempfile.mkdtemp(prefix="vl-"))
        self.python = python
        self.home = self.work / "home"
        url = server.start(self.home).url
        assert url is not None
        self.parts = psycopg.conninfo.conninfo_to_dict(url)
        for tool in ("vaultline", *PEERS):
            for vault in vaults:
                copy_vault(vault, self.vault(tool) / vault.name)
        with psycopg.connect(url.replace("/vaultline?", "/postgres?"), autocommit=True) as connection:
            for tool in PEERS:
                (self.work / f"state-{tool}").mkdir()
                connection.execute(f"CREATE DATABASE {tool}")
        for tool in PEERS:
            with psycopg.connect(url.replace("/vaultline?", f"/{tool}?"), autocommit=True) as connection:
                connection.execute("CREATE EXTENSION vector")

    def vault(self, tool: str) -> Path:
        """The tool's own copy."""
        return self.work / f"vault-{tool}"

    def time(self, tool: str) -> tuple[float, float]:
        """Wall seconds and MB of one whole run of a tool."""
        keep = {key: value for key, value in os.environ.items() if not key.startswith(("DAGSTER", "VAULTLINE"))}
        environment = keep | {"VAULT_PATH": str(self.vault(tool)), "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}
        if tool == "vaultline":
            command = [str(Path(sys.executable).with_name("vaultline")), "sync", "--json"]
            done = run(command, environment=environment | {"VAULTLINE_HOME": str(self.home)})
        else:
            environment |= {
                "PGHOST": str(self.parts["host"]),
                "PGUSER": str(self.parts["user"]),
                "PEER_DATABASE": tool,
                "PEER_STATE": str(self.work / f"state-{tool}"),
            }
            done = run([self.python, str(HERE / f"with_{tool}.py")], environment=environment, cwd=HERE)
        return done.seconds, done.memory

    def close(self) -> None:
        """Stop the server and remove everything."""
        server.stop(self.home)
        shutil.rmtree(self.work, ignore_errors=True)


def contest(vaults: list[Path], python: str, models: Path | None) -> list[dict[str, Any]]:
    """One round of all steps; a row a step and tool."""
    round_ = Contest(vaults, python)
    if models is not None:  # the model is converted once a machine, not once an index
        shutil.copytree(models, round_.home / "models")
    rows = []
    try:
        for step, edit in STEPS.items():
            for tool in ("vaultline", *PEERS):
                edit(round_.vault(tool))
                seconds, memory = round_.time(tool)
                rows.append({"step": step, "tool": tool, "seconds": seconds, "memory": memory})
                print(f"{step:<42} {tool:<11} {seconds:8.2f} s {memory:8.0f} MB", file=sys.stderr, flush=True)
    finally:
        round_.close()
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Medians of the rounds as a Markdown table, with how many times faster than the fastest peer."""
    lines = ["| step | vaultline | " + " | ".join(PEERS) + " | fastest peer / vaultline |", "|---|---|---|---|---|---|"]
    for step in STEPS:
        median = {
            tool: statistics.median(row["seconds"] for row in rows if (row["step"], row["tool"]) == (step, tool))
            for tool in ("vaultline", *PEERS)
        }
        ratio = min(median[tool] for tool in PEERS) / median["vaultline"]
        lines.append(f"| {step} | " + " | ".join(f"{seconds:.2f}" for seconds in median.values()) + f" | {ratio:.1f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vaults", nargs="+", type=Path, metavar="VAULT")
    parser.add_argument("--python", required=True, help="interpreter of the peers' environment")
    parser.add_argument("--models", type=Path, help="a VAULTLINE_HOME/models to start from: converted once a machine")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    rows = [
        row for _ in range(arguments.rounds) for row in contest(arguments.vaults, arguments.python, arguments.models)
    ]
    print(table(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
