"""B25: what an edit makes again, and what it must not."""

from collections.abc import Callable

import pytest

from tests.integration.sync.living_vault import LivingVault, long_note, note

Converged = Callable[..., None]
SECTIONS = 40


@pytest.fixture
def forty(vault: LivingVault) -> LivingVault:
    """One note of forty chunks, indexed."""
    vault.write("long.md", "---\ntags: [alpha]\n---\n" + long_note("Long", SECTIONS))
    vault.write("short.md", note("Short", "Something else."))
    vault.sync()
    assert (
        vault.value("SELECT count(*) FROM chunk c JOIN document d ON d.id = document_id WHERE source = 'long.md'") >= 40
    )
    return vault


def _edit(vault: LivingVault, old: str, new: str) -> int:
    """Replace a text in the long note and sync; returns how many texts were embedded."""
    before = vault.calls()
    text = vault.path("long.md").read_text()
    assert old in text
    vault.write("long.md", text.replace(old, new, 1))
    vault.sync()
    return vault.calls() - before


def test_small_edits_cost_little(forty: LivingVault, converged: Converged) -> None:
    """One note through all the edits: a clean build compares the whole at the end."""
    lines = dict(forty.rows("SELECT ordinal, line_start FROM knowledge WHERE source = 'long.md'"))
    rows = forty.rows("SELECT id, text_hash FROM knowledge_g1 ORDER BY id")

    assert _edit(forty, "tags: [alpha]", "tags: [alpha, beta]") == 0
    assert forty.value("SELECT count(*) FROM knowledge WHERE source = 'long.md' AND NOT 'beta' = ANY(tags)") == 0
    assert forty.rows("SELECT id, text_hash FROM knowledge_g1 ORDER BY id") == rows, "rows are updated, not replaced"

    assert 1 <= _edit(forty, "# Long\n", "# Long\n\nA paragraph on top of all the others.\n") <= 3
    moved = dict(forty.rows("SELECT ordinal, line_start FROM knowledge WHERE source = 'long.md'"))
    assert moved[max(moved)] == lines[max(lines)] + 2, "places are right although the vectors were reused"

    assert 1 <= _edit(forty, f"Marker{SECTIONS} opens", f"Marker{SECTIONS} begins") <= 2

    before = forty.rows("SELECT xmin::text, ctid::text FROM knowledge_g1 ORDER BY id")
    report = forty.sync()
    assert report.folders == ()
    assert report.embeddings["computed"] == 0
    assert forty.rows("SELECT xmin::text, ctid::text FROM knowledge_g1 ORDER BY id") == before, (
        "no row is written again"
    )

    assert _edit(forty, "## Section 3\n", "## Section three\n") <= 2
    assert "Long > Section three" in [row[0] for row in forty.rows("SELECT section FROM knowledge")]
    converged(forty)


def test_other_chunk_sizes_cut_everything_again_and_reuse_what_stayed(forty: LivingVault, converged: Converged) -> None:
    before = forty.calls()
    smaller = forty.with_settings(chunk_max_tokens=128, chunk_target_tokens=128)
    report = forty.sync(settings=smaller)
    assert report.parsed["computed"] == 0
    assert report.chunks["added"] > SECTIONS
    assert forty.value("SELECT max(tokens) FROM chunk") <= 128
    assert forty.texts("short.md") == ["# Short\n\nSomething else."]
    assert forty.embedded()[forty.value(_HASH, "short.md")] == 1, "an unchanged text keeps its vector"
    assert forty.calls() > before
    converged(forty, smaller)

    between = forty.calls()
    forty.sync()
    assert forty.calls() == between, "going back costs nothing: the vectors are still there"


_HASH = "SELECT text_hash FROM chunk c JOIN document d ON d.id = c.document_id WHERE source = %s"


def test_another_describer_refreshes_metadata_without_new_vectors(
    vault: LivingVault, converged: Converged, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("nota.md", "---\nowner: ana\n---\n" + note("1", "2 3 4"))
    vault.sync()
    calls = vault.calls()
    spanish = vault.with_settings(default_locale="es")
    report = vault.sync(settings=spanish)
    assert report.folders == ("_root",)
    assert vault.rows("SELECT locale FROM knowledge") == [("es",)]
    monkeypatch.setattr("pipelines.recipe._DESCRIBER_VERSION", 99)
    report = vault.sync(settings=spanish)
    assert report.folders == ("_root",)
    assert report.chunks["added"] == report.chunks["removed"] == 0
    assert vault.calls() == calls
    converged(vault, spanish)


def test_a_new_parser_reads_again_and_embeds_only_what_differs(
    vault: LivingVault, converged: Converged, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("nota.md", note("Nota", "Un texto."))
    vault.write("plain.txt", "Plain text.\n")
    vault.sync()
    calls = vault.calls()
    monkeypatch.setitem(__import__("pipelines.parsing.parser", fromlist=["x"]).VERSIONS, "markdown", 99)
    report = vault.sync()
    assert (report.parsed["computed"], report.documents["changed"]) == (1, 0)
    assert vault.calls() == calls
    assert vault.value("SELECT count(*) FROM parsed") == 2, "the text of the older parser is gone"
    converged(vault)


def test_a_reverted_edit_is_wholly_undone(vault: LivingVault, converged: Converged) -> None:
    old = "---\ndate: 2024-05-01\n---\n" + note("Nota", "Primera versión.")
    vault.write("nota.md", old)
    vault.sync()
    vault.write("nota.md", note("Nota", "Segunda versión."))
    vault.sync()
    calls = vault.calls()
    vault.write("nota.md", old)
    vault.sync()
    assert vault.calls() == calls
    assert vault.value("SELECT modified_at::date::text FROM knowledge") == "2024-05-01"
    converged(vault)
