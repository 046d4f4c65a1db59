"""Every real-world vault beside the checkout: one sync ends 0 or 3, a second one does nothing."""

from pathlib import Path

import pytest

from pipelines.sync import sync
from tests.integration.sync.living_vault import LivingVault

VAULTS = (
    "encodings",
    "glossary_en_es",
    "handbook",
    "help_vault",
    "markdown_edge",
    "obsidian_export/input",
    "pdfs",
    "runbooks",
)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", VAULTS)
def test_a_real_vault(vault: LivingVault, shared_data: Path, name: str) -> None:
    settings = vault.with_settings(vault_path=shared_data / name, ocr_engine="off")
    report = sync(settings)
    assert report.exit_code in (0, 3)
    assert report.documents["added"] > 0
    assert report.documents["quarantined"] * 2 < max(8, report.documents["seen"]), vault.quarantined()
    assert vault.value("SELECT count(*) FROM knowledge WHERE embedding IS NULL") == 0
    again = sync(settings)
    assert again.folders == ()
    assert again.documents["unchanged"] + again.documents["excluded"] == again.documents["seen"]
