"""How long Vaultline takes, as whole processes: cold, nothing to do, and after the edits that people make.

    python -m benchmarks.index_speed VAULT [VAULT ...] [--json FILE]

The vaults are copied beside each other into one folder and edited there. The server is running, as it is between two
syncs; its start is not measured.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.edits import STEPS, copy_vault
from benchmarks.processes import Run, run

HEADER = ("step", "seconds", "cpu s", "MB", "parsed", "chunks added", "embedded", "reused")


def measure(vaults: list[Path]) -> list[dict[str, Any]]:
    """Run every step once; returns a row for each."""
    work = Path(tempfile.mkdtemp(prefix="vl-"))
    vault = work / "vault"
    for source in vaults:
        copy_vault(source, vault / source.name)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DAGSTER")}
    environment |= {"VAULTLINE_HOME": str(work / "home"), "VAULT_PATH": str(vault)}
    vaultline = str(Path(sys.executable).with_name("vaultline"))
    try:
        subprocess.run([vaultline, "db", "start"], env=environment, check=True, stdout=subprocess.DEVNULL)
        rows = []
        for name, edit in STEPS.items():
            edit(vault)
            rows.append(row(name, run([vaultline, "sync", "--json"], environment=environment)))
        return rows
    finally:
        subprocess.run([vaultline, "db", "stop"], env=environment, check=False, stdout=subprocess.DEVNULL)
        shutil.rmtree(work, ignore_errors=True)


def row(name: str, done: Run) -> dict[str, Any]:
    """One step's figures."""
    report = json.loads(done.output)
    return {
        "step": name,
        "seconds": done.seconds,
        "cpu": done.cpu,
        "memory": done.memory,
        "parsed": report["parsed"]["computed"],
        "added": report["chunks"]["added"],
        "embedded": report["embeddings"]["computed"],
        "reused": report["embeddings"]["reused"],
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as a Markdown table."""
    lines = ["| " + " | ".join(HEADER) + " |", "|---" * len(HEADER) + "|"]
    lines += ["| " + " | ".join(str(value) for value in each.values()) + " |" for each in rows]
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vaults", nargs="+", type=Path, metavar="VAULT")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    rows = measure(arguments.vaults)
    print(table(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
