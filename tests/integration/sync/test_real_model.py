"""A few of the same promises with the real default model instead of the fake."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.integration.sync.living_vault import LivingVault, long_note, note

Converged = Callable[..., None]


@pytest.fixture
def real(vault: LivingVault) -> LivingVault:
    """The same empty vault, indexed by all-MiniLM-L6-v2."""
    model = "sentence-transformers/all-MiniLM-L6-v2"
    return LivingVault(vault.with_settings(embedding_model=model, embedding_fake_log=None), vault.database)


@pytest.mark.slow
def test_edits_moves_and_reverts_with_the_default_model(real: LivingVault, converged: Converged) -> None:
    real.write("guides/faro.md", note("Faro", "El faro guía a los barcos de noche."))
    real.write("guides/backup.md", note("Backup", "The nightly backup is restored with one command."))
    real.write("long.md", long_note("Long", 5))
    report = real.sync()
    assert report.embeddings["computed"] == report.chunks["total"]
    [generation] = report.generations
    assert (generation["state"], generation["missing"]) == ("active", 0)
    lengths = [np.linalg.norm(np.fromstring(row[0][1:-1], sep=",")) for row in real.rows(_VECTORS)]
    assert np.allclose(lengths, 1, atol=1e-3)

    real.move("guides/faro.md", "puerto/faro.md")
    real.write("long.md", long_note("Long", 5).replace("Marker4 opens", "Marker4 closes"))
    report = real.sync()
    assert report.embeddings["computed"] <= 2
    real.write("long.md", long_note("Long", 5))
    assert real.sync().embeddings["computed"] == 0
    assert real.sync().folders == ()
    # The vectors of one text computed alone and in another batch differ in the last bits: compared by direction.
    before = dict(real.rows("SELECT source || ordinal, embedding::text FROM knowledge"))
    real.execute("TRUNCATE embedding, publication, knowledge_g1")
    real.sync()
    after = dict(real.rows("SELECT source || ordinal, embedding::text FROM knowledge"))
    assert before.keys() == after.keys()
    for place, vector in before.items():
        one, other = (np.fromstring(text[1:-1], sep=",") for text in (vector, after[place]))
        assert float(one @ other) >= 0.999


_VECTORS = "SELECT embedding::text FROM knowledge"
