"""B02: renames, moves and deletions. One document, its new path, no row and no partition for the old one."""

from collections.abc import Callable

from pipelines.dagster_home import open_instance
from tests.integration.sync.living_vault import LivingVault, note

Converged = Callable[[LivingVault], None]


def _partitions(vault: LivingVault) -> list[str]:
    with open_instance(vault.settings) as instance:
        return sorted(instance.get_dynamic_partitions("vault_folders"))


def _fill(vault: LivingVault) -> None:
    vault.write("a/uno.md", note("Uno", "El faro de la costa."))
    vault.write("Ideas/one.md", note("One", "An idea about lamps.", "See [[uno]]."))
    vault.write("Ideas/two.md", note("Two", "Another idea."))
    vault.write("Nota.md", note("Nota", "Una nota."))
    vault.sync()


def test_moves_cost_no_work_and_leave_nothing_behind(vault: LivingVault, converged: Converged) -> None:
    _fill(vault)
    ids = dict(vault.rows("SELECT content_hash, id FROM document"))
    calls = vault.calls()

    vault.move("a/uno.md", "b/dos.md")
    vault.move("Nota.md", "nota.md")
    vault.move("Ideas", "ideas")
    report = vault.sync()

    assert (report.documents["moved"], report.documents["added"], report.documents["deleted"]) == (4, 0, 0)
    assert report.parsed["computed"] == 0
    assert vault.calls() == calls
    assert vault.sources() == ["b/dos.md", "ideas/one.md", "ideas/two.md", "nota.md"]
    assert dict(vault.rows("SELECT content_hash, id FROM document")) == ids, "the rows are the same documents"
    assert _partitions(vault) == ["_root", "b", "ideas"]
    converged(vault)


def test_a_deletion_while_nobody_looked_is_found(vault: LivingVault, converged: Converged) -> None:
    _fill(vault)
    assert vault.rows("SELECT resolved FROM link") == [("a/uno.md",)]
    vault.remove("a/uno.md")
    report = vault.sync()
    assert report.documents["deleted"] == 1
    assert report.folders == ("a",)
    assert "a/uno.md" not in vault.sources()
    assert vault.rows("SELECT resolved FROM link") == [(None,)], "a link to it leads nowhere now"
    assert _partitions(vault) == ["Ideas", "_root"]
    converged(vault)


def test_a_move_between_folders_is_one_whichever_of_them_is_synced(vault: LivingVault, converged: Converged) -> None:
    _fill(vault)
    calls = vault.calls()
    vault.write("b/other.md", note("Other", "It makes b a folder."))
    vault.sync()

    vault.move("Ideas/one.md", "b/one.md")
    vault.sync(folders=["Ideas"])
    assert vault.sources().count("b/one.md") + vault.sources().count("Ideas/one.md") == 1, (
        "the text is never in neither"
    )
    vault.move("Ideas/two.md", "b/two.md")
    vault.sync(folders=["b"])
    assert "b/two.md" in vault.sources()
    assert "Ideas/two.md" not in vault.sources()
    vault.sync()
    assert vault.calls() == calls + 1
    converged(vault)


def test_swapped_and_chained_names(vault: LivingVault, converged: Converged) -> None:
    _fill(vault)
    calls = vault.calls()
    vault.move("Ideas/one.md", "Ideas/tmp.md")
    vault.move("Ideas/two.md", "Ideas/one.md")
    vault.move("Ideas/tmp.md", "Ideas/two.md")
    vault.move("Nota.md", "b.md")
    vault.move("a/uno.md", "Nota.md")
    vault.sync()
    assert vault.calls() == calls
    assert vault.texts("Ideas/one.md") == ["# Two\n\nAnother idea."]
    converged(vault)


def test_a_move_between_two_scans_is_not_read_again(vault: LivingVault, converged: Converged) -> None:
    _fill(vault)
    calls = vault.calls()
    text = vault.path("a/uno.md").read_bytes()
    vault.remove("a/uno.md")
    vault.sync()
    vault.write("back/uno.md", text)
    report = vault.sync()
    assert (report.documents["moved"], report.parsed["computed"]) == (1, 0)
    assert vault.calls() == calls
    converged(vault)


def test_a_rename_with_an_edit_is_a_new_document(vault: LivingVault, converged: Converged) -> None:
    _fill(vault)
    vault.move("a/uno.md", "a/dos.md")
    vault.write("a/dos.md", note("Uno", "El faro de la costa.", "Con una línea más."))
    report = vault.sync()
    assert (report.documents["added"], report.documents["deleted"]) == (1, 1)
    assert "a/uno.md" not in vault.sources()
    converged(vault)


def test_another_partition_depth_puts_documents_in_other_folders(vault: LivingVault, converged: Converged) -> None:
    vault.write("a/deep/uno.md", note("Uno", "Texto."))
    vault.write("a/dos.md", note("Dos", "Texto de dos."))
    vault.sync()
    calls = vault.calls()
    deeper = vault.with_settings(partition_depth=2)
    vault.sync(settings=deeper)
    assert vault.rows("SELECT source, folder FROM knowledge ORDER BY 1") == [
        ("a/deep/uno.md", "a%2Fdeep"),
        ("a/dos.md", "a"),
    ]
    assert vault.calls() == calls
    converged(vault, deeper)  # type: ignore[call-arg]
