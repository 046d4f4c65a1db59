"""openai/NAME against local servers that are not quite OpenAI: case B24, prefixes of case B23, windows of case B08."""

import socket
from collections.abc import Callable

import numpy as np
import pytest

from pipelines.embedding.canary import canary_vector, same_space
from pipelines.embedding.factory import create_embedder, create_embedder_for
from pipelines.embedding.hosted import check
from pipelines.embedding.protocol import Role
from pipelines.errors import InvalidVectors, ModelUnavailable, ProviderRefused, ProviderUnavailable, SettingsError
from pipelines.settings import Settings
from tests.servers.embedding_api import EmbeddingApi, Fault

MODEL = "openai/some-model"
MakeSettings = Callable[..., Settings]


def test_floats_are_asked_for(openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
    """(a) a client that asks for base64 and gets floats would decode a quarter of the numbers."""
    vectors = create_embedder(MODEL, openai_settings()).embed(["uno"], role=Role.DOCUMENT).vectors
    assert {asked.body["encoding_format"] for asked in openai_api.requests} == {"float"}
    assert vectors[0] == pytest.approx(openai_api.vector("uno", model="some-model"), abs=1e-6)


def test_base64_in_spite_of_that_is_a_clear_error(openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
    embedder = create_embedder(MODEL, openai_settings())
    openai_api.faults.append(Fault(change=lambda a: {**a, "data": [{"index": 0, "embedding": "AACAPw=="}]}))
    with pytest.raises(ProviderRefused, match="float vectors"):
        embedder.embed(["uno"], role=Role.DOCUMENT)


def test_order_is_by_index(openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
    """(b)"""
    embedder = create_embedder(MODEL, openai_settings())
    openai_api.faults.append(Fault(change=lambda answer: {**answer, "data": answer["data"][::-1]}))
    vectors = embedder.embed(["uno", "dos", "tres"], role=Role.DOCUMENT).vectors
    for text, vector in zip(["uno", "dos", "tres"], vectors, strict=True):
        assert vector == pytest.approx(openai_api.vector(text, model="some-model"), abs=1e-6)


@pytest.mark.parametrize("index", [0, None])
def test_server_without_useful_indices(
    openai_api: EmbeddingApi, openai_settings: MakeSettings, index: int | None
) -> None:
    embedder = create_embedder(MODEL, openai_settings())
    openai_api.faults.append(
        Fault(change=lambda answer: {**answer, "data": [{**item, "index": index} for item in answer["data"]]})
    )
    vectors = embedder.embed(["uno", "dos"], role=Role.DOCUMENT).vectors
    assert vectors[1] == pytest.approx(openai_api.vector("dos", model="some-model"), abs=1e-6)


@pytest.mark.parametrize(
    "answer", [{"data": []}, {}, {"data": None}, {"data": [{"index": 0}]}, {"data": [{"embedding": 3}]}, {"data": "x"}]
)
def test_success_without_vectors(openai_api: EmbeddingApi, openai_settings: MakeSettings, answer: dict) -> None:
    """(c)"""
    embedder = create_embedder(MODEL, openai_settings())
    openai_api.faults.append(Fault(status=200, body=answer))
    with pytest.raises(ProviderRefused, match=r"openai/some-model at http://127.0.0.1"):
        embedder.embed(["uno"], role=Role.DOCUMENT)


def test_success_that_is_a_page(openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
    embedder = create_embedder(MODEL, openai_settings())
    openai_api.faults.append(Fault(status=200, body="<html>welcome</html>", headers={"Content-Type": "text/html"}))
    with pytest.raises(ProviderRefused, match="did not answer"):
        embedder.embed(["uno"], role=Role.DOCUMENT)


def test_no_key_is_needed(openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
    """(d)"""
    create_embedder(MODEL, openai_settings()).embed(["uno"], role=Role.DOCUMENT)
    assert {asked.authorization for asked in openai_api.requests} == {None}


def test_key_goes_out_where_there_is_one(openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
    openai_api.key = "sk-local"
    create_embedder(MODEL, openai_settings(embedding_api_key="sk-local")).embed(["uno"], role=Role.DOCUMENT)
    with pytest.raises(ProviderRefused, match="EMBEDDING_API_KEY") as caught:
        create_embedder("openai/other", openai_settings(embedding_api_key="sk-wrong-secret"))
    assert "sk-wrong-secret" not in str(caught.value)


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
def test_address_with_and_without_version(openai_api: EmbeddingApi, openai_settings: MakeSettings, ending: str) -> None:
    """(e)"""
    settings = openai_settings(embedding_base_url=f"http://127.0.0.1:{openai_api.port}{ending}")
    assert create_embedder(MODEL, settings).embed(["uno"], role=Role.DOCUMENT).vectors.shape == (1, 64)


def test_server_that_has_no_version_in_its_path(openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
    openai_api.paths = ("/api/embeddings",)
    settings = openai_settings(embedding_base_url=f"http://127.0.0.1:{openai_api.port}/api")
    embedder = create_embedder(MODEL, settings)
    embedder.embed(["uno"], role=Role.DOCUMENT)
    before = len(openai_api.requests)
    embedder.embed(["dos"], role=Role.DOCUMENT)
    assert len(openai_api.requests) == before + 1, "the path that works is remembered"


def test_unknown_model_with_a_page_of_html(openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
    """(f)"""
    openai_api.always = Fault(status=404, body="<html><body>404</body></html>", headers={"Content-Type": "text/html"})
    with pytest.raises(ModelUnavailable, match=r"openai/some-model at http://127.*HTTP 404") as caught:
        create_embedder(MODEL, openai_settings())
    assert "<html>" not in str(caught.value)


class TestDimensions:
    def test_asked_once_and_remembered(self, openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
        assert create_embedder(MODEL, openai_settings()).spec.dimensions == 64
        create_embedder(MODEL, openai_settings())
        assert len(openai_api.requests) == 1

    def test_another_model_behind_the_name_is_refused_then_seen(
        self, openai_api: EmbeddingApi, openai_settings: MakeSettings
    ) -> None:
        embedder = create_embedder(MODEL, openai_settings())
        openai_api.dimensions = 96
        openai_api._embedders.clear()
        with pytest.raises(InvalidVectors, match=r"openai/some-model.*96.*64"):
            embedder.embed(["uno"], role=Role.DOCUMENT)
        fresh = create_embedder(MODEL, openai_settings())
        assert fresh.spec.dimensions == 96
        assert fresh.spec.fingerprint != embedder.spec.fingerprint

    def test_canary_sees_another_model_of_the_same_size(
        self, openai_api: EmbeddingApi, openai_settings: MakeSettings
    ) -> None:
        embedder = create_embedder(MODEL, openai_settings())
        before = canary_vector(embedder)
        assert same_space(before, canary_vector(embedder))
        openai_api.faults.append(
            Fault(change=lambda answer: {**answer, "data": [{"index": 0, "embedding": [1.0] * 64}]})
        )
        assert not same_space(before, canary_vector(embedder))

    def test_size_is_asked_for_where_set(self, openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
        settings = openai_settings(embedding_dimensions=64)
        embedder = create_embedder(MODEL, settings)
        assert openai_api.requests == []
        embedder.embed(["uno"], role=Role.DOCUMENT)
        assert openai_api.requests[0].body["dimensions"] == 64

    def test_unnormalised_vectors_come_out_at_unit_length(
        self, openai_api: EmbeddingApi, openai_settings: MakeSettings
    ) -> None:
        embedder = create_embedder(MODEL, openai_settings())
        openai_api.faults.append(Fault(change=lambda a: {**a, "data": [{"index": 0, "embedding": [3.0] * 64}]}))
        vector = embedder.embed(["uno"], role=Role.DOCUMENT).vectors[0]
        assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-6)


class TestPrefixes:
    @pytest.mark.parametrize(
        ("model", "query", "document"),
        [
            ("multilingual-e5-small", "query: ", "passage: "),
            ("nomic-embed-text", "search_query: ", "search_document: "),
            ("bge-small-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
            ("bge-m3", "", ""),
            ("all-minilm", "", ""),
        ],
    )
    def test_known_families(
        self, openai_api: EmbeddingApi, openai_settings: MakeSettings, model: str, query: str, document: str
    ) -> None:
        embedder = create_embedder(f"openai/{model}", openai_settings(embedding_dimensions=64))
        embedder.embed(["la póliza"], role=Role.QUERY)
        embedder.embed(["la póliza"], role=Role.DOCUMENT)
        assert openai_api.asked_texts() == [f"{query}la póliza", f"{document}la póliza"]

    def test_prefixes_of_the_user_win_and_belong_to_the_fingerprint(
        self, openai_api: EmbeddingApi, openai_settings: MakeSettings
    ) -> None:
        plain = create_embedder(MODEL, openai_settings())
        own = create_embedder(MODEL, openai_settings(embedding_query_prefix="pregunta: "))
        own.embed(["uno"], role=Role.QUERY)
        assert openai_api.asked_texts()[-1] == "pregunta: uno"
        assert own.spec.fingerprint != plain.spec.fingerprint

    def test_prefix_counts_and_stands_before_every_window(
        self, openai_api: EmbeddingApi, openai_settings: MakeSettings
    ) -> None:
        settings = openai_settings(embedding_dimensions=64, embedding_max_tokens=64)
        embedder = create_embedder("openai/e5-small", settings)
        text = " ".join(f"palabra{number}" for number in range(60))
        embeddings = embedder.embed([text], role=Role.DOCUMENT)
        assert embeddings.windowed == (0,)
        sent = openai_api.asked_texts()
        assert len(sent) > 2
        assert all(part.startswith("passage: ") for part in sent)
        assert "".join(part.removeprefix("passage: ") for part in sent) == text
        assert embedder.count_tokens(["uno"])[0] > create_embedder(MODEL, settings).count_tokens(["uno"])[0]

    def test_stored_generation_keeps_its_prefixes_and_address(
        self, openai_api: EmbeddingApi, openai_settings: MakeSettings
    ) -> None:
        made = create_embedder("openai/e5-small", openai_settings())
        changed = openai_settings(embedding_query_prefix="otra: ", embedding_base_url="http://127.0.0.1:9")
        create_embedder_for(made.spec, made.address, changed).embed(["uno"], role=Role.QUERY)
        assert openai_api.asked_texts()[-1] == "query: uno"


class TestCutInSilence:
    """B08 (d): the same server cuts a long text once in silence and once with HTTP 400."""

    def test_silent_cut_is_recorded(self, openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
        openai_api.window, openai_api.cuts_in_silence = 50, True
        long = " ".join(["palabra"] * 150)
        embedder = create_embedder(MODEL, openai_settings())
        embeddings = embedder.embed(["corta", long, "otra corta"], role=Role.DOCUMENT)
        assert embeddings.truncated == (1,)

    def test_refusal_is_answered_by_windows(self, openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
        openai_api.window = 50
        embedder = create_embedder(MODEL, openai_settings())
        openai_api.requests.clear()
        embeddings = embedder.embed(["corta", " ".join(["palabra"] * 150)], role=Role.DOCUMENT)
        assert (embeddings.truncated, embeddings.windowed, embeddings.refused) == ((), (1,), ())


def test_blank_texts_are_never_sent(openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
    embedder = create_embedder(MODEL, openai_settings(embedding_dimensions=64))
    embeddings = embedder.embed(["", "uno", "\n\n"], role=Role.DOCUMENT)
    assert openai_api.asked_texts() == ["uno"]
    assert [index for index, _ in embeddings.refused] == [0, 2]


def test_neither_address_nor_key(openai_settings: MakeSettings) -> None:
    with pytest.raises(SettingsError, match="EMBEDDING_BASE_URL"):
        create_embedder(MODEL, openai_settings(embedding_base_url=None))


def test_nobody_there(openai_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.embedding.known_sizes.PATIENCE", 0.2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(ProviderUnavailable, match=f"{address} cannot be reached"):
        create_embedder(MODEL, openai_settings(embedding_base_url=address))


def test_redirects_are_not_followed_with_the_key(openai_api: EmbeddingApi, openai_settings: MakeSettings) -> None:
    openai_api.always = Fault(status=302, headers={"Location": "http://127.0.0.1:9/"})
    with pytest.raises(ProviderRefused, match="HTTP 302"):
        check(create_embedder(MODEL, openai_settings(embedding_dimensions=64)))
