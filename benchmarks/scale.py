"""How the cost of everything grows with the vault, from 500 to 12,000 notes.

    python -m benchmarks.scale [--sizes 500 2000 12000] [--steps no-op ...] [--work DIR] [--json FILE] [--plot FILE]

Commands are whole processes from a cold start, with the server running. `--work` keeps the vaults and their indexes, so
that a later call can measure other steps of them; figures are added to those in FILE. Seconds are the least of several
tries, because a shared machine only ever adds to them; `median` and `cpu` (processor seconds) stand beside them.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks.edits import notes
from benchmarks.large_vault import make_vault
from benchmarks.line_plot import draw
from benchmarks.processes import run
from pipelines.settings import Settings
from pipelines.storage import server
from tests.acceptance.conftest import free_ports

Figures = dict[str, float]

MANY = 1_000
_TRIES, _MANY_TRIES = 7, 3
_ASSET_PAGE = """
{ assetNodes { assetKey { path } groupName opNames hasMaterializePermission
    partitionStats { numMaterialized numMaterializing numPartitions numFailed }
    partitionKeysByDimension { name partitionKeys }
    assetMaterializations(limit: 1) { timestamp runId partition metadataEntries { label } }
    assetChecksOrError { ... on AssetChecks { checks { name executionForLatestMaterialization { status } } } } } }
"""
"""What the UI's asset graph and an asset's page ask for: state and figures of all assets, and all partitions."""


class World:
    """One vault of one size with its home; `vaultline` runs in processes of their own."""

    def __init__(self, work: Path, size: int, model: str) -> None:
        self.size = size
        self.vault, self.home = work / f"v{size}", work / f"h{size}"
        kept = {
            name: value
            for name, value in os.environ.items()
            if name.lower() not in Settings.model_fields and not name.startswith("DAGSTER")
        }
        self.environment = kept | {
            "VAULT_PATH": str(self.vault),
            "VAULTLINE_HOME": str(self.home),
            "EMBEDDING_MODEL": model,
            "DAGSTER_DISABLE_TELEMETRY": "1",
        }
        self.settings = Settings.load(
            _env_file=None, vault_path=self.vault, vaultline_home=self.home, embedding_model=model
        )
        if not self.vault.exists():
            make_vault(self.vault, size)
        server.start(self.home)

    def sync(self) -> tuple[float, float, dict[str, Any]]:
        """Wall and processor seconds of `vaultline sync`, and its report."""
        done = run([sys.executable, "-m", "pipelines.cli", "sync", "--json"], environment=self.environment)
        return done.seconds, done.cpu, json.loads(done.output)


def cold(world: World) -> Figures:
    """A first index of everything."""
    seconds, cpu, report = world.sync()
    characters = sum(path.stat().st_size for path in notes(world.vault))
    return {
        "seconds": seconds,
        "cpu": cpu,
        "notes per second": round(world.size / seconds, 1),
        "chunks": report["chunks"]["total"],
        "embedded": report["embeddings"]["computed"],
        "tokens": report["embeddings"]["tokens"],
        "tokens per second": round(report["embeddings"]["tokens"] / seconds),
        "megabytes": round(characters / 1e6, 2),
    }


def no_op(world: World) -> Figures:
    """A sync with nothing to do."""
    found = []
    for _ in range(_TRIES):
        seconds, cpu, report = world.sync()
        assert not report["folders"], report
        found.append((seconds, cpu))
    return _least(found)


def edit(world: World) -> Figures:
    """One line of one note, another note each time."""
    found = []
    every = notes(world.vault)
    for number in range(_TRIES):
        note = every[(number + 1) * len(every) // (_TRIES + 2)]
        remark = f" One more remark, number {time.time_ns()}.\n"
        note.write_text(note.read_text(encoding="utf-8").rstrip() + remark, encoding="utf-8")
        seconds, cpu, report = world.sync()
        assert report["documents"]["changed"] == 1, report
        found.append((seconds, cpu))
    return {**_least(found), "embedded": report["embeddings"]["computed"]}


def _least(found: list[tuple[float, float]]) -> Figures:
    """Of several tries the one that the rest of the machine disturbed least; and the median, which says how much."""
    wall = [seconds for seconds, _ in found]
    return {
        "seconds": min(wall),
        "median": round(statistics.median(wall), 3),
        "cpu": round(statistics.median(cpu for _, cpu in found), 3),
    }


def rename(world: World) -> Figures:
    """1,000 files (or half of them) get other names in their folders, all at once."""
    number = min(MANY, world.size // 2)
    found = []
    for _ in range(_MANY_TRIES):
        for note in notes(world.vault)[:number]:
            note.rename(note.with_name(f"{note.stem}-renamed.md"))
        seconds, cpu, report = world.sync()
        assert report["documents"]["moved"] == number, report
        found.append((seconds, cpu))
    return {
        **_least(found),
        "files": number,
        "embedded": report["embeddings"]["computed"],
        "OCR pages": report["parsed"]["ocr_pages"],
        "parsed": report["parsed"]["computed"],
    }


def delete(world: World) -> Figures:
    """1,000 files (or a third of them) are deleted."""
    number = min(MANY, world.size // 3)
    gone = notes(world.vault)[-number:]
    kept = {note: note.read_bytes() for note in gone}
    found = []
    for _ in range(_MANY_TRIES):
        for note in gone:
            note.unlink()
        seconds, cpu, report = world.sync()
        assert report["documents"]["deleted"] == number, report
        found.append((seconds, cpu))
        for note, data in kept.items():  # later steps find the size that they were promised
            note.write_bytes(data)
            os.utime(note, (1_700_000_000, 1_700_000_000))
        back, _, report = world.sync()
    return {**_least(found), "files": number, "back again": back, "embedded": report["embeddings"]["computed"]}


def tick(world: World) -> Figures:
    """The vault sensor, nothing changed, in a process that is warm, as the daemon's code server is."""
    import dagster as dg

    from pipelines.dagster_home import open_instance
    from pipelines.definitions import build
    from pipelines.resources.store import Store

    found = []
    definitions, store, cursor = build(world.settings), Store(world.settings), None
    with open_instance(world.settings) as instance:
        for _ in range(2 * _TRIES):
            with dg.build_sensor_context(
                instance_ref=instance.get_ref(),
                cursor=cursor,
                definitions=definitions,
                sensor_name="vault",
                resources={"store": store},
            ) as context:
                started = time.monotonic()
                told = definitions.get_repository_def().get_sensor_def("vault").evaluate_tick(context)
                found.append(time.monotonic() - started)
            assert not told.run_requests, told
            cursor = told.cursor
    return {"seconds": round(min(found), 3), "median": round(statistics.median(found), 3)}


