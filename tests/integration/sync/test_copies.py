"""B03: files with the same text, and notes that share a paragraph."""

from collections.abc import Callable

from tests.integration.sync.living_vault import LivingVault, long_note, note

Converged = Callable[[LivingVault], None]


def test_copies_live_and_die_by_themselves(vault: LivingVault, converged: Converged) -> None:
    text = note("Plantilla", "El texto de la plantilla.")
    vault.write("a/plantilla.md", text)
    vault.write("b/copia.md", text)
    report = vault.sync()
    assert vault.sources() == ["a/plantilla.md", "b/copia.md"]
    assert report.embeddings["computed"] == 1
    assert report.parsed["computed"] == 1

    vault.remove("a/plantilla.md")
    vault.sync()
    assert vault.sources() == ["b/copia.md"]
    vault.write("a/plantilla.md", text)
    vault.sync()
    vault.remove("b/copia.md")
    vault.sync()
    assert vault.sources() == ["a/plantilla.md"]
    assert vault.found("plantilla") == ["a/plantilla.md"]
    assert vault.calls() == 1
    converged(vault)


def test_a_shared_paragraph_stays_with_the_note_that_stays(vault: LivingVault, converged: Converged) -> None:
    shared = long_note("Same heading", 2)
    vault.write("one.md", shared + "\n## Own\n\nOnly in one.\n")
    vault.write("two.md", shared + "\n## Own\n\nOnly in two.\n")
    vault.sync()
    vault.remove("one.md")
    vault.sync()
    assert vault.found("Marker1") == ["two.md"]
    assert not vault.found("Only in one")
    assert vault.value("SELECT count(*) FROM knowledge WHERE embedding IS NULL") == 0
    converged(vault)


def test_a_copy_and_a_move_at_once(vault: LivingVault, converged: Converged) -> None:
    text = note("Original", "Copied and moved in one go.")
    vault.write("a/original.md", text)
    vault.sync()
    vault.move("a/original.md", "b/moved.md")
    vault.write("c/copy.md", text)
    vault.sync()
    assert vault.sources() == ["b/moved.md", "c/copy.md"]
    assert vault.calls() == 1
    converged(vault)


def test_one_paragraph_twice_in_one_note(vault: LivingVault, converged: Converged) -> None:
    """B26 (b): the same text twice, one INSERT."""
    section = "## Same\n\n" + " ".join(f"repeated{word}" for word in range(50)) + "\n"
    other = "## Between\n\n" + " ".join(f"different{word}" for word in range(50)) + "\n"
    twice = f"# Log\n\n{section}\n{other}\n{section}\n{other}\n"
    vault.write("log.md", twice)
    vault.sync()
    ordinals = vault.rows("SELECT count(*), count(DISTINCT ordinal), count(DISTINCT content) FROM knowledge")
    [(rows, places, texts)] = ordinals
    assert rows == places == vault.value("SELECT count(*) FROM chunk")
    assert texts < rows, "the note must really hold one text twice"
    vault.write("log.md", twice.replace("# Log\n\n", "# Log\n\nA line on top.\n\n", 1) + section)
    vault.sync()
    converged(vault)
