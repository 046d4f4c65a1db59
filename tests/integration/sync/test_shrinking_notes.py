"""B01: a note gets shorter, and nothing of its old tail can be found. B19: notes without text are done, not failed."""

from collections.abc import Callable

from tests.integration.sync.living_vault import LivingVault, long_note, note

Converged = Callable[[LivingVault], None]


def test_a_shortened_note_leaves_nothing_of_its_tail(vault: LivingVault, converged: Converged) -> None:
    whole = long_note("Plan", 6)
    vault.write("plan.md", whole)
    vault.write("other.md", note("Other", "It stays."))
    vault.sync()
    assert len(vault.texts("plan.md")) >= 6
    assert vault.found("Marker5")

    vault.write("plan.md", whole.split("## Section 3")[0])
    report = vault.sync()
    assert report.chunks["removed"] >= 4
    assert not vault.found("Marker5")
    assert vault.found("Marker2") == ["plan.md"]
    assert vault.value("SELECT max(ordinal) + 1 = count(*) FROM knowledge WHERE source = 'plan.md'")

    vault.write("plan.md", "")
    assert vault.sync().exit_code == 0
    assert vault.texts("plan.md") == []

    vault.write("plan.md", "---\ntags: [plan]\n---\n")
    vault.sync()
    assert vault.texts("plan.md") == []
    assert not vault.found("Marker1")
    assert vault.rows("SELECT tags FROM document WHERE source = 'plan.md'") == [(["plan"],)]
    assert vault.value("SELECT count(*) FROM parsed WHERE content LIKE '%%Marker%%'") == 0
    converged(vault)


BLANK = {
    "empty": "",
    "blanks": "\n \n\t\n",
    "headings": "# One\n\n## Two\n",
    "picture": "![[picture.png]]\n",
    "comment": "%% only a comment %%\n",
    "frontmatter": "---\ntitle: x\n---\n",
}


def test_notes_without_text_are_done_at_once_and_for_good(vault: LivingVault) -> None:
    for name, text in BLANK.items():
        vault.write(f"{name}.md", text)
    vault.write("good.md", note("Good", "Text."))
    assert vault.sync().exit_code == 0
    assert "good.md" in vault.sources()
    assert vault.value("SELECT count(*) FROM document_status WHERE state = 'indexed'") == len(BLANK) + 1
    assert vault.value("SELECT count(*) FROM knowledge WHERE btrim(content, E' \n\t') = ''") == 0
    assert vault.sync().folders == ()
