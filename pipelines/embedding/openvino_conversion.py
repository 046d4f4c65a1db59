"""A sentence-transformers encoder -> OpenVINO's own format, once a machine.

A plain BERT is built from its weights in a second. Other encoders are traced through torch and transformers, which take
many seconds and half a gigabyte to load: that runs in a process of its own,
`python -m pipelines.embedding.openvino_conversion ENCODER TARGET MAX_TOKENS PAD_ID`.
"""

import logging
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.embedding.bert_graph import build_bert
from pipelines.embedding.model_config import ModelConfig
from pipelines.errors import ModelUnavailable

FORMAT = 1
"""Raise it when the way of converting changes: the next start converts again."""

AGREEMENT = 0.9999
"""The least cosine between two runtimes of one model. The promise of design.md: "must agree to cosine >= 0.9999"."""

log = logging.getLogger(__name__)


class NotConvertible(ModelUnavailable):
    """This model cannot run under OpenVINO; torch can still run it."""


def converted_model(config: ModelConfig, *, revision: str, home: Path) -> Path:
    """File `model.xml` of the converted encoder, converting it first where this home does not have it.

    Two processes may convert at once: each writes a folder of its own and the first rename wins.
    Raises NotConvertible, also where an earlier try of the same versions failed.
    """
    folder = home / "models" / revision / f"openvino-{FORMAT}"
    model = folder / "model.xml"
    if _is_whole(folder):
        return model
    failure = folder.with_name(f"openvino-{FORMAT}-{version('openvino')}.failed")
    if failure.is_file():
        raise NotConvertible(failure.read_text())
    log.info("converting the model in %s for OpenVINO, once", config.folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="converting-", dir=folder.parent) as temporary:
        target = Path(temporary) / "result"
        target.mkdir()
        reason = None if _built(config, target) else _trace_in_subprocess(config, target)
        if reason is not None:
            message = f"{config.folder} cannot be converted for OpenVINO: {reason}"
            failure.write_text(message)
            raise NotConvertible(message)
        _publish(target, folder)
    if not _is_whole(folder):
        raise ModelUnavailable(f"the model converted into {folder} cannot be read back; check the disk")
    return model


def _is_whole(folder: Path) -> bool:
    """Whether the folder's weights have the length that was written: a power cut can leave a short file behind."""
    try:
        return (folder / "model.bin").stat().st_size == int((folder / "size").read_text())
    except (OSError, ValueError):
        return False


def _publish(result: Path, folder: Path) -> None:
    try:
        result.rename(folder)
    except OSError:
        if _is_whole(folder):
            return  # another process was first
        shutil.rmtree(folder, ignore_errors=True)
        result.rename(folder)


def _built(config: ModelConfig, target: Path) -> bool:
    """Build the encoder without torch where it is a plain BERT."""
    graph = build_bert(config.encoder)
    if graph is not None:
        _save(graph, target)
    return graph is not None


def _save(graph: Any, target: Path) -> None:
    import openvino

    openvino.save_model(graph, target / "model.xml", compress_to_fp16=False)
    (target / "size").write_text(str((target / "model.bin").stat().st_size))


def _trace_in_subprocess(config: ModelConfig, target: Path) -> str | None:
    """Run `trace`; None when it worked, else the reason."""
    package = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", __spec__.name, str(config.encoder), str(target)]
    done = subprocess.run(
        [*command, str(config.max_tokens), str(config.pad_id)],
        env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore", "TRANSFORMERS_VERBOSITY": "error"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return None
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"the conversion ended with code {done.returncode}"


def trace(encoder: Path, target: Path, *, max_tokens: int, pad_id: int) -> None:
    """Trace, save, and compare with torch in fp32. Raises NotConvertible where the two do not agree."""
    import openvino
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(encoder, local_files_only=True, dtype=torch.float32).eval()

    class LastHiddenState(torch.nn.Module):
        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            return model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state  # type: ignore[no-any-return]

    probes = probe_batches(vocabulary=model.config.vocab_size, max_tokens=max_tokens, pad_id=pad_id)
    wrapped = LastHiddenState()
    wrapped.add_module("model", model)
    with torch.no_grad():
        example = {name: torch.from_numpy(array) for name, array in zip(INPUTS, probes[0], strict=True)}
        converted = openvino.convert_model(wrapped, example_input=example)
        converted.reshape(dict.fromkeys(converted.inputs, openvino.PartialShape([-1, -1])))
        expected = [wrapped(*(torch.from_numpy(array) for array in probe)).numpy() for probe in probes]
    _save(converted, target)
    compiled = openvino.Core().compile_model(target / "model.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for probe, reference in zip(probes, expected, strict=True):
        worst = least_cosine(compiled(list(probe))[0], reference, mask=probe[1])
        if worst < AGREEMENT:
            raise NotConvertible(f"OpenVINO and torch agree only to cosine {worst:.6f}")


INPUTS = ("input_ids", "attention_mask")


def probe_batches(*, vocabulary: int, max_tokens: int, pad_id: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Batches of (ids, mask) of short, middling and full-length sequences with padding, the same at every call."""
    random = np.random.default_rng(seed=20260101)
    batches = []
    for longest in sorted({16, min(100, max_tokens), max_tokens}):
        lengths = np.array([longest, max(3, longest // 2), 3])
        mask = (np.arange(longest) < lengths[:, None]).astype(np.int64)
        ids = random.integers(min(1000, vocabulary // 2), vocabulary, size=mask.shape)
        batches.append((np.where(mask == 1, ids, pad_id).astype(np.int64), mask))
    return batches


def least_cosine(one: np.ndarray, other: np.ndarray, *, mask: np.ndarray) -> float:
    """The least cosine between the mean-pooled rows of two hidden states of shape (batch, tokens, width)."""
    weights = mask[:, :, None].astype(np.float32)
    first, second = ((np.asarray(state, dtype=np.float32) * weights).sum(axis=1) for state in (one, other))
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return float(((first * second).sum(axis=1) / norms).min())


def main(arguments: list[str]) -> None:
    """Entry of the conversion's own process."""
    encoder, target, max_tokens, pad_id = arguments
    trace(Path(encoder), Path(target), max_tokens=int(max_tokens), pad_id=int(pad_id))


if __name__ == "__main__":
    main(sys.argv[1:])
