"""Is the model behind a name still the one it was?

A fixed sentence's vector is stored with each generation and compared at start: a tag that points elsewhere, a server
that was changed or weights that were replaced give another vector.
"""

from typing import TYPE_CHECKING

from pipelines.embedding.protocol import Embedder, Role

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CANARY_TEXT = (
    "Vaultline canary: la copia de seguridad se restaura en 15 minutos; "
    "the on-call engineer checks backup, póliza & quota (v2.1) at 07:45."
)

TOLERANCE = 0.001
"""Largest 1 - cosine of one model. Runtimes agree to 0.0001 and hosted providers vary a little from call to call."""


def canary_vector(embedder: Embedder) -> "NDArray[np.float32]":
    """The vector of the canary as a document, shape (dimensions,). Raises as `Embedder.embed`."""
    vectors = embedder.embed([CANARY_TEXT], role=Role.DOCUMENT).vectors
    return vectors.reshape(-1)


def same_space(one: "NDArray[np.float32]", other: "NDArray[np.float32]", *, tolerance: float = TOLERANCE) -> bool:
    """Whether two canary vectors are of one space: equally long, of nearly one direction and of nearly one length."""
    import numpy as np  # 0.1 s, which a sync with nothing to do can spare

    if one.shape != other.shape:
        return False
    lengths = float(np.linalg.norm(one)), float(np.linalg.norm(other))
    if not min(lengths) > 0 or not np.isfinite(lengths).all():
        return False
    cosine = float(np.dot(one.astype(np.float64), other.astype(np.float64))) / (lengths[0] * lengths[1])
    return cosine >= 1 - tolerance and abs(lengths[0] / lengths[1] - 1) <= 10 * tolerance
