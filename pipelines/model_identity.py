"""Is the model of a generation still the one that its vectors were made with?"""

import numpy as np

from pipelines.embedding.canary import canary_vector, same_space
from pipelines.embedding.protocol import Embedder
from pipelines.errors import ModelChanged
from pipelines.storage import generation_states as states
from pipelines.storage.database import Connection
from pipelines.storage.generations import Generation


def check_model(connection: Connection, generation: Generation, embedder: Embedder) -> None:
    """Embed the canary and compare it with the one stored with the generation. One short request.

    Raises ModelChanged, naming what to do, and whatever `Embedder.embed` raises.
    """
    stored = states.canary(connection, generation.id)
    if stored is None:
        return
    present = canary_vector(embedder)
    if same_space(stored, present):
        return
    if present.shape != stored.shape:
        difference = f"{present.shape[0]} numbers where it gave {stored.shape[0]}"
    else:
        lengths = float(np.linalg.norm(stored)) * float(np.linalg.norm(present))
        cosine = float(np.dot(stored, present)) / lengths if lengths else 0.0
        difference = f"a vector of cosine {cosine:.3f} to the old one"
    where = f" at {generation.address}" if generation.address else ""
    raise ModelChanged(
        f"{generation.model}{where} is not the model that generation {generation.id} was made with: for the same "
        f"sentence it now gives {difference}. Nothing was written, so that the two do not mix. Put the old model back, "
        "or set EMBEDDING_MODEL (and EMBEDDING_REVISION, where only the weights behind the name changed) and sync: "
        "that builds a new index beside this one"
    )
