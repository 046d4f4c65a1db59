"""Runs a converted encoder under OpenVINO on the CPU."""

import hashlib
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pipelines.embedding.model_config import ModelConfig
from pipelines.embedding.openvino_conversion import AGREEMENT, converted_model, least_cosine, probe_batches
from pipelines.embedding.token_batches import pad_batch, plan_batches
from pipelines.embedding.vectors import Vectors, normalized
from pipelines.errors import ModelUnavailable

if TYPE_CHECKING:
    import openvino

log = logging.getLogger(__name__)


class OpenVinoRuntime:
    """An encoder compiled for this machine. Two streams keep two cores busy; pooling is done here, in float32.

    Raises NotConvertible (a ModelUnavailable) where OpenVINO cannot run the model.
    """

    def __init__(self, config: ModelConfig, *, revision: str, home: Path) -> None:
        import openvino

        self._config = config
        file = converted_model(config, revision=revision, home=home)
        core = openvino.Core()
        try:
            model = core.read_model(file)
        except RuntimeError as error:
            raise ModelUnavailable(f"{file} cannot be read ({error}); delete {file.parent} to convert again") from error
        self.precision = _precision(core, model, config, memory=file.parent)
        settings = {"INFERENCE_PRECISION_HINT": self.precision, "NUM_STREAMS": _streams()}
        self._compiled = core.compile_model(model, "CPU", settings)
        self._queue = openvino.AsyncInferQueue(
            self._compiled, self._compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
        )
        self._queue.set_callback(self._pool)
        self._vectors: Vectors = np.zeros((0, config.dimensions), dtype=np.float32)

    def run(self, sequences: Sequence[list[int]], *, prompt_tokens: int = 0) -> Vectors:
        """Vectors of the sequences of token ids, shape (sequences, dimensions), normalised where the model says so."""
        self._vectors = np.zeros((len(sequences), self._config.dimensions), dtype=np.float32)
        for rows in plan_batches([len(sequence) for sequence in sequences]):
            ids, mask = pad_batch(
                [sequences[row] for row in rows], max_length=self._config.max_tokens, pad_id=self._config.pad_id
            )
            self._queue.start_async([ids, mask], (rows, mask))
        self._queue.wait_all()
        return normalized(self._vectors) if self._config.normalize else self._vectors

    def _pool(self, request: "openvino.InferRequest", batch: tuple[list[int], NDArray[np.int64]]) -> None:
        rows, mask = batch
        states = request.get_output_tensor(0).data.astype(np.float32, copy=False)
        if self._config.pooling == "cls":
            self._vectors[rows] = states[:, 0]
            return
        weights = mask.astype(np.float32)
        sums = np.einsum("btd,bt->bd", states, weights)
        self._vectors[rows] = sums / weights.sum(axis=1, keepdims=True)


def _streams() -> int:
    """Two on small machines, then one for every four cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, max(2, cores // 4))


def _precision(core: "openvino.Core", model: Any, config: ModelConfig, *, memory: Path) -> str:
    """bf16 where this processor computes in it and it agrees with f32 for this model, else f32.

    Measured once for every processor and version of OpenVINO, and remembered beside the model.
    """
    import openvino

    if "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        return "f32"
    machine = f"{core.get_property('CPU', 'FULL_DEVICE_NAME')}|{openvino.__version__}"
    file = memory / f"precision-{hashlib.blake2b(machine.encode(), digest_size=8).hexdigest()}.json"
    try:
        remembered = json.loads(file.read_text())["precision"]
    except (OSError, ValueError, KeyError, TypeError):
        remembered = None
    if remembered in ("bf16", "f32"):
        return str(remembered)
    worst = _bf16_agreement(core, model, config)
    precision = "bf16" if worst >= AGREEMENT else "f32"
    log.info("%s: bf16 agrees with f32 to cosine %.6f, using %s", config.folder, worst, precision)
    try:
        temporary = file.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps({"machine": machine, "cosine": worst, "precision": precision}))
        temporary.replace(file)
    except OSError:
        log.info("%s cannot be written: the precision is measured again at the next start", file)
    return precision


def _bf16_agreement(core: "openvino.Core", model: Any, config: ModelConfig) -> float:
    vocabulary = json.loads((config.encoder / "config.json").read_bytes()).get("vocab_size", 1_000)
    probes = probe_batches(vocabulary=vocabulary, max_tokens=config.max_tokens, pad_id=config.pad_id)
    results = []
    for precision in ("bf16", "f32"):
        compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": precision})
        results.append([compiled(list(probe))[0].copy() for probe in probes])
    return min(
        least_cosine(one, other, mask=mask)
        for one, other, (_, mask) in zip(results[0], results[1], probes, strict=True)
    )
