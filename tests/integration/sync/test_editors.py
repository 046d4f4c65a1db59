"""B31: editors that save by replacing the file, files that are not finished yet, files that go while they are read."""

from collections.abc import Callable
from pathlib import Path

import pymupdf
import pytest

from tests.integration.sync.living_vault import LivingVault, note

Converged = Callable[[LivingVault], None]


def _pdf(*pages: str) -> bytes:
    document = pymupdf.open()
    for text in pages:
        document.new_page().insert_text((72, 72), text)
    return bytes(document.tobytes(garbage=3, deflate=False))


def _save_like_vim(vault: LivingVault, source: str, text: str) -> None:
    folder, name = vault.path(source).parent, Path(source).name
    (folder / f".{name}.swp").write_text("swap")
    (folder / f"{name}~").write_text("backup")
    (folder / "4913").write_text("")
    (folder / f"{name}.tmp").write_text(text)
    (folder / f"{name}.tmp").replace(folder / name)


def test_saves_by_replacement_are_edits_of_one_document(vault: LivingVault, converged: Converged) -> None:
    vault.write("x.md", note("X", "First."))
    vault.sync()
    [(identity,)] = vault.rows("SELECT id FROM document")
    for text in ("Second.", "Third."):
        _save_like_vim(vault, "x.md", note("X", text))
        report = vault.sync()
        assert (report.documents["changed"], report.documents["added"], report.documents["deleted"]) == (1, 0, 0)
        assert vault.texts("x.md") == [f"# X\n\n{text}"]
    vault.remove("x.md")
    vault.write("x.md", note("X", "Deleted and made again."))
    report = vault.sync()
    assert report.documents["deleted"] == 0
    assert vault.rows("SELECT id, source FROM document") == [(identity, "x.md")]
    converged(vault)


def test_a_file_that_grows_is_read_again_until_it_is_whole(vault: LivingVault, converged: Converged) -> None:
    whole = _pdf("Primera mitad del informe.", "Segunda mitad del informe.")
    vault.write("good.md", note("Good", "Text."))
    vault.write("report.pdf", whole[: len(whole) // 2])
    vault.write("later.md", "")
    vault.sync()
    assert vault.sources()[0] == "good.md"
    vault.write("report.pdf", whole)
    vault.write("later.md", note("Later", "Filled in the end."))
    report = vault.sync()
    assert report.exit_code == 0, "the half file leaves no lasting failure"
    assert "Segunda mitad" in " ".join(vault.texts("report.pdf"))
    assert vault.found("Filled") == ["later.md"]
    converged(vault)


@pytest.mark.parametrize("moment", ["hash", "parse"])
def test_a_file_that_goes_while_it_is_read_is_gone(
    vault: LivingVault, converged: Converged, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    vault.write("a/stays.md", note("Stays", "Text."))
    vault.write("a/goes.md", note("Goes", "Text too."))
    if moment == "hash":
        from pipelines.intake import apply

        real_hash = apply.hash_file

        def hash_file(*arguments: object, **options: object) -> str:
            vault.path("a/goes.md").unlink(missing_ok=True)
            return real_hash(*arguments, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(apply, "hash_file", hash_file)
    else:
        from pipelines.assets import parsed_text

        real_read = parsed_text._read

        def read(*arguments: object) -> bytes:
            vault.path("a/goes.md").unlink(missing_ok=True)
            return real_read(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(parsed_text, "_read", read)
    vault.sync()
    assert "a/stays.md" in vault.sources()
    monkeypatch.undo()
    assert vault.sync().exit_code == 0
    assert vault.sources() == ["a/stays.md"]
    converged(vault)
