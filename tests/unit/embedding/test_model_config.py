"""Reading a sentence-transformers folder without loading the model."""

import json
from pathlib import Path

import pytest

from pipelines.embedding.model_config import read_model_config
from pipelines.errors import ModelUnavailable

BERT = {"model_type": "bert", "hidden_size": 32, "max_position_embeddings": 512, "pad_token_id": 0, "vocab_size": 100}


def model(
    folder: Path,
    *,
    config: dict = BERT,
    pooling: dict | None = None,
    modules: tuple[str, ...] = ("Transformer", "Pooling", "Normalize"),
    files: dict[str, object] | None = None,
) -> Path:
    (folder / "config.json").write_text(json.dumps(config))
    listed = []
    for number, kind in enumerate(modules):
        path = "" if kind == "Transformer" else f"{number}_{kind}"
        (folder / path).mkdir(exist_ok=True)
        listed.append({"idx": number, "path": path, "type": f"sentence_transformers.models.{kind}"})
    (folder / "modules.json").write_text(json.dumps(listed))
    if "Pooling" in modules:
        content = pooling or {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(content))
    for name, content in (files or {}).items():
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def test_the_default_model(minilm_folder: Path) -> None:
    config = read_model_config(minilm_folder)
    assert (config.dimensions, config.max_tokens, config.pooling, config.normalize, config.plain) == (
        384,
        256,
        "mean",
        True,
        True,
    )


@pytest.mark.parametrize(
    ("pooling", "mode"),
    [
        ({"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"embedding_dimension": 32, "pooling_mode": "mean", "include_prompt": True}, "mean"),
        ({"word_embedding_dimension": 32}, "mean"),
        ({"embedding_dimension": 32, "pooling_mode": "lasttoken"}, "lasttoken"),
    ],
)
def test_pooling_in_the_old_and_the_new_format(tmp_path: Path, pooling: dict, mode: str) -> None:
    config = read_model_config(model(tmp_path, pooling=pooling))
    assert config.pooling == mode
    assert config.plain == (mode in ("mean", "cls"))


def test_joined_pooling_is_wider(tmp_path: Path) -> None:
    pooling = {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}
    config = read_model_config(model(tmp_path, pooling=pooling))
    assert (config.pooling, config.dimensions, config.plain) == ("cls+mean", 64, False)


@pytest.mark.parametrize(
    ("config", "files", "tokens"),
    [
        (BERT, {}, 512),
        (BERT, {"sentence_bert_config.json": {"max_seq_length": 128}}, 128),
        (BERT, {"tokenizer_config.json": {"model_max_length": 200}}, 200),
        (BERT, {"tokenizer_config.json": {"model_max_length": 1e30}}, 512),
        ({**BERT, "model_type": "mpnet", "max_position_embeddings": 514, "pad_token_id": 1}, {}, 512),
        ({**BERT, "model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}, {}, 512),
        ({"model_type": "t5", "d_model": 32}, {}, 512),
        (BERT, {"tokenizer.json": '{"truncation": {"max_length": 64}}'}, 512),
    ],
)
def test_window_is_the_smallest_limit_that_is_stated(
    tmp_path: Path, config: dict, files: dict[str, object], tokens: int
) -> None:
    assert read_model_config(model(tmp_path, config=config, files=files)).max_tokens == tokens


@pytest.mark.parametrize(
    ("content", "prefixes"),
    [
        ({"prompts": {"query": "query: ", "document": ""}}, ("query: ", "")),
        ({"prompts": {"query": "q: ", "passage": "p: "}}, ("q: ", "p: ")),
        ({"prompts": {"search_query": "a: ", "search_document": "b: "}}, ("a: ", "b: ")),
        ({"prompts": {"sts": "x: "}, "default_prompt_name": "sts"}, ("x: ", "x: ")),
        ({"prompts": {}}, ("", "")),
        ({}, ("", "")),
    ],
)
def test_prompts_become_prefixes(tmp_path: Path, content: dict, prefixes: tuple[str, str]) -> None:
    config = read_model_config(model(tmp_path, files={"config_sentence_transformers.json": content}))
    assert (config.query_prefix, config.document_prefix) == prefixes


def test_prompt_that_is_not_pooled_goes_through_sentence_transformers(tmp_path: Path) -> None:
    pooling = {"embedding_dimension": 32, "pooling_mode": "mean", "include_prompt": False}
    files = {"config_sentence_transformers.json": {"prompts": {"query": "Represent: "}}}
    config = read_model_config(model(tmp_path, pooling=pooling, files=files))
    assert not config.plain
    assert config.pooling != "mean"


def test_dense_layer_decides_the_dimensions(tmp_path: Path) -> None:
    folder = model(tmp_path, modules=("Transformer", "Pooling", "Dense"))
    (folder / "2_Dense" / "config.json").write_text('{"in_features": 32, "out_features": 8}')
    config = read_model_config(folder)
    assert (config.dimensions, config.plain, config.normalize) == (8, False, False)


def test_model_with_code_of_its_own_is_not_converted(tmp_path: Path) -> None:
    config = {**BERT, "auto_map": {"AutoModel": "modeling.Own"}}
    assert not read_model_config(model(tmp_path, config=config)).plain


def test_no_transformer_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="StaticEmbedding"):
        read_model_config(model(tmp_path, modules=("StaticEmbedding",)))


@pytest.mark.parametrize("name", ["config.json", "modules.json", "1_Pooling/config.json"])
def test_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    model(tmp_path)
    (tmp_path / name).write_text("{")
    with pytest.raises(ModelUnavailable, match=name):
        read_model_config(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "1_Pooling/config.json"])
def test_missing_file_is_named(tmp_path: Path, name: str) -> None:
    model(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ModelUnavailable, match=name):
        read_model_config(tmp_path)


def test_no_dimensions_anywhere(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="how many numbers"):
        read_model_config(model(tmp_path, config={"model_type": "bert"}, modules=("Transformer",)))
