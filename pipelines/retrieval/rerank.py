"""A second look at the first results by a cross-encoder, where a model is configured.

A cross-encoder reads question and passage together, which no index can prepare: it costs tens of milliseconds a
passage, so it is off unless RERANK_MODEL names one (a sentence-transformers name or a folder).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from pipelines.errors import ModelUnavailable
from pipelines.retrieval.fusion import Scored

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


class Reranker:
    """Loads the cross-encoder at the first question and calls it from one thread at a time."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._lock = Lock()
        self._encoder: CrossEncoder | None = None

    def rerank(self, question: str, ranked: Sequence[Scored], contents: Sequence[str]) -> list[Scored]:
        """The same results in the cross-encoder's order, with its judgement (0 to 1) as their score.

        `contents` are the passages of `ranked`, in its order. Raises ModelUnavailable.
        """
        if not ranked:
            return []
        with self._lock:
            raw = self._load().predict([(question, content) for content in contents], show_progress_bar=False)
        scores = [_unit(float(value)) for value in raw]
        judged = [replace(item, score=score) for item, score in zip(ranked, scores, strict=True)]
        return sorted(judged, key=lambda item: -item.score)

    def _load(self) -> "CrossEncoder":
        if self._encoder is None:
            from sentence_transformers import CrossEncoder

            try:
                self._encoder = CrossEncoder(self.model)
            except (OSError, ValueError) as error:
                raise ModelUnavailable(
                    f"RERANK_MODEL={self.model} cannot be loaded: {type(error).__name__}; "
                    "give the name of a cross-encoder, a folder with one, or unset it"
                ) from error
        return self._encoder


def _unit(value: float) -> float:
    """Models of one label end in a logistic or do not: what is already between 0 and 1 stays."""
    return value if 0.0 <= value <= 1.0 else 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, value))))
