"""Promise 5: one bad file is one bad file: quarantined with a reason, remembered, tried again when it changed."""

from collections.abc import Callable
from typing import Any

import pytest

from pipelines.assets import chunks, parsed_text
from pipelines.parsing import parser
from pipelines.storage import documents
from tests.integration.sync.living_vault import LivingVault, note

Converged = Callable[[LivingVault], None]


def _fail_on(word: bytes, patch: pytest.MonkeyPatch, module: Any, name: str) -> list[str]:
    """A fault of our own in one document; returns the list of its calls."""
    real, calls = getattr(module, name), []

    def faulty(given: Any, **options: Any) -> Any:
        if word in (given if isinstance(given, bytes) else given.text.encode()):
            calls.append(name)
            raise KeyError("something that nobody thought of")
        return real(given, **options)

    patch.setattr(module, name, faulty)
    return calls


@pytest.mark.parametrize(("module", "name"), [(parsed_text, "parse"), (chunks, "chunk")])
def test_a_fault_costs_one_document_and_is_remembered(
    vault: LivingVault, converged: Converged, module: Any, name: str
) -> None:
    """Of two copies both are named, and both are free again when the code has changed."""
    for source in ("bad.md", "copy.md"):
        vault.write(source, note("Bad", "poison in the text"))
    for number in range(3):
        vault.write(f"good{number}.md", note(f"Good {number}", "Text."))
    with pytest.MonkeyPatch.context() as patch:
        calls = _fail_on(b"poison", patch, module, name)
        report = vault.sync()
        assert report.exit_code == 3
        assert vault.sources() == ["good0.md", "good1.md", "good2.md"]
        assert set(vault.quarantined()) == {"bad.md", "copy.md"}
        assert all("poison" not in reason and "KeyError" in reason for reason in vault.quarantined().values())
        assert len(calls) == 2
        again = vault.sync()
        assert (again.folders, again.exit_code) == ((), 3)
        assert len(calls) == 2, "not tried again before something changes"
        with vault.database.connect() as connection:
            assert documents.retry_quarantined(connection, ["copy.md"]) == ["copy.md"]
        vault.sync()
        assert len(calls) == 3
        vault.write("bad.md", note("Bad", "poison, edited"))
        vault.sync()
        assert len(calls) == 4
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(parser.VERSIONS, "markdown", 99)
        vault.write("bad.md", note("Bad", "poison in the text"))
        assert vault.sync().exit_code == 0, "a new parser frees every copy, also those that it need not read again"
        assert len(vault.sources()) == 5
        converged(vault)


def test_the_last_good_version_serves_until_the_file_is_repaired(vault: LivingVault, converged: Converged) -> None:
    vault.write("n.md", note("N", "The good version."))
    vault.sync()
    vault.write("n.md", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    assert vault.sync().exit_code == 3
    assert vault.texts("n.md") == ["# N\n\nThe good version."]
    vault.move("n.md", "moved/n.md")
    assert vault.sync().exit_code == 3
    assert vault.sources() == ["moved/n.md"], "it is cited under its new name"
    assert set(vault.quarantined()) == {"moved/n.md"}
    vault.write("moved/n.md", note("N", "The repaired version."))
    assert vault.sync().exit_code == 0
    assert vault.texts("moved/n.md") == ["# N\n\nThe repaired version."]
    converged(vault)
