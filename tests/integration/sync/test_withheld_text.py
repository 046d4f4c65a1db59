"""Promise 8 after a whole run: what must stay out is in no table and in no file that Vaultline or Dagster writes."""

from collections.abc import Callable

import psycopg
import pytest
from psycopg import sql

from tests.integration.sync.living_vault import LivingVault, note

Converged = Callable[[LivingVault], None]

UNPUBLISHED = "zanahoria-no-publicada"
COMMENT = "zapato-en-comentario"
EXCLUDED = "zorro-en-carpeta-privada"
IGNORED = "zumo-ignorado"
TOKEN = "ghp_" + "a1B2" * 9
PASSWORD = "hunter2-Zx9!kLm"
NAME = "Zacarías Zurita"
BROKEN = "zinc-en-nota-rota"
PLANTED = (UNPUBLISHED, COMMENT, EXCLUDED, IGNORED, TOKEN, PASSWORD, NAME, "Zacarías", BROKEN)


def _tables(vault: LivingVault) -> dict[str, str]:
    """Every table of the database as text, catalogues apart."""
    names = vault.rows(
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
        "WHERE relkind IN ('r', 'm') AND nspname NOT IN ('pg_catalog', 'information_schema')"
    )
    assert {"document", "parsed", "tombstone", "run_ledger", "knowledge_g1"} <= {name for (name,) in names}
    with psycopg.connect(vault.database.url) as connection:
        return {
            name: "\n".join(
                row[0] for row in connection.execute(sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(name)))
            )
            for (name,) in names
        }


def _files(vault: LivingVault) -> dict[str, bytes]:
    """Everything under VAULTLINE_HOME: Dagster's SQLite files and logs; and the log of the embedder's calls."""
    return {str(path): path.read_bytes() for path in vault.settings.vaultline_home.rglob("*") if path.is_file()}


def _leaks(vault: LivingVault, words: tuple[str, ...]) -> list[tuple[str, str]]:
    found = [(place, word) for place, text in _tables(vault).items() for word in words if word in text]
    return found + [(place, word) for place, data in _files(vault).items() for word in words if word.encode() in data]


def _plant(vault: LivingVault) -> None:
    vault.write("a/unpublished.md", f"---\nrag: false\ntitle: {UNPUBLISHED}\n---\n" + note("No", UNPUBLISHED))
    vault.write("a/draft.md", "---\npublish: false\n---\n" + note(UNPUBLISHED, UNPUBLISHED))
    vault.write(
        "a/comment.md", note("Open", f"Visible %% {COMMENT} %% text.", f"%%\n{COMMENT}\n%%", f"<!-- {COMMENT} -->")
    )
    vault.write("private/diary.md", note(EXCLUDED, EXCLUDED))
    vault.write("a/ignored.md", note("Ignored", IGNORED))
    vault.write("a/keys.md", note("Keys", f"token: {TOKEN}", f"password: {PASSWORD}", f"https://x.test/?token={TOKEN}"))
    vault.write("a/person.md", f"---\nanonymize: [{NAME}]\n---\n" + note("Person", f"{NAME} dijo que sí."))
    vault.write("a/broken.md", f"{BROKEN}".encode() + b"\x00\x01\x02\x89PNG" + bytes(range(256)) * 20)
    vault.write(".vaultignore", "private/\na/ignored.md\n")
    vault.write("b/open.md", note("Open", "Everybody may read this."))


def test_what_stays_out_is_nowhere(vault: LivingVault) -> None:
    _plant(vault)
    report = vault.sync()
    assert report.exit_code == 3
    assert vault.found("Everybody") == ["b/open.md"]
    assert vault.found("Visible") == ["a/comment.md"]
    assert vault.found("dijo que sí") == ["a/person.md"]
    assert _leaks(vault, PLANTED) == []


def test_what_is_taken_out_leaves_every_table(vault: LivingVault, converged: Converged) -> None:
    """The same words, first open to all, then taken out by an edit, by a rule, by the note itself, by a deletion."""
    words = tuple(f"palabra-{kind}-retirada" for kind in ("edited", "ignored", "folder", "rag", "comment", "secret"))
    sources = dict(zip(words, ("a/e.md", "a/i.md", "p/f.md", "a/r.md", "a/c.md", "a/s.md"), strict=True))
    for word, source in sources.items():
        vault.write(source, f"---\ntags: [{word}]\nowner: {word}\n---\n" + note(f"About {word}", f"Text with {word}."))
    vault.sync()
    assert all(vault.found(word) for word in words)

    vault.write("a/e.md", note("About", "Text without."))
    vault.write("a/s.md", note("About", "Text without a secret."))
    vault.write("a/c.md", note("About", f"Text with %%{words[4]}%%."))
    vault.write("a/r.md", f"---\nrag: false\n---\n{words[3]}")
    vault.write(".vaultignore", "p/\na/i.md\n")
    vault.sync()
    assert _leaks(vault, words) == []
    converged(vault)


def test_what_a_killed_run_left_is_taken_out_by_the_next(vault: LivingVault) -> None:
    """Its upkeep was due and nothing else is: the next sync has no folder to run and does it all the same."""
    vault.write("n.md", note("N", "Sensible palabra-olvidada here."))
    vault.write("m.md", note("M", "See [[later]]."))
    vault.sync()
    from pipelines.assets import live_index

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    vault.write("n.md", note("N", "Nothing here."))
    vault.write("later.md", note("Later", "Text."))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live_index, "resolve_changed_links", die)
        with pytest.raises(BaseException):  # noqa: B017  # as good as a kill
            vault.sync()
    assert _leaks(vault, ("palabra-olvidada",)) == [("parsed", "palabra-olvidada")]
    report = vault.sync()
    assert report.folders == ()
    assert _leaks(vault, ("palabra-olvidada",)) == []
    assert vault.rows("SELECT resolved FROM link") == [("later.md",)]


def test_a_deleted_note_leaves_with_its_tombstone(vault: LivingVault) -> None:
    """A day's grace by default, so that a move between two scans costs nothing; no grace where none is wanted."""
    vault.write("n.md", note("N", "Una palabra-borrada."))
    vault.write("m.md", note("M", "Text."))
    vault.sync()
    vault.remove("n.md")
    vault.sync()
    assert not vault.found("palabra-borrada")
    at_once = vault.with_settings(tombstone_days=0)
    assert vault.sync(settings=at_once).folders == ()
    assert _leaks(vault, ("palabra-borrada",)) == []


def test_logs_and_messages_hold_no_note_text(vault: LivingVault) -> None:
    """A fault of our own that names what it was given must not carry the note into Dagster's records."""
    from pipelines.assets import parsed_text

    word = "texto-de-la-nota"
    vault.write("n.md", note("N", word))
    with pytest.MonkeyPatch.context() as patch:

        def parse(data: bytes, **_: object) -> None:
            raise ValueError(f"cannot read {data!r}")

        patch.setattr(parsed_text, "parse", parse)
        assert vault.sync().exit_code == 3
    leaks = [place for place, _ in _leaks(vault, (word,))]
    assert leaks == [], leaks
