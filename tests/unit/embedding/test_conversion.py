"""Converting encoders: a plain BERT without torch, others by tracing, the rest left to sentence-transformers."""

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipelines.embedding.bert_graph import build_bert
from pipelines.embedding.factory import create_embedder
from pipelines.embedding.model_config import read_model_config
from pipelines.embedding.openvino_conversion import least_cosine, probe_batches
from pipelines.embedding.protocol import Role
from pipelines.settings import Settings

MakeSettings = Callable[..., Settings]

TINY = """
import json, sys
from pathlib import Path
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import DistilBertConfig, DistilBertModel

folder = Path(sys.argv[1])
torch.manual_seed(7)
config = DistilBertConfig(vocab_size=300, dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=64)
DistilBertModel(config).save_pretrained(folder)
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz", *("##" + c for c in "abcdefghij")]
tokenizer = Tokenizer(WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
tokenizer.save(str(folder / "tokenizer.json"))
names = {"unk": "[UNK]", "pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]"}
special = {"model_max_length": 64, **{f"{name}_token": token for name, token in names.items()}}
(folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **special}))
"""


@pytest.fixture(scope="module")
def distilbert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder that is no BERT, with random weights, as transformers saves it."""
    folder = tmp_path_factory.mktemp("distilbert")
    command = [sys.executable, "-W", "ignore", "-c", TINY, str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def as_sentence_transformer(folder: Path, kinds: list[tuple[str, dict]]) -> None:
    """Write modules.json, and each further module's folder with its configuration."""
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for number, (kind, config) in enumerate(kinds, 1):
        path = folder / f"{number}_{kind}"
        path.mkdir(exist_ok=True)
        (path / "config.json").write_text(json.dumps(config))
        modules.append(
            {"idx": number, "name": str(number), "path": path.name, "type": f"sentence_transformers.models.{kind}"}
        )
    (folder / "modules.json").write_text(json.dumps(modules))


def reference(folder: Path, texts: list[str]) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(folder)).encode(texts, show_progress_bar=False)


class TestBert:
    def test_real_model_is_built_without_torch(self, minilm_folder: Path) -> None:
        import openvino

        graph = build_bert(minilm_folder)
        assert graph is not None
        compiled = openvino.Core().compile_model(graph, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        ids, mask = probe_batches(vocabulary=30_522, max_tokens=256, pad_id=0)[0]
        states = compiled([ids, mask])[0]
        assert states.shape == (3, 16, 384)
        other = ids.copy()
        other[mask == 0] = 1_234  # what stands in the padding must not be seen
        assert least_cosine(states, compiled([other, mask])[0], mask=mask) > 0.999999

    @pytest.mark.parametrize(
        "change",
        [
            {"hidden_act": "relu"},
            {"position_embedding_type": "relative_key"},
            {"model_type": "roberta"},
            {"num_hidden_layers": 5},
            {"is_decoder": True},
        ],
    )
    def test_anything_else_is_left_to_tracing(self, copied_model: Path, change: dict) -> None:
        config = json.loads((copied_model / "config.json").read_text())
        (copied_model / "config.json").unlink()
        (copied_model / "config.json").write_text(json.dumps({**config, **change}))
        assert build_bert(copied_model) is None

    def test_without_safetensors_it_is_left_to_tracing(self, copied_model: Path) -> None:
        (copied_model / "model.safetensors").unlink()
        assert build_bert(copied_model) is None


@pytest.mark.slow
class TestOtherModels:
    TEXTS = ("hello world", "a much longer text about nothing at all", "x")

    def embed(self, folder: Path, settings: Settings) -> tuple[np.ndarray, str]:
        embedder = create_embedder(f"sentence-transformers/{folder}", settings)
        vectors = embedder.embed(list(self.TEXTS), role=Role.DOCUMENT).vectors
        return vectors, type(embedder._runtime).__name__

    def test_other_encoder_is_traced(self, distilbert: Path, settings: MakeSettings) -> None:
        as_sentence_transformer(distilbert, [("Pooling", {"embedding_dimension": 32, "pooling_mode": "cls"})])
        vectors, runtime = self.embed(distilbert, settings())
        assert runtime == "OpenVinoRuntime"
        expected = reference(distilbert, list(self.TEXTS))
        cosines = (vectors * expected).sum(axis=1) / np.linalg.norm(vectors, axis=1) / np.linalg.norm(expected, axis=1)
        assert cosines.min() >= 0.9999

    def test_folder_without_modules_is_pooled_by_mean(self, distilbert: Path, settings: MakeSettings) -> None:
        (distilbert / "modules.json").unlink(missing_ok=True)
        vectors, _ = self.embed(distilbert, settings())
        expected = reference(distilbert, list(self.TEXTS))
        assert (vectors * expected).sum(axis=1) / np.linalg.norm(vectors, axis=1) / np.linalg.norm(
            expected, axis=1
        ) == pytest.approx(1, abs=1e-4)

    def test_further_modules_go_through_torch(self, distilbert: Path, settings: MakeSettings) -> None:
        import torch
        from safetensors.torch import save_file

        pooling = {"embedding_dimension": 32, "pooling_mode": "max"}
        dense = {
            "in_features": 32,
            "out_features": 8,
            "bias": True,
            "activation_function": "torch.nn.modules.activation.Tanh",
        }
        as_sentence_transformer(distilbert, [("Pooling", pooling), ("Dense", dense), ("Normalize", {})])
        torch.manual_seed(1)
        weights = {"linear.weight": torch.randn(8, 32), "linear.bias": torch.randn(8)}
        save_file(weights, distilbert / "2_Dense" / "model.safetensors")
        config = read_model_config(distilbert)
        assert (config.plain, config.dimensions, config.pooling) == (False, 8, "max")
        vectors, runtime = self.embed(distilbert, settings())
        assert runtime == "TorchRuntime"
        assert (vectors * reference(distilbert, list(self.TEXTS))).sum(axis=1) == pytest.approx(1, abs=1e-4)
