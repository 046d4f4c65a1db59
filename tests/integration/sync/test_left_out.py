"""B32: what must not be indexed, through the whole pipeline, and back again."""

import os
from collections.abc import Callable

from tests.integration.sync.living_vault import LivingVault, note

Converged = Callable[[LivingVault], None]


def test_foreign_folders_copies_links_and_pipes(vault: LivingVault, converged: Converged) -> None:
    secret = note("Secret", "Must stay outside.")
    for source in (
        ".obsidian/plugins/x/README.md",
        ".trash/vieja.md",
        ".git/notes.md",
        "node_modules/a/README.md",
        "nota.sync-conflict-20260101-101010-ABC.md",
        "nota (conflicted copy).md",
        ".stversions/nota.md",
        "drawing.excalidraw.md",
    ):
        vault.write(source, secret)
    vault.write("nota.md", note("Nota", "Dentro."))
    vault.write("sub/otra.md", note("Otra", "Dentro también."))
    outside = vault.root.parent / "outside"
    outside.mkdir()
    (outside / "far.md").write_text(secret)
    vault.path("bucle").symlink_to("..")
    vault.path("sub/self").symlink_to(vault.root)
    vault.path("fuera.md").symlink_to(outside / "far.md")
    vault.path("fuera").symlink_to(outside)
    vault.path("rota.md").symlink_to("nowhere.md")
    os.mkfifo(vault.path("tubo.md"))

    report = vault.sync()
    assert report.exit_code == 3
    assert vault.sources() == ["nota.md", "sub/otra.md"]
    assert not vault.found("Must stay outside")
    assert vault.value("SELECT count(*) FROM parsed WHERE content LIKE '%%Must stay%%'") == 0
    assert set(vault.quarantined()) == {"rota.md", "tubo.md"}
    assert vault.sync().folders == (), "known problems are no work"

    vault.remove("tubo.md")
    vault.remove("rota.md")
    assert vault.sync().exit_code == 0
    converged(vault)


def test_into_the_bin_out_of_the_index(vault: LivingVault, converged: Converged) -> None:
    vault.write("a/nota.md", note("Nota", "Se va a la papelera."))
    vault.write("b/otra.md", note("Otra", "Se queda."))
    vault.sync()
    vault.move("a/nota.md", ".trash/nota.md")
    vault.sync()
    assert vault.sources() == ["b/otra.md"]
    vault.move(".trash/nota.md", "a/nota.md")
    vault.sync()
    assert vault.sources() == ["a/nota.md", "b/otra.md"]
    converged(vault)


def test_rules_that_come_and_go(vault: LivingVault, converged: Converged) -> None:
    """Ignore files, Obsidian's own list, a setting and `rag: false`: out at once and without a trace, and back."""
    vault.write("open/nota.md", note("Nota", "Se queda."))
    vault.write("private/diario.md", note("Diario", "Palabra prohibida."))
    vault.write("open/borrador.md", note("Borrador", "Otra palabra prohibida."))
    vault.write("open/tercera.md", note("Tercera", "La tercera palabra prohibida."))
    vault.sync()
    calls = vault.calls()

    vault.write(".vaultignore", "private/\n")
    vault.write(".obsidian/app.json", '{"userIgnoreFilters": ["open/borrador.md"]}')
    vault.write("open/tercera.md", "---\nrag: false\n---\n" + note("Tercera", "La tercera palabra prohibida."))
    report = vault.sync()
    assert report.documents["excluded"] == 2, "a file and a note; what lies below a folder is not even listed"
    assert vault.sources() == ["open/nota.md"]
    for table in ("parsed", "chunk", "knowledge_g1"):
        kept = [row[0] for row in vault.rows(f"SELECT t::text FROM {table} t")]  # noqa: S608
        assert not any("prohibida" in text for text in kept), table
    assert vault.sync().folders == ()

    vault.remove(".vaultignore")
    vault.remove(".obsidian")
    vault.write("open/tercera.md", note("Tercera", "La tercera palabra prohibida."))
    vault.sync()
    assert len(vault.found("prohibida")) == 3
    assert vault.calls() == calls
    converged(vault)

    by_setting = vault.with_settings(vault_exclude=("open/",))
    vault.sync(settings=by_setting, allow_deletes=True)
    assert vault.sources() == ["private/diario.md"]
    converged(vault, by_setting)  # type: ignore[call-arg]


def test_a_problem_that_is_then_left_out_and_back(vault: LivingVault, converged: Converged) -> None:
    vault.write("good.md", note("Good", "Text."))
    os.mkfifo(vault.path("pipe.md"))
    assert vault.sync().exit_code == 3
    for _ in range(2):
        vault.write(".vaultignore", "pipe.md\n")
        assert vault.sync().exit_code == 0, "what is left out is no failure"
        vault.remove(".vaultignore")
        assert vault.sync().exit_code == 3
    converged(vault)


def test_a_note_says_no_then_breaks_then_says_it_again(vault: LivingVault, converged: Converged) -> None:
    """An edit that is undone before it could be processed leaves what the note says about itself in force."""
    text = "---\nrag: false\ndate: 2024-05-01\n---\n" + note("N", "Hidden.")
    vault.write("n.md", text)
    vault.write("m.md", "---\ndate: 2024-05-01\n---\n" + note("M", "Shown."))
    vault.sync()
    shown = vault.path("m.md").read_bytes()
    for source in ("n.md", "m.md"):
        vault.write(source, b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    assert vault.sync().exit_code == 3
    assert vault.sources() == ["m.md"], "its last good version keeps serving"
    vault.write("n.md", text)
    vault.write("m.md", shown)
    report = vault.sync()
    assert report.exit_code == 0
    assert report.documents["excluded"] == 1
    assert vault.value("SELECT modified_at::date::text FROM knowledge WHERE source = 'm.md'") == "2024-05-01"
    converged(vault)
