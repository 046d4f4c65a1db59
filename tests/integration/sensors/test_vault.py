"""The vault sensor: what people do to files ends in the index, and nothing else starts runs."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import psutil

from pipelines.dagster_home import open_instance
from pipelines.partitions import range_tags
from pipelines.run_process import TAG, this_process
from pipelines.storage import server
from tests.integration.sensors.conftest import Daemon
from tests.integration.sync.living_vault import LivingVault, backdate, note

Converged = Callable[[LivingVault], None]
EXAMPLE_PDF = Path(__file__).resolve().parents[3] / "examples/vault/runbooks/plan-de-continuidad.pdf"


def _fill(vault: LivingVault, folders: str = "abc", notes: int = 3) -> None:
    paths = [
        vault.write(f"{folder}/n{number}.md", note(f"Note {folder}{number}", f"Text {folder} {number}."))
        for folder in folders
        for number in range(notes)
    ]
    backdate(paths)


def test_edits_moves_deletions_and_new_folders(vault: LivingVault, daemon: Daemon, converged: Converged) -> None:
    _fill(vault)
    first = daemon.tick()
    assert len(first.run_requests) == 1, "a first load is one run"
    daemon.run(first.run_requests[0])
    assert daemon.partitions == {"a", "b", "c"}
    assert daemon.settle() == [], "nothing is left to do"
    calls = vault.calls()

    vault.write("a/n0.md", note("Note", "Rewritten text."))
    (run,) = daemon.settle()
    assert run.dagster_run.tags["dagster/partition"] == "a", "only the folder that changed"
    assert vault.found("Rewritten") == ["a/n0.md"]
    assert vault.calls() == calls + 1

    vault.move("a/n1.md", "Ideas, nuevas...ñ/dos.md")
    vault.remove("c")
    daemon.settle()
    assert "c/n0.md" not in vault.sources()
    assert "Ideas, nuevas...ñ/dos.md" in vault.sources()
    assert vault.calls() == calls + 1, "a move costs no embedding"
    daemon.tick()
    assert daemon.partitions == {"a", "b", "Ideas%2C%20nuevas%2E%2E%2E%C3%B1"}, "emptied folders go after their rows"
    converged(vault)


def test_the_first_tick_after_a_stop_finds_what_was_deleted_meanwhile(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault)
    daemon.settle()
    vault.remove("b/n1.md")
    later = Daemon(daemon.settings, daemon.instance)  # no cursor, as after a reset
    later.settle()
    assert "b/n1.md" not in vault.sources()
    assert len(vault.sources()) == 8


def test_an_undone_edit_is_seen_again(vault: LivingVault, daemon: Daemon) -> None:
    """A run key of the content would say that this state has been handled before."""
    _fill(vault, "a")
    daemon.settle()
    before = vault.path("a/n0.md").read_text()
    for text in (note("Note", "Something else."), before, note("Note", "Something else.")):
        vault.write("a/n0.md", text)
        daemon.settle()
    assert vault.found("Something else") == ["a/n0.md"]


def test_a_file_that_grows_waits_until_it_is_complete(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault)
    daemon.settle()
    daemon.settings = daemon.settings.model_copy(update={"vault_quiet_seconds": 0.5})
    daemon.__post_init__()
    ahead = time.time() + 1  # it is being written during the whole tick
    os.utime(vault.write("a/copy.md", note("Half", "Half of a copy.")), (ahead, ahead))
    vault.write("b/n0.md", note("Quiet", "Another folder does not wait for it."))
    backdate([vault.path("b/n0.md")], seconds=10)
    told = daemon.tick()
    assert [request.partition_key for request in told.run_requests] == ["b"]
    for request in told.run_requests:
        daemon.run(request)
    told = daemon.tick()
    if told.run_requests == []:
        assert "still being written: a" in str(told.skip_message)
    time.sleep(1)
    daemon.settle()
    assert vault.found("Half of a copy") == ["a/copy.md"]


def test_a_file_that_never_stops_changing_is_indexed_all_the_same(vault: LivingVault, daemon: Daemon) -> None:
    path = vault.write("a/log.md", note("Log", "Line."))
    ahead = time.time() + 3600
    os.utime(path, (ahead, ahead))
    assert daemon.tick().run_requests == []
    daemon.cursor = '{"changing_since": %f}' % (time.time() - 60)
    daemon.settle()
    assert vault.sources() == ["a/log.md"]


def test_replaced_files_are_one_update_and_temporary_names_nothing(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault, "a")
    daemon.settle()
    for text in ("First save.", "Second save."):
        for name in (".n0.md.swp", "n0.md~", "4913"):
            vault.write(f"a/{name}", "temporary")
        fresh = vault.write("a/.tmp-n0", note("Note", text))
        fresh.replace(vault.path("a/n0.md"))
    daemon.settle()
    assert vault.found("Second save") == ["a/n0.md"]
    assert vault.sources() == ["a/n0.md", "a/n1.md", "a/n2.md"]


def test_a_checkout_of_800_files_and_back(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault, "abcdefghijklmnopqrst", notes=40)
    daemon.settle()
    calls, runs = vault.calls(), len(daemon.ran)
    texts = {path: path.read_bytes() for path in vault.root.rglob("*.md")}
    for path in texts:
        path.write_text(note("Branch", f"Other {path.name}."))
    for path, text in texts.items():
        path.write_bytes(text)
    daemon.settle()
    assert vault.calls() == calls, "the end is the beginning: nothing is embedded"
    assert len(daemon.ran) - runs <= 4
    assert daemon.tick().run_requests == []


def test_scattered_folders_are_a_few_runs(vault: LivingVault, daemon: Daemon) -> None:
    names = [f"f{number:03d}" for number in range(26)]
    for name in names:
        backdate([vault.write(f"{name}/a.md", note(name, f"Text of {name}."))])
    daemon.settle()
    for name in names[::5]:  # six ranges: too far apart to be one by themselves
        vault.write(f"{name}/a.md", note(name, f"Changed {name}."))
    told = daemon.tick()
    assert len(told.run_requests) == 4
    for request in told.run_requests:
        daemon.run(request)
    assert len(vault.found("Changed f")) == 6
    assert daemon.tick().run_requests == []


def test_a_vault_that_is_gone_or_empty_is_a_skipped_tick(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault)
    daemon.settle()
    aside = vault.root.with_name("aside")
    vault.root.rename(aside)
    assert "does not exist" in str(daemon.tick().skip_message)
    vault.root.mkdir()
    told = daemon.tick()
    assert "9 of 9 documents are gone" in str(told.skip_message)
    assert told.run_requests == []
    vault.root.rmdir()
    aside.rename(vault.root)
    assert daemon.settle() == []
    assert len(vault.sources()) == 9
    assert daemon.partitions == {"a", "b", "c"}


def test_an_unreachable_database_is_a_skipped_tick(vault: LivingVault, daemon: Daemon, tmp_path: Path) -> None:
    daemon.settings = daemon.settings.model_copy(
        update={"database_url": type(daemon.settings.database_url)("postgresql://x:y@127.0.0.1:1/none")}
    )
    daemon.__post_init__()
    assert "cannot reach the database" in str(daemon.tick().skip_message)
    assert server.data_folder(tmp_path).exists() is False


def test_folders_of_an_unfinished_run_wait_and_others_do_not(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault)
    daemon.settle()
    going = daemon.instance.create_run_for_job(
        daemon.definitions.resolve_job_def("index"),
        status=dg.DagsterRunStatus.STARTED,
        tags={**range_tags("a", "b"), **this_process()},
    )
    for folder in "abc":
        vault.write(f"{folder}/n0.md", note("New", f"Changed {folder}."))
    told = daemon.tick()
    assert [request.partition_key for request in told.run_requests] == ["c"]
    daemon.run(told.run_requests[0])
    assert "a run of it is not finished: a, b" in str(daemon.tick().skip_message)
    vault.remove("a")
    daemon.tick()
    assert "a" in daemon.partitions, "a run still needs it"
    daemon.instance.report_run_canceled(going)
    daemon.settle()
    assert len(vault.found("Changed")) == 2


def test_a_run_whose_process_was_killed_blocks_nothing(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault, "a")
    dead = this_process()[TAG].replace(f"/{os.getpid()}/", f"/{max(psutil.pids()) + 1000}/")
    killed = daemon.instance.create_run_for_job(
        daemon.definitions.resolve_job_def("index"),
        status=dg.DagsterRunStatus.STARTED,
        tags={"dagster/partition": "a", TAG: dead},
    )
    daemon.instance.add_dynamic_partitions("vault_folders", ["a"])
    told = daemon.tick()
    record = daemon.instance.get_run_by_id(killed.run_id)
    assert record is not None
    assert record.status == dg.DagsterRunStatus.FAILURE, "the UI tells the truth about it"
    assert "its last run failed" in str(told.skip_message)


def test_a_folder_whose_run_failed_is_tried_again_after_a_growing_pause(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault, "ab")
    daemon.settle()
    for folder in "ab":
        vault.write(f"{folder}/n0.md", note("Dear", f"Nobody pays for {folder}."))
    broken = vault.with_settings(embedding_max_run_tokens=0)
    failing = Daemon(broken, daemon.instance)
    for expected in ("30 s", "120 s"):
        (request,) = daemon.tick().run_requests
        assert not failing.run(request, raise_on_error=False).success
        told = daemon.tick()
        assert told.run_requests == []
        assert expected in str(told.skip_message)
        _age_runs(daemon.instance, seconds=3600)
    daemon.settle()
    assert len(vault.found("Nobody pays")) == 2
    vault.write("a/n0.md", note("After", "Success ends the pause."))
    daemon.settle()
    assert vault.found("Success ends") == ["a/n0.md"]


def _age_runs(instance: dg.DagsterInstance, *, seconds: float) -> None:
    """Let all runs have ended some time ago."""
    import sqlalchemy as db

    storage = instance.run_storage
    with storage.connect() as connection:  # type: ignore[attr-defined]
        connection.execute(db.text("UPDATE runs SET end_time = end_time - :seconds"), {"seconds": seconds})


def test_work_that_a_failed_run_left_in_the_tables_is_requested(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault, "ab")
    daemon.settle()
    vault.execute("UPDATE document SET chunked_from = NULL WHERE source = 'b/n1.md'")
    (run,) = daemon.settle()
    assert run.dagster_run.tags["dagster/partition"] == "b"


def test_what_must_stay_out_starts_no_run_twice(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault, "a")
    vault.write(".obsidian/plugins/x/README.md", "no")
    vault.write("node_modules/a/README.md", "no")
    vault.write("a/nota.sync-conflict-20260101-101010-ABC.md", "no")
    vault.path("a/loop").symlink_to("..")
    vault.path("a/out.md").symlink_to("/etc/hostname")
    vault.path("a/broken.md").symlink_to("nowhere.md")
    os.mkfifo(vault.path("a/pipe.md"))
    daemon.settle()
    assert vault.sources() == ["a/n0.md", "a/n1.md", "a/n2.md"]
    vault.move("a/n0.md", ".trash/n0.md")
    daemon.settle()
    assert vault.sources() == ["a/n1.md", "a/n2.md"]


def test_touching_every_file_starts_no_run(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault)
    daemon.settle()
    for path in vault.root.rglob("*.md"):
        os.utime(path)
    assert daemon.tick().run_requests == []


def test_the_cursor_stays_small(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault, "abcdefgh", notes=40)
    daemon.settle()
    assert len(daemon.cursor or "") < 100


def test_a_file_that_is_filled_later_leaves_no_failure_behind(vault: LivingVault, daemon: Daemon) -> None:
    """B31 (c, d): nothing, then half a PDF, then all of it; each was quiet for long enough to look complete."""
    whole = EXAMPLE_PDF.read_bytes()
    path = vault.path("a/plan.pdf")
    for size in (0, len(whole) // 2, len(whole)):
        vault.write("a/plan.pdf", whole[:size])
        backdate([path], seconds=60)
        daemon.settle()
    assert vault.quarantined() == {}
    (pages,) = vault.rows("SELECT max(page_end) FROM knowledge WHERE source = 'a/plan.pdf'")
    clean = vault.write("a/other.pdf", whole)
    backdate([clean])
    daemon.settle()
    assert vault.texts("a/plan.pdf") == vault.texts("a/other.pdf"), "no text of the half is missing"
    assert pages[0] is not None


def test_a_file_that_is_deleted_and_made_again_at_once_is_never_gone(vault: LivingVault, daemon: Daemon) -> None:
    """B31 (b): a tick falls between the two halves of a save."""
    _fill(vault, "a")
    daemon.settle()
    text = vault.path("a/n0.md").read_text()
    vault.remove("a/n0.md")
    again = threading.Timer(0.03, vault.write, ("a/n0.md", text.replace("Text", "Fresh text")))
    again.start()
    for request in daemon.tick().run_requests:
        daemon.run(request)
    again.join()
    assert "a/n0.md" in vault.sources()
    daemon.settle()
    assert vault.found("Fresh text") == ["a/n0.md"]


def test_what_goes_or_comes_between_a_tick_and_its_run(vault: LivingVault, daemon: Daemon) -> None:
    """B29 (f), B31 (e)."""
    _fill(vault, "a")
    daemon.settle()
    vault.write("a/brief.md", note("Brief", "Gone before it was read."))
    vault.write("a/n0.md", note("Note", "Edited."))
    (request,) = daemon.tick().run_requests
    vault.remove("a/brief.md")
    vault.write("b/late.md", note("Late", "Came while the tick ran."))
    assert daemon.run(request).success
    assert vault.quarantined() == {}
    daemon.settle()
    assert vault.sources() == ["a/n0.md", "a/n1.md", "a/n2.md", "b/late.md"]


def test_clocks_decide_nothing(vault: LivingVault, daemon: Daemon) -> None:
    """B29 (a, c): a restored file of long ago, and two edits of the same size within a second."""
    _fill(vault, "a")
    daemon.settle()
    path = vault.write("a/restored.md", note("Restored", "Out of a backup."))
    os.utime(path, (1_400_000_000, 1_400_000_000))
    daemon.settle()
    assert "a/restored.md" in vault.sources()
    for word in ("first", "other"):
        vault.write("a/n0.md", note("Note", f"The {word} edit."))
        daemon.settle()
    assert vault.found("edit") == ["a/n0.md"]
    assert vault.found("The other edit") == ["a/n0.md"]


def test_renames_by_case_alone(vault: LivingVault, daemon: Daemon, converged: Converged) -> None:
    """B02 (c, d): a note and a folder get the same name in other letters."""
    backdate([vault.write(f"Ideas/{name}.md", note(name, f"Text of {name}.")) for name in ("Nota", "Otra")])
    daemon.settle()
    calls = vault.calls()
    vault.move("Ideas/Nota.md", "Ideas/nota.md")
    daemon.settle()
    assert vault.sources() == ["Ideas/Otra.md", "Ideas/nota.md"]
    vault.path("Ideas").rename(vault.path("ideas"))
    daemon.settle()
    daemon.tick()
    assert vault.sources() == ["ideas/Otra.md", "ideas/nota.md"]
    assert daemon.partitions == {"ideas"}
    assert vault.calls() == calls, "the same text is not embedded again"
    converged(vault)


def test_a_big_file_is_hashed_by_a_run_not_by_a_tick(vault: LivingVault, daemon: Daemon) -> None:
    """B28 (d): a touched file over the limit starts a run, which finds it the same."""
    _fill(vault, "a")
    big = vault.write("b/big.md", "\n\n".join(f"Paragraph {n} of a long file." for n in range(6_000)))
    backdate([big])
    daemon.settle()
    calls = vault.calls()
    os.utime(big, (1_600_000_000, 1_600_000_000))
    (run,) = daemon.settle()
    assert run.dagster_run.tags["dagster/partition"] == "b"
    assert vault.calls() == calls


def test_vaultlines_own_files_start_nothing(vault: LivingVault, daemon: Daemon) -> None:
    """B28 (c): somebody keeps VAULTLINE_HOME inside the vault."""
    _fill(vault, "a")
    inside = vault.path("cache")
    shutil.copytree(daemon.settings.vaultline_home, inside)
    settings = daemon.settings.model_copy(update={"vaultline_home": inside, "uploads_path": vault.root.parent / "up"})
    with open_instance(settings) as instance:
        own = Daemon(settings, instance)
        own.settle()
        vault.write("cache/noise.md", note("Noise", "Written by ourselves."))
        assert own.tick().run_requests == []
    assert vault.sources() == ["a/n0.md", "a/n1.md", "a/n2.md"]


def test_a_restart_of_everything_does_nothing_again(
    vault: LivingVault, daemon: Daemon, new_home: Callable[[], Path]
) -> None:
    """X06, and Dagster's own database is lost as well: only the UI's past goes with it."""
    _fill(vault)
    daemon.settle()
    calls = vault.calls()
    assert Daemon(daemon.settings, daemon.instance).settle() == []
    settings = daemon.settings.model_copy(update={"vaultline_home": new_home()})
    with open_instance(settings) as instance:
        fresh = Daemon(settings, instance)
        assert fresh.settle() == []
        assert fresh.partitions == {"a", "b", "c"}, "they can be materialized in the UI again"
        vault.write("b/n0.md", note("Note", "Edited after the loss."))
        fresh.settle()
    assert vault.calls() == calls + 1
