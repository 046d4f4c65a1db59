"""Runs a model by sentence-transformers on torch: any model of that library, on a GPU where torch sees one."""

import warnings
from collections.abc import Sequence

import numpy as np

from pipelines.embedding.model_config import ModelConfig
from pipelines.embedding.token_batches import pad_batch, plan_batches
from pipelines.embedding.vectors import Vectors
from pipelines.errors import ModelUnavailable


class TorchRuntime:
    """The model with all its modules, in fp32.

    Raises ModelUnavailable where sentence-transformers cannot load it.
    """

    precision = "f32"

    def __init__(self, config: ModelConfig) -> None:
        try:
            import transformers
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ModelUnavailable(
                "the torch runtime needs sentence-transformers: pip install sentence-transformers"
            ) from error
        self._config = config
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries about each other's coming versions
            transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
            try:
                self._model = SentenceTransformer(str(config.folder), local_files_only=True).eval()
            except (OSError, ValueError, ImportError, RuntimeError, KeyError) as error:
                raise ModelUnavailable(f"sentence-transformers cannot load {config.folder}: {error}") from error

    def run(self, sequences: Sequence[list[int]], *, prompt_tokens: int = 0) -> Vectors:
        """Vectors of the sequences of token ids, shape (sequences, dimensions).

        `prompt_tokens` counts the first tokens, special ones included, that a model whose pooling leaves prompts
        out must skip.
        """
        import torch

        vectors = np.zeros((len(sequences), self._config.dimensions), dtype=np.float32)
        for rows in plan_batches([len(sequence) for sequence in sequences]):
            ids, mask = pad_batch(
                [sequences[row] for row in rows], max_length=self._config.max_tokens, pad_id=self._config.pad_id
            )
            features = {
                "input_ids": torch.from_numpy(ids).to(self._model.device),
                "attention_mask": torch.from_numpy(mask).to(self._model.device),
            }
            if prompt_tokens:
                features["prompt_length"] = torch.tensor(prompt_tokens)
            with torch.inference_mode():
                vectors[rows] = self._model(features)["sentence_embedding"].float().cpu().numpy()
        return vectors
