"""The embedder of models that run on this machine."""

import logging
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Protocol

import numpy as np

from pipelines.embedding.families import family_of
from pipelines.embedding.model_config import ModelConfig, read_model_config
from pipelines.embedding.model_files import find_model, local_folders, verify_weights, weights_revision
from pipelines.embedding.openvino_conversion import NotConvertible
from pipelines.embedding.protocol import Embeddings, ModelSpec, Role
from pipelines.embedding.tokenizing import TextTokenizer
from pipelines.embedding.vectors import BLANK, Vectors, empty_embeddings, is_blank, mean_by_owner, normalized, validated
from pipelines.errors import ModelChanged, ModelUnavailable
from pipelines.settings import Settings

PROVIDER = "sentence-transformers"

BATCH_CHARACTERS = 100_000
"""Texts handed over at once: about 25,000 tokens, one to six seconds of work on two cores."""

log = logging.getLogger(__name__)


class Runtime(Protocol):
    """Token ids -> vectors."""

    @property
    def precision(self) -> str: ...

    def run(self, sequences: Sequence[list[int]], *, prompt_tokens: int = 0) -> Vectors: ...


class LocalEmbedder:
    """A sentence-transformers model on this machine.

    Nothing heavy is loaded before the first `embed`; `spec` and `count_tokens` need small files only. Texts longer
    than the model's window are embedded by windows: the mean of their vectors weighted by tokens, at unit length
    where the model normalises.
    """

    address = None

    def __init__(self, spec: ModelSpec, config: ModelConfig, settings: Settings) -> None:
        self._spec = spec
        self._config = config
        self._settings = settings
        self._runtime: Runtime | None = None
        self._turn = Lock()  # the runtime has one batch's vectors at a time; who comes while it is loaded waits

    @property
    def spec(self) -> ModelSpec:
        """Everything that changes a vector of this model."""
        return self._spec

    @property
    def precision(self) -> str:
        """What the runtime computes in, `bf16` or `f32`; loads the runtime."""
        with self._turn:
            return self._loaded_runtime().precision

    def embed(self, texts: Sequence[str], *, role: Role) -> Embeddings:
        """Embed texts. Raises ModelUnavailable, InvalidVectors."""
        if not texts:
            return empty_embeddings(self.spec)
        kept = [index for index, text in enumerate(texts) if not is_blank(text)]
        prefix = self._prefix(role)
        windows = self._tokenizer.windows([texts[index] for index in kept], prefix=prefix)
        owners = [kept[window.text] for window in windows]
        lengths = [len(window.ids) for window in windows]
        vectors = self._run([window.ids for window in windows], prefix=prefix)
        means = mean_by_owner(vectors, owners=owners, weights=lengths, count=len(texts))
        counts = np.bincount(np.asarray(owners, dtype=np.int64), minlength=len(texts))
        several = np.flatnonzero(counts > 1)
        if self.spec.normalize and several.size:
            means[several] = normalized(means[several])
        embeddings = Embeddings(
            vectors=means,
            tokens=np.bincount(np.asarray(owners, dtype=np.int64), weights=lengths, minlength=len(texts)).astype(
                np.int64
            ),
            windowed=tuple(several.tolist()),
            refused=tuple((index, BLANK) for index in sorted(set(range(len(texts))) - set(kept))),
        )
        return validated(embeddings, self.spec, texts=len(texts))

    def embed_batches(self, texts: Sequence[str], *, role: Role) -> Iterator[tuple[list[int], Embeddings]]:
        """Embed in batches of a few seconds' work, each with the indices of its texts."""
        batch: list[int] = []
        characters = 0
        for index, text in enumerate(texts):
            batch.append(index)
            characters += len(text)
            if characters >= BATCH_CHARACTERS:
                yield batch, self.embed([texts[index] for index in batch], role=role)
                batch, characters = [], 0
        if batch:
            yield batch, self.embed([texts[index] for index in batch], role=role)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens the model reads for each text as a document: with the document prefix and special tokens."""
        return self._tokenizer.count(texts, prefix=self.spec.document_prefix)

    def close(self) -> None:
        """Drop the runtime; the next `embed` loads it again."""
        self._runtime = None

    @cached_property
    def _tokenizer(self) -> TextTokenizer:
        file = tokenizer_file(self._config, home=self._settings.vaultline_home, revision=self.spec.revision)
        return TextTokenizer(file, max_tokens=self.spec.max_tokens, lower_case=self._config.lower_case)

    def _prefix(self, role: Role) -> str:
        return self.spec.query_prefix if role is Role.QUERY else self.spec.document_prefix

    def _run(self, sequences: list[list[int]], *, prefix: str) -> Vectors:
        if not sequences:
            return np.zeros((0, self.spec.dimensions), dtype=np.float32)
        prompt_tokens = self._tokenizer.prefix_tokens(prefix) if prefix and not self._config.plain else 0
        with self._turn:
            return self._loaded_runtime().run(sequences, prompt_tokens=prompt_tokens)

    def _loaded_runtime(self) -> Runtime:
        if self._runtime is None:
            self._runtime = load_runtime(self._config, revision=self.spec.revision, settings=self._settings)
        return self._runtime


def open_local(model: str, settings: Settings) -> LocalEmbedder:
    """The embedder of `sentence-transformers/MODEL` as its files are now. Raises ModelUnavailable."""
    folder = find_model(model, settings)
    revision = weights_revision(folder, settings)
    verify_weights(model, folder, revision)
    config = read_model_config(folder)
    known = family_of(Path(model).name)  # e5, nomic and bge were published without prompts in their configuration
    asked = settings.embedding_query_prefix, settings.embedding_document_prefix
    own = (config.query_prefix, config.document_prefix)
    family = (known.query_prefix, known.document_prefix)
    query, document = (
        wish if wish is not None else value for wish, value in zip(asked, own if any(own) else family, strict=True)
    )
    spec = ModelSpec(
        provider=PROVIDER,
        model=model,
        revision=revision,
        dimensions=config.dimensions,
        max_tokens=config.max_tokens,
        query_prefix=query,
        document_prefix=document,
        pooling=config.pooling,
        normalize=config.normalize,
    )
    return LocalEmbedder(spec, config, settings)


def reopen_local(spec: ModelSpec, settings: Settings) -> LocalEmbedder:
    """The embedder of a stored generation: the files whose weights hash to what the generation remembers.

    Raises ModelUnavailable where there are no files, ModelChanged where there are only others.
    """
    folders = list(local_folders(spec.model, settings)) or [find_model(spec.model, settings)]
    for folder in folders:
        if weights_revision(folder, settings) == spec.revision:
            return LocalEmbedder(spec, _like(spec, read_model_config(folder)), settings)
    raise ModelChanged(
        f"the weights of {spec.name} in {', '.join(map(str, folders))} are not those this generation was made with "
        f"(sha256 {spec.revision}). Put the old files back or run: vaultline generation build"
    )


def _like(spec: ModelSpec, config: ModelConfig) -> ModelConfig:
    """Refuse a folder whose configuration was edited under unchanged weights."""
    ours = (spec.dimensions, spec.max_tokens, spec.pooling, spec.normalize)
    theirs = (config.dimensions, config.max_tokens, config.pooling, config.normalize)
    if ours != theirs:
        raise ModelChanged(
            f"the configuration of {spec.name} in {config.folder} changed: (dimensions, tokens, pooling, normalised) "
            f"were {ours} and are {theirs}. Put the old files back or run: vaultline generation build"
        )
    return config


def load_runtime(config: ModelConfig, *, revision: str, settings: Settings) -> Runtime:
    """OpenVINO where it is installed and can run the model, else torch; or what EMBEDDING_RUNTIME says."""
    from pipelines.embedding.runtime_torch import TorchRuntime

    wish = settings.embedding_runtime
    if wish == "torch":
        return TorchRuntime(config)
    usable = config.plain and find_spec("openvino") is not None
    if wish == "openvino" and not usable:
        reason = (
            "openvino is not installed" if config.plain else "it has more than an encoder, pooling and normalisation"
        )
        raise ModelUnavailable(f"EMBEDDING_RUNTIME=openvino cannot run {config.folder}: {reason}; use auto or torch")
    if not usable or (wish == "auto" and _torch_sees_gpu()):
        return TorchRuntime(config)
    from pipelines.embedding.runtime_openvino import OpenVinoRuntime

    try:
        return OpenVinoRuntime(config, revision=revision, home=settings.vaultline_home)
    except NotConvertible as error:
        if wish == "openvino":
            raise
        log.warning("%s; using torch", error)
        return TorchRuntime(config)


def _torch_sees_gpu() -> bool:
    """Ask torch only where the system has a GPU's device: importing it takes seconds."""
    if not any(Path(device).exists() for device in ("/dev/nvidia0", "/dev/kfd", "/dev/dxg")):
        return False
    import torch

    return bool(torch.cuda.is_available())


def tokenizer_file(config: ModelConfig, *, home: Path, revision: str) -> Path:
    """tokenizer.json of the model; made once by transformers for old models that have only a vocabulary."""
    shipped = config.encoder / "tokenizer.json"
    if shipped.is_file():
        return shipped
    made = home / "models" / revision / "tokenizer.json"
    if not made.is_file():
        from transformers import AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(config.encoder, local_files_only=True, use_fast=True)
            made.parent.mkdir(parents=True, exist_ok=True)
            temporary = made.with_suffix(".new")
            tokenizer.backend_tokenizer.save(str(temporary))
            temporary.replace(made)
        except (OSError, ValueError, AttributeError) as error:
            raise ModelUnavailable(f"no tokenizer can be made for the model in {config.encoder}: {error}") from error
    return made
