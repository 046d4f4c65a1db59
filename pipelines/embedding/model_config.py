"""What a sentence-transformers folder says about its model, read without loading it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.errors import ModelUnavailable

LEGACY_POOLING = {
    # sentence-transformers before 5.5 wrote one flag a mode.
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}

OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet")
"""Model types whose first positions belong to the padding index: 514 positions hold 512 tokens."""

WIDTHS = ("hidden_size", "dim", "d_model")
"""What model types call the numbers of a token's state."""

UNLIMITED = 1_000_000
"""transformers writes a huge number where a tokenizer has no limit."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A local model's shape. `plain` says that it is one encoder with mean or cls pooling and, perhaps, normalisation.

    Models that are not plain go through sentence-transformers itself. `encoder` is the folder of the transformer.
    """

    folder: Path
    encoder: Path
    dimensions: int
    max_tokens: int
    pooling: str
    normalize: bool
    query_prefix: str
    document_prefix: str
    pad_id: int
    lower_case: bool
    plain: bool


def read_model_config(folder: Path) -> ModelConfig:
    """Read the small JSON files of a sentence-transformers model.

    Raises ModelUnavailable where a file is missing or damaged, or the model's first module is no transformer.
    """
    modules = [(_kind(module), folder / module["path"]) for module in _modules(folder)]
    kinds = [kind for kind, _ in modules]
    if not kinds or kinds[0] != "Transformer":
        raise ModelUnavailable(
            f"{folder} does not start with a Transformer but with {kinds[0] if kinds else 'nothing'}: not supported"
        )
    encoder = modules[0][1]
    pooling_folder = next((path for kind, path in modules if kind == "Pooling"), None)
    pooling, include_prompt, dimensions = _pooling(pooling_folder)
    config = _read(encoder / "config.json", required=True)
    for kind, path in modules:
        if kind == "Dense":
            dimensions = _read(path / "config.json", required=True).get("out_features")
    dimensions = dimensions or next((config[name] for name in WIDTHS if name in config), None)
    if not isinstance(dimensions, int):
        raise ModelUnavailable(f"{folder} does not say how many numbers its vectors have")
    query_prefix, document_prefix = _prefixes(_read(folder / "config_sentence_transformers.json"))
    plain = (
        set(kinds) <= {"Transformer", "Pooling", "Normalize"}
        and pooling in ("mean", "cls")
        and (include_prompt or not (query_prefix or document_prefix))
        and "auto_map" not in config  # code of its own: only sentence-transformers may decide to run it
    )
    return ModelConfig(
        folder=folder,
        encoder=encoder,
        dimensions=dimensions,
        max_tokens=_max_tokens(encoder, config),
        pooling=pooling if include_prompt else f"{pooling} without prompt",
        normalize="Normalize" in kinds,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        pad_id=config.get("pad_token_id") or 0,
        lower_case=bool(_read(encoder / "sentence_bert_config.json").get("do_lower_case")),
        plain=plain,
    )


def _read(file: Path, *, required: bool = False) -> dict[str, Any]:
    content = _read_json(file, required=required)
    if content is not None and not isinstance(content, dict):
        raise ModelUnavailable(f"{file} is damaged: it does not hold a JSON object")
    return content or {}


def _read_json(file: Path, *, required: bool = False) -> Any:
    try:
        return json.loads(file.read_bytes())
    except FileNotFoundError:
        if required:
            raise ModelUnavailable(f"the model is incomplete: {file} is missing") from None
        return None
    except (OSError, ValueError) as error:
        raise ModelUnavailable(f"{file} cannot be read: {type(error).__name__}") from error


def _modules(folder: Path) -> list[dict[str, Any]]:
    """The modules in order; a folder without modules.json is a bare transformer, pooled by mean."""
    modules = _read_json(folder / "modules.json")
    if modules is None:
        return [{"type": "Transformer", "path": ""}]
    if not isinstance(modules, list) or not all(isinstance(module, dict) and "type" in module for module in modules):
        raise ModelUnavailable(f"{folder / 'modules.json'} is damaged: it does not hold a list of modules")
    return [{"path": "", **module} for module in modules]


def _kind(module: dict[str, Any]) -> str:
    return str(module["type"]).rpartition(".")[2]


def _pooling(folder: Path | None) -> tuple[str, bool, int | None]:
    """(mode or modes joined by +, whether prompts are pooled, numbers or None)."""
    if folder is None:
        return "mean", True, None
    config = _read(folder / "config.json", required=True)
    modes = config.get("pooling_mode") or [mode for flag, mode in LEGACY_POOLING.items() if config.get(flag)] or "mean"
    joined = modes if isinstance(modes, str) else "+".join(modes)
    dimensions = config.get("embedding_dimension") or config.get("word_embedding_dimension")
    width = len(joined.split("+"))
    return joined, bool(config.get("include_prompt", True)), dimensions * width if dimensions else None


def _max_tokens(encoder: Path, config: dict[str, Any]) -> int:
    """The smallest of the limits the model states. What tokenizer.json truncates at is not one of them."""
    positions = config.get("max_position_embeddings")
    if positions and config.get("model_type") in OFFSET_POSITIONS:
        positions -= (config.get("pad_token_id") or 0) + 1
    stated = [
        _read(encoder / "sentence_bert_config.json").get("max_seq_length"),
        _read(encoder / "tokenizer_config.json").get("model_max_length"),
        positions,
    ]
    limits = [int(limit) for limit in stated if isinstance(limit, int | float) and 0 < limit < UNLIMITED]
    return min(limits, default=512)


def _prefixes(config: dict[str, Any]) -> tuple[str, str]:
    """(query prefix, document prefix) from the prompts of config_sentence_transformers.json."""
    prompts = config.get("prompts") or {}
    default = prompts.get(config.get("default_prompt_name") or "", "")
    query = next((prompts[name] for name in ("query", "search_query") if prompts.get(name)), default)
    document = next(
        (prompts[name] for name in ("document", "passage", "corpus", "search_document") if prompts.get(name)), default
    )
    return query or "", document or ""
