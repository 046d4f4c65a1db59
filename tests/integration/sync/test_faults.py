"""Faults around a sync: two at once, a promotion beside it, a full disk, a read-only database, clocks that jump, and a
vault that never stops changing."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pipelines.chunking.chunk import hash_text
from pipelines.embedding.canary import CANARY_TEXT
from pipelines.errors import DatabaseFull, DatabaseRefused, VaultlineError
from pipelines.generations import promotion
from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database
from pipelines.sync import sync
from tests.convergence import assert_consistent
from tests.integration.sync.living_vault import LivingVault, backdate, environment, long_note, note
from tests.integration.sync.random_life import Life
from tests.servers.embedding_api import EmbeddingApi

Converged = Callable[[LivingVault], None]
DAY_NS = 86_400 * 10**9


@pytest.mark.slow
def test_two_syncs_at_once_pay_for_every_text_once(vault: LivingVault, converged: Converged) -> None:
    """Counted where the money is: at the provider."""
    with EmbeddingApi(flavour="openai", key=None, dimensions=64, latency=0.02, max_inputs=8).running() as api:
        vault.settings = vault.with_settings(embedding_model="openai/local", embedding_base_url=api.url)
        for number in range(60):
            vault.write(
                f"folder {number % 4}/n{number}.md", long_note(f"Note {number}", 3, words=40, seed=f"s{number}")
            )
        _two_syncs(vault)
        served = _served(api)
        assert len(served) == len(set(served)) == vault.value("SELECT count(DISTINCT text_hash) FROM chunk")
        for number in range(0, 60, 2):
            vault.write(f"folder {number % 4}/n{number}.md", note(f"Note {number}", f"Edited {number}."))
        _two_syncs(vault)
        served = _served(api)
        assert len(served) == len(set(served))
        assert vault.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0
        converged(vault)


def _two_syncs(vault: LivingVault) -> None:
    chosen = environment(vault.settings) | {"EMBEDDING_BASE_URL": str(vault.settings.embedding_base_url)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli", "sync"],
            env=chosen,
            cwd=vault.root.parent,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    words = [process.communicate(timeout=200)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], words


def _served(api: EmbeddingApi) -> list[str]:
    canary = hash_text(CANARY_TEXT)
    return [digest for text in api.served if (digest := hash_text(text)) != canary]


@pytest.mark.slow
def test_promotions_and_rollbacks_during_syncs(vault: LivingVault) -> None:
    """Search switches to and fro while documents are published: both generations end complete and true."""
    for number in range(20):
        vault.write(f"n{number}.md", long_note(f"Note {number}", 2, words=40, seed=f"s{number}"))
    vault.sync()
    both = vault.with_settings(embedding_model="fake/other-96", generation_auto_promote=False)
    vault.sync(settings=both)
    switches: list[str] = []
    wrong: list[Exception] = []
    stop = threading.Event()

    def switch() -> None:
        while not stop.is_set():
            for step in (
                lambda: promotion.promote(vault.database, both, 2, override="the test"),
                lambda: promotion.roll_back(vault.database, allow_lag=True),
            ):
                try:
                    step()
                    switches.append("done")
                except VaultlineError:
                    time.sleep(0.05)  # behind for the moment, or a writer was too busy: said, and nothing is changed
                except Exception as error:
                    wrong.append(error)
                    return

    switcher = threading.Thread(target=switch)
    switcher.start()
    try:
        for round_ in range(4):
            for number in range(0, 20, 2):
                vault.write(f"n{number}.md", note(f"Note {number}", f"Round {round_} of {number}."))
            vault.sync(settings=both)
            held = {row[0] for row in vault.rows("SELECT DISTINCT generation_id FROM knowledge")}
            assert len(held) == 1, "a reader sees one generation"
    finally:
        stop.set()
        switcher.join()
    assert not wrong, wrong
    assert switches, "nothing was switched"
    vault.sync(settings=both)
    with vault.database.connect() as connection:
        assert_consistent(connection)
    for generation in (1, 2):
        rows = vault.rows(f"SELECT document_id, ordinal, text_hash FROM knowledge_g{generation} ORDER BY 1, 2")  # noqa: S608
        assert rows == vault.rows("SELECT document_id, ordinal, text_hash FROM chunk ORDER BY 1, 2")
    assert vault.value("SELECT count(*) FROM generation WHERE state = 'active'") == 1


def test_a_read_only_database_says_so_and_still_answers(vault: LivingVault, converged: Converged) -> None:
    """As a hot standby does, or a server whose disk is nearly full and was made read-only by its keepers."""
    vault.write("n.md", note("N", "The lighthouse of the first text."))
    vault.sync()
    vault.write("n.md", note("N", "The harbour of the second text."))
    name = conninfo_to_dict(vault.database.url)["dbname"]
    _alter(vault.database, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        with pytest.raises(DatabaseRefused, match="read-only"):
            vault.sync()
        for question, answered in (("lighthouse", 0), ("zzz qqq unheard-of", 0)):
            done = subprocess.run(
                [sys.executable, "-m", "pipelines.cli", "search", question],
                env=environment(vault.settings),
                cwd=vault.root.parent,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == answered, done.stderr
            assert "Traceback" not in done.stderr
    finally:
        _alter(vault.database, f"ALTER DATABASE {name} RESET default_transaction_read_only")
    vault.sync()
    assert vault.found("harbour") == ["n.md"]
    converged(vault)


def _alter(database: Database, statement: str) -> None:
    maintenance = make_conninfo(database.url, dbname="postgres")
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(statement.encode())


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of its own, of 160 MB: a real one (tmpfs), which only root may make."""
    folder = Path(tempfile.mkdtemp(prefix="vl-"))
    disk = folder / "d"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        shutil.rmtree(folder)
        pytest.skip("only root may mount a small disk")
    yield disk
    server.stop(disk / "home")
    subprocess.run(["umount", "--lazy", str(disk)], check=False)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.parametrize("room", [300_000, 6_000_000])
