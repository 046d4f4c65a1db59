"""How a first load grows from one worker to two, and whether they ever do the same work.

    python -m benchmarks.workers [--notes 1500] [--buckets 8] [--workers 1 2] [--latency 0.5] [--local] [--json FILE]

A vault is spread over hash buckets, and every worker (a `vaultline sync` process, as a run is on any machine) gets its
share of them, all started at once on an empty database. The model is an imitated server of its own process, which
answers after `--latency` seconds and writes down every text it was asked; with `--local` it is the default model, for
whose arithmetic the workers share this machine's cores. Seconds are from the start to the end of the last worker.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.large_vault import make_vault
from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database
from pipelines.storage.migrations import migrate
from tests.acceptance.conftest import free_ports
from tests.servers.embedding_process import MODEL, EmbeddingProcess

HEADER = ("workers", "seconds", "texts", "texts/s", "texts asked more than once", "cpu s of workers")
VAULTLINE = (sys.executable, "-m", "pipelines.cli")


def measure(vault: Path, work: Path, *, workers: int, buckets: int, latency: float, local: bool) -> dict[str, Any]:
    """One first load from an empty database; returns a row of the table."""
    home = work / f"h{workers}"
    api = EmbeddingProcess(port=free_ports(1)[0], log=work / f"served-{workers}.jsonl", latency=latency, max_inputs=64)
    kept = {name: value for name, value in os.environ.items() if name.lower() not in Settings.model_fields}
    environment = {name: value for name, value in kept.items() if not name.startswith("DAGSTER")} | {
        "VAULT_PATH": str(vault),
        "VAULTLINE_HOME": str(home),
        "PARTITION_BUCKETS": str(buckets),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    if not local:
        api.start()
        environment |= {"EMBEDDING_MODEL": MODEL, "EMBEDDING_BASE_URL": api.url}
    try:
        server.start(home)
        database = Database.from_settings(Settings.load(_env_file=None, vaultline_home=home))
        migrate(database)
        subprocess.run([*VAULTLINE, "sync", "--dry-run", "--json"], env=environment, check=True, capture_output=True)
        keys = [f"bucket-{bucket:04d}" for bucket in range(buckets)]
        size = -(-buckets // workers)  # next to each other, because a run is a range
        shares = [keys[first : first + size] for first in range(0, buckets, size)]
        started, before = time.monotonic(), os.times()
        running = [
            subprocess.Popen(
                [*VAULTLINE, "sync", "--json", *(word for bucket in share for word in ("--folder", bucket))],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for share in shares
        ]
        told = [process.communicate() for process in running]
        seconds, after = time.monotonic() - started, os.times()
        for process, (_, errors) in zip(running, told, strict=True):
            if process.returncode:
                raise RuntimeError(errors.decode()[-2000:])
        with psycopg.connect(database.url) as connection:
            published = connection.execute("SELECT count(DISTINCT document_id) FROM publication").fetchone()
            held = {str(row[0]) for row in connection.execute("SELECT DISTINCT text_hash FROM chunk")}
        computed = sum(json.loads(output)["embeddings"]["computed"] for output, _ in told)
        if published != (len(list(vault.rglob("*.md"))),) or computed != len(held):
            raise RuntimeError(f"{published} documents, {len(held)} texts, {computed} computed")
        asked = api.served()  # also holds the windows of long texts, some of which are the same
        return {
            "workers": workers,
            "seconds": round(seconds, 1),
            "texts": len(held),
            "rate": round(len(held) / seconds),
            "twice": "-" if local else sum(asked[text] > 1 for text in held),
            "cpu": round(
                after.children_user + after.children_system - before.children_user - before.children_system, 1
            ),
        }
    finally:
        api.kill()
        server.stop(home)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=1_500)
    parser.add_argument("--buckets", type=int, default=8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--latency", type=float, default=0.5, help="seconds")
    parser.add_argument("--local", action="store_true", help="the default model instead of the server")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    options = parser.parse_args()
    rows = []
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    with tempfile.TemporaryDirectory(prefix="vlw") as folder:
        work = Path(folder)
        make_vault(work / "vault", options.notes)
        for workers in options.workers:
            row = measure(
                work / "vault",
                work,
                workers=workers,
                buckets=options.buckets,
                latency=options.latency,
                local=options.local,
            )
            rows.append(row)
            print("| " + " | ".join(str(value) for value in row.values()) + " |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