def load(world: World) -> Figures:
    """A process that loads the definitions and nothing else."""
    command = [sys.executable, "-W", "ignore", "-c", "import pipelines.definitions"]
    tries = [run(command, environment=world.environment) for _ in range(_TRIES)]
    return _least([(each.seconds, each.cpu) for each in tries])


def asset_page(world: World) -> Figures:
    """The UI's server answering what the asset pages ask, over HTTP."""
    with _webserver(world) as address:
        found = []
        for _ in range(_TRIES + 1):
            started = time.monotonic()
            answer = httpx.post(f"{address}/graphql", json={"query": _ASSET_PAGE}, timeout=120).json()
            found.append(time.monotonic() - started)
            assert "errors" not in answer, answer["errors"]
    return {"seconds": round(min(found[1:]), 3), "median": round(statistics.median(found[1:]), 3), "first": found[0]}


@contextmanager
def _webserver(world: World) -> Any:
    [port] = free_ports(1)
    from pipelines.dagster_home import dagster_home

    environment = world.environment | {"DAGSTER_HOME": str(dagster_home(world.settings))}
    command = [sys.executable, "-W", "ignore", "-m", "dagster_webserver", "-m", "pipelines.definitions"]
    process = subprocess.Popen(
        [*command, "-h", "127.0.0.1", "-p", str(port)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                if httpx.get(f"{address}/server_info", timeout=5).is_success:
                    break
            except httpx.HTTPError:
                time.sleep(0.3)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=30)


STEPS: dict[str, Callable[[World], Figures]] = {
    "cold index": cold,
    "no-op": no_op,
    "one line edited": edit,
    "1,000 renamed": rename,
    "1,000 deleted": delete,
    "sensor tick": tick,
    "definitions load": load,
    "asset page": asset_page,
}
"""Steps in their order; each leaves the index complete, and the vault as large as it was."""


def table(results: dict[str, dict[str, Figures]]) -> str:
    """Seconds by step and size as a Markdown table, and how many times more the largest costs than the smallest."""
    sizes = sorted(results, key=int)
    lines = ["| seconds | " + " | ".join(f"{int(size):,} notes" for size in sizes) + " | growth |"]
    lines.append("|---" * (len(sizes) + 2) + "|")
    for step in STEPS:
        found = [results[size].get(step, {}).get("seconds") for size in sizes]
        if all(value is None for value in found):
            continue
        growth = f"{found[-1] / found[0]:.1f}" if found[0] and found[-1] else ""
        cells = ["" if value is None else f"{value:.2f}" for value in found]
        lines.append(f"| {step} | " + " | ".join(cells) + f" | {growth} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 2_000, 12_000])
    parser.add_argument("--steps", nargs="+", choices=list(STEPS), default=list(STEPS))
    parser.add_argument("--model", default="sentence-transformers/all-MiniLM-L6-v2")
    parser.add_argument("--work", type=Path, help="keep the vaults and indexes there; a short path")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="SVG")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"
    work = options.work or Path(tempfile.mkdtemp(prefix="vl-"))
    work.mkdir(exist_ok=True)
    known = options.json is not None and options.json.exists()
    results: dict[str, dict[str, Figures]] = json.loads(options.json.read_text()) if known else {}
    try:
        for size in options.sizes:
            world = World(work, size, options.model)
            try:
                for step in (step for step in STEPS if step in options.steps):
                    figures = STEPS[step](world)
                    results.setdefault(str(size), {})[step] = figures
                    load_now = os.getloadavg()[0]
                    print(f"{size:>6} {step:<18} {figures}, load {load_now:.1f}", file=sys.stderr, flush=True)
                    if options.json:
                        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            finally:
                server.stop(world.home)
    finally:
        if options.work is None:
            shutil.rmtree(work, ignore_errors=True)
    print(table(results))
    if options.plot:
        lines = {
            step: [
                (int(size), results[size][step]["seconds"])
                for size in sorted(results, key=int)
                if step in results[size]
            ]
            for step in STEPS
        }
        options.plot.write_text(draw(lines, x="notes", y="seconds"), encoding="utf-8")


if __name__ == "__main__":
    main()
