"""A BERT encoder as an OpenVINO graph, built from its weights without torch.

Most small sentence encoders, the default model among them, are BERT. Building the graph from model.safetensors takes a
second; tracing it through torch and transformers takes ten and half a gigabyte. What is built here is the encoder of
Devlin et al. 2018 (arXiv:1810.04805) with the names and the order of operations of transformers' BertModel. Any model
that differs in a setting or in the name of one weight is left to tracing.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = dict[str, NDArray[np.float32]]

UNUSED = ("pooler.dense.weight", "pooler.dense.bias", "embeddings.position_ids")
"""Weights that the last hidden state does not depend on."""

LAYER = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm",
)
EMBEDDINGS = ("word_embeddings", "position_embeddings", "token_type_embeddings")


def build_bert(encoder: Path) -> Any | None:
    """The graph (input_ids, attention_mask) -> last_hidden_state, or None where the encoder is not such a BERT."""
    config = json.loads((encoder / "config.json").read_bytes())
    if not _is_plain(config) or not (encoder / "model.safetensors").is_file():
        return None
    weights = _weights(encoder / "model.safetensors")
    if set(weights) - set(UNUSED) != _expected(config["num_hidden_layers"]):
        return None
    return _graph(config, weights)


def _is_plain(config: dict[str, Any]) -> bool:
    return (
        config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not config.get("is_decoder")
        and not config.get("add_cross_attention")
    )


def _weights(file: Path) -> Weights:
    from safetensors.numpy import load_file

    return {name.removeprefix("bert."): tensor for name, tensor in load_file(file).items()}


def _expected(layers: int) -> set[str]:
    names = {f"embeddings.{table}.weight" for table in EMBEDDINGS}
    parts = ["embeddings.LayerNorm", *(f"encoder.layer.{layer}.{part}" for layer in range(layers) for part in LAYER)]
    return names | {f"{part}.{kind}" for part in parts for kind in ("weight", "bias")}


def _graph(config: dict[str, Any], weights: Weights) -> Any:
    import openvino
    from openvino import opset13 as op

    width, heads = config["hidden_size"], config["num_attention_heads"]
    epsilon = config.get("layer_norm_eps", 1e-12)

    def constant(name: str) -> Any:
        return op.constant(weights[name].astype(np.float32))

    def linear(state: Any, name: str) -> Any:
        product = op.matmul(state, constant(f"{name}.weight"), False, True)
        return op.add(product, constant(f"{name}.bias"))

    def layer_norm(state: Any, name: str) -> Any:
        centred = op.mvn(state, op.constant(np.array([-1])), True, epsilon, "inside_sqrt")
        return op.add(op.multiply(centred, constant(f"{name}.weight")), constant(f"{name}.bias"))

    def split_heads(state: Any) -> Any:
        shaped = op.reshape(state, op.constant(np.array([0, 0, heads, width // heads])), True)
        return op.transpose(shaped, op.constant(np.array([0, 2, 1, 3])))

    ids = op.parameter([-1, -1], np.int64, name="input_ids")
    mask = op.parameter([-1, -1], np.int64, name="attention_mask")
    visible = op.not_equal(op.unsqueeze(mask, op.constant(np.array([1, 2]))), op.constant(np.int64(0)))

    state = layer_norm(_embedded(op, ids, constant), "embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        query, key, value = (
            split_heads(linear(state, f"{name}.attention.self.{part}")) for part in ("query", "key", "value")
        )
        attended = op.scaled_dot_product_attention(query, key, value, visible)
        merged = op.reshape(
            op.transpose(attended, op.constant(np.array([0, 2, 1, 3]))), op.constant(np.array([0, 0, width])), True
        )
        output = linear(merged, f"{name}.attention.output.dense")
        state = layer_norm(op.add(output, state), f"{name}.attention.output.LayerNorm")
        inner = op.gelu(linear(state, f"{name}.intermediate.dense"), "erf")
        state = layer_norm(op.add(linear(inner, f"{name}.output.dense"), state), f"{name}.output.LayerNorm")
    return openvino.Model([state], [ids, mask], "bert")


def _embedded(op: Any, ids: Any, constant: Callable[[str], Any]) -> Any:
    """Sum of the word, position and first segment's embeddings, shape (batch, tokens, width)."""
    zero = op.constant(np.int64(0))
    words = op.gather(constant("embeddings.word_embeddings.weight"), ids, zero)
    length = op.gather(op.shape_of(ids, "i64"), op.constant(np.array([1])), zero)
    start, step = op.constant(np.array([0])), op.constant(np.array([1]))
    positions = op.slice(
        constant("embeddings.position_embeddings.weight"), start, length, step, op.constant(np.array([0]))
    )
    segment = op.gather(constant("embeddings.token_type_embeddings.weight"), zero, zero)
    return op.add(op.add(words, segment), positions)