def test_a_full_disk_is_said_loses_nothing_and_ends_with_the_room(
    small_disk: Path, tmp_path: Path, new_database: Callable[[], Database], new_home: Callable[[], Path], room: int
) -> None:
    """The disk of the whole home: the server's tables and log, and Dagster's records."""
    root = tmp_path / "vault"
    root.mkdir()
    settings = Settings.load(
        _env_file=None, vault_path=root, vaultline_home=small_disk / "home", embedding_model="fake/test-64"
    )
    vault = LivingVault(settings, Database.from_settings(settings))
    vault.write("first.md", note("First", "Here from the start."))
    sync(settings)
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - room))
    for number in range(60):
        vault.write(f"n{number}.md", long_note(f"Note {number}", 5, words=400, seed=f"s{number}"))
    for _ in range(2):
        with pytest.raises(VaultlineError) as raised:
            sync(settings)
        assert raised.type is DatabaseFull or "closed the connection" in str(raised.value), raised.value
    ballast.unlink()
    sync(settings)
    assert vault.found("Here from the start") == ["first.md"]
    from tests.convergence import assert_same_as_clean_build

    assert_same_as_clean_build(settings, new_database=new_database, home=new_home())


def test_clocks_that_jump_hide_no_edit_and_start_no_run(vault: LivingVault, converged: Converged) -> None:
    """The clock of the machine that syncs, that of the files and that of the server may each be wrong."""
    for name in ("ahead", "behind", "future", "moved", "gone"):
        backdate([vault.write(f"{name}.md", note(name, f"First text of {name}, aaaa."))])
    vault.sync()
    calls = vault.calls()

    # The last sync ran under a clock that was a day ahead, or behind; then a save of the same size.
    vault.execute("UPDATE document SET verified_ns = verified_ns + %s WHERE source = 'ahead.md'", DAY_NS)
    vault.execute("UPDATE document SET verified_ns = verified_ns - %s WHERE source = 'behind.md'", DAY_NS)
    for name in ("ahead", "behind"):
        vault.write(f"{name}.md", note(name, f"First text of {name}, bbbb."))
    vault.sync()
    assert vault.found("bbbb") == ["ahead.md", "behind.md"]

    # A file from next year stays readable work once, not at every look.
    when = time.time_ns() + 365 * DAY_NS
    vault.write("future.md", note("future", "Written next year."))
    os.utime(vault.path("future.md"), ns=(when, when))
    vault.sync()
    assert vault.sync().folders == ()
    assert vault.sync().folders == ()

    # The server's clock was ahead when a file vanished, and is behind when it is back under another name.
    vault.path("moved.md").rename(vault.root.parent / "outside.md")
    vault.remove("gone.md")
    vault.sync()
    vault.execute("UPDATE tombstone SET deleted_at = deleted_at + interval '1 day'")
    (vault.root.parent / "outside.md").rename(vault.path("elsewhere.md"))
    report = vault.sync()
    assert report.documents["moved"] == 1
    assert report.embeddings["computed"] == 0
    assert vault.calls() == calls + 3, "three texts are new: two saves and one file from next year"
    converged(vault)


@pytest.mark.slow
def test_a_vault_that_never_stops_changing(vault: LivingVault, converged: Converged) -> None:
    """Every sync works on a moving target: none fails, and the one after the last edit has it all."""
    life = Life(vault, seed := time.time_ns() % 1_000_000)
    life.operations = [step for step in life.operations if not step.__name__.startswith("op_sync")]
    for _ in range(20):
        life.op_create()
    stop = threading.Event()

    def edit() -> None:
        while not stop.wait(0.01):
            with contextlib.suppress(FileNotFoundError):
                life.step()

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        for _ in range(6):
            vault.sync(allow_deletes=True)
    finally:
        stop.set()
        editor.join()
    vault.sync(allow_deletes=True)
    try:
        converged(vault)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}") from error
