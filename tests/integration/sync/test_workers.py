"""Two workers on a flat vault, spread over hash buckets: they divide it, and what both hold is embedded once."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from pydantic import SecretStr

from tests.integration.sync.living_vault import LivingVault, backdate, environment, note
from tests.servers.embedding_api import EmbeddingApi

BUCKETS = 4
SHARED = [" ".join(f"team{number}x{word}" for word in range(120)) for number in range(6)]
"""Paragraphs of every note, too long to share a passage."""


@pytest.fixture
def api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi(flavour="openai", key="k", dimensions=64, max_inputs=4, latency=0.05).running() as api:
        yield api


def test_two_workers_divide_the_buckets_and_embed_nothing_twice(
    vault: LivingVault, api: EmbeddingApi, converged: Callable[..., None]
) -> None:
    backdate(
        vault.write(f"n{number:02d}.md", note(f"Note {number}", *SHARED, f"Only in {number}.")) for number in range(24)
    )
    settings = vault.with_settings(
        embedding_model="openai/local",
        embedding_base_url=api.url,
        embedding_api_key=SecretStr("k"),
        partition_buckets=BUCKETS,
    )
    surroundings = environment(settings) | {
        "EMBEDDING_BASE_URL": api.url,
        "EMBEDDING_API_KEY": "k",
        "PARTITION_BUCKETS": str(BUCKETS),
    }
    keys = [f"bucket-{bucket:04d}" for bucket in range(BUCKETS)]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli", "sync", "--json", *(f"--folder={key}" for key in share)],
            env=surroundings,
            cwd=vault.root.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for share in (keys[:2], keys[2:])
    ]
    told = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0], [errors[-2000:] for _, errors in told]
    reports = [json.loads(output) for output, _ in told]
    assert [set(report["folders"]) for report in reports] == [set(keys[:2]), set(keys[2:])]

    served = Counter(text for text in api.served if "team" in text or "Only in" in text)
    assert set(served.values()) == {1}, "nothing is asked twice"
    assert len(served) == vault.value("SELECT count(DISTINCT text_hash) FROM chunk") > len(SHARED)
    assert sum(report["embeddings"]["computed"] for report in reports) == len(served)
    assert all(report["embeddings"]["computed"] for report in reports), "both had something to do"
    converged(vault, settings)
