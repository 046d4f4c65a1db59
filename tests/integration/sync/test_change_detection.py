"""B29: changes are found by what a file is, not by the clock; files that only look changed cost nothing."""

import os
import time
from collections.abc import Callable

import pytest

from tests.integration.sync.living_vault import LivingVault, backdate, note

Converged = Callable[[LivingVault], None]
YEAR = 365 * 86_400


def test_old_dates_second_edits_and_clocks_that_go_back(vault: LivingVault, converged: Converged) -> None:
    for name in ("restored", "twice", "stays"):
        vault.write(f"{name}.md", note(name, "First text."))
    vault.sync()

    backdate([vault.write("restored.md", note("restored", "From a backup of last year."))], seconds=YEAR)
    backdate([vault.write("new.md", note("new", "Unzipped with its old date."))], seconds=YEAR)
    vault.write("twice.md", note("twice", "Aaaaa text."))
    vault.sync()
    assert vault.found("backup") == ["restored.md"]
    assert vault.found("Unzipped") == ["new.md"]

    # (c) two edits of one size within one step of the file system's clock, which is not over when the file is read
    when = time.time_ns() + 120 * 10**9
    for word in ("Bbbbb", "Ccccc"):
        vault.write("twice.md", note("twice", f"{word} text."))
        os.utime(vault.path("twice.md"), ns=(when, when))
        vault.sync()
        assert vault.found(word) == ["twice.md"]

    # (e) the clock went back an hour, then the file was saved; and one whose date lies in the future
    backdate([vault.write("stays.md", note("stays", "Saved an hour ago by the clock."))])
    backdate([vault.write("new.md", note("new", "Dated tomorrow."))], seconds=-86_400)
    vault.sync()
    assert vault.found("hour ago") == ["stays.md"]
    assert vault.found("tomorrow") == ["new.md"]
    converged(vault)


def test_a_swap_under_the_same_size_and_date_is_found_by_the_full_hash(
    vault: LivingVault, converged: Converged
) -> None:
    backdate([vault.write("n.md", note("N", "aaaa"))])
    vault.sync()
    when = vault.path("n.md").stat().st_mtime_ns
    vault.write("n.md", note("N", "bbbb"))
    os.utime(vault.path("n.md"), ns=(when, when))
    assert vault.sync().folders == (), "size and date say that nothing changed: that is the documented limit"
    aged = int((vault.settings.full_hash_days * 86_400 + 60) * 1e9)
    vault.execute("UPDATE document SET verified_ns = verified_ns - %s", aged)
    vault.sync()
    assert vault.found("bbbb") == ["n.md"]

    vault.write("n.md", note("N", "cccc"))
    os.utime(vault.path("n.md"), ns=(when, when))
    vault.sync(full=True)
    assert vault.found("cccc") == ["n.md"], "--full does not wait for the period"
    converged(vault)


def test_touching_every_file_reads_them_and_changes_no_row(vault: LivingVault) -> None:
    for number in range(20):
        vault.write(f"n{number}.md", note(str(number), "Text."))
    backdate(vault.root.glob("*.md"))
    vault.sync()
    before = vault.rows("SELECT ctid::text, xmin::text FROM knowledge_g1 ORDER BY id")
    calls = vault.calls()
    for path in vault.root.glob("*.md"):
        os.utime(path)
    report = vault.sync()
    assert report.folders == ()
    assert report.documents["unchanged"] == 20
    assert vault.calls() == calls
    assert vault.rows("SELECT ctid::text, xmin::text FROM knowledge_g1 ORDER BY id") == before


def test_a_file_that_lands_while_the_sync_runs_is_found_by_the_next(
    vault: LivingVault, converged: Converged, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("a/first.md", note("First", "Text."))
    from pipelines.assets import parsed_text

    real = parsed_text._read

    def read(*arguments: object) -> bytes:
        vault.write("a/second.md", note("Second", "It landed late."))
        vault.write("a/first.md", note("First", "Text, edited while it was read."))
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(parsed_text, "_read", read)
    vault.sync()
    monkeypatch.undo()
    report = vault.sync()
    assert report.exit_code == 0
    assert vault.found("late") == ["a/second.md"]
    assert vault.found("edited while") == ["a/first.md"]
    converged(vault)


def test_a_content_that_is_not_what_its_hash_says_is_read_again(
    vault: LivingVault, converged: Converged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Swapped under the same date, then a new parser wants to read it: the scan must not go on trusting the date."""
    backdate([vault.write("n.md", note("N", "aaaa"))])
    vault.sync()
    when = vault.path("n.md").stat().st_mtime_ns
    vault.write("n.md", note("N", "bbbb"))
    os.utime(vault.path("n.md"), ns=(when, when))
    monkeypatch.setitem(__import__("pipelines.parsing.parser", fromlist=["x"]).VERSIONS, "markdown", 99)
    vault.sync()
    vault.sync()
    assert vault.quarantined() == {}
    assert vault.found("bbbb") == ["n.md"]
    converged(vault)


def test_no_file_is_read_at_every_sync_for_ever(vault: LivingVault) -> None:
    """A file saved just now is read once more by the next sync, and then its date is trusted."""
    path = vault.write("n.md", note("N", "Text."))
    vault.sync()
    backdate([path], seconds=10)
    vault.sync()
    verified = vault.value("SELECT verified_ns FROM document")
    time.sleep(0.01)
    vault.sync()
    assert vault.value("SELECT verified_ns FROM document") == verified
