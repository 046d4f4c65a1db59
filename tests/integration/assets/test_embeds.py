"""With PARSE_RESOLVE_EMBEDS, a note's text holds the notes that it embeds, and follows their changes."""

from pathlib import Path

from pipelines.settings import Settings
from pipelines.storage.database import Database
from pipelines.sync import sync


def _texts(database: Database) -> dict[str, str]:
    with database.connect() as connection:
        rows = connection.execute(
            "SELECT source, string_agg(content, E'\\n' ORDER BY ordinal) FROM knowledge GROUP BY source"
        )
        return {str(source): str(content) for source, content in rows}


def test_an_embedded_note_is_put_in_place_and_followed(settings: Settings, database: Database) -> None:
    settings = settings.model_copy(update={"parse_resolve_embeds": True})
    vault: Path = settings.vault_path  # type: ignore[assignment]
    (vault / "sub").mkdir()
    (vault / "Host.md").write_text("# Host\n\nBefore.\n\n![[Guest]]\n\n![[Private]]\n\nAfter.\n")
    (vault / "sub" / "Guest.md").write_text("The guest says quokka.\n")
    (vault / "Private.md").write_text("---\nrag: false\n---\nThe private note says wombat.\n")
    sync(settings)
    host = _texts(database)["Host.md"]
    assert "quokka" in host
    assert "wombat" not in host

    (vault / "sub" / "Guest.md").write_text("The guest says numbat.\n")
    sync(settings)
    host = _texts(database)["Host.md"]
    assert "numbat" in host
    assert "quokka" not in host
    assert sync(settings).folders == ()


def test_embeds_stay_links_by_default(settings: Settings, database: Database) -> None:
    vault: Path = settings.vault_path  # type: ignore[assignment]
    (vault / "Host.md").write_text("Host text.\n\n![[Guest]]\n")
    (vault / "Guest.md").write_text("The guest says quokka.\n")
    sync(settings)
    assert "quokka" not in _texts(database)["Host.md"]
    with database.connect() as connection:
        assert connection.execute("SELECT resolved FROM link WHERE target = 'Guest'").fetchone() == ("Guest.md",)
