"""voyage/NAME by the real voyageai client against a local server: cases B18, B19, B21 and B23."""

import logging
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest
from tenacity.wait import wait_random_exponential

from pipelines.embedding.batches import embed_in_batches
from pipelines.embedding.factory import create_embedder, create_embedder_for
from pipelines.embedding.hosted import check
from pipelines.embedding.protocol import Embeddings, Role
from pipelines.errors import (
    InvalidVectors,
    ModelUnavailable,
    ProviderRefused,
    ProviderUnavailable,
    SettingsError,
    Transient,
)
from pipelines.settings import Settings
from tests.servers.embedding_api import EmbeddingApi, Fault

MODEL = "voyage/voyage-3"
MakeSettings = Callable[..., Settings]


def notes(count: int, *, words: int = 8) -> list[str]:
    return [
        " ".join([f"Nota {number}:", *(f"palabra{number + word}" for word in range(words))]) for number in range(count)
    ]


def collect(embedder, texts: list[str]) -> dict[int, np.ndarray]:
    """Vectors by index, as a caller that stores them while they come."""
    stored: dict[int, np.ndarray] = {}

    def keep(indices: list[int], embeddings: Embeddings) -> None:
        stored.update(zip(indices, embeddings.vectors, strict=True))

    embed_in_batches(embedder, texts, role=Role.DOCUMENT, on_batch=keep)
    return stored


def test_vectors_come_in_the_order_of_the_texts(voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
    texts = notes(30)
    embeddings = create_embedder(MODEL, voyage_settings()).embed(texts, role=Role.DOCUMENT)
    assert embeddings.vectors.shape == (30, 1024)
    assert embeddings.vectors.dtype == np.float32
    for text, vector in zip(texts, embeddings.vectors, strict=True):
        assert vector == pytest.approx(voyage_api.vector(text, model="voyage-3", input_type="document"), abs=1e-6)
    assert embeddings.tokens.sum() == sum(map(voyage_api.count, texts))


def test_answer_in_another_order_is_sorted_by_index(voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
    voyage_api.faults.append(Fault(change=lambda answer: {**answer, "data": answer["data"][::-1]}))
    texts = notes(5)
    vectors = create_embedder(MODEL, voyage_settings()).embed(texts, role=Role.DOCUMENT).vectors
    assert vectors[0] == pytest.approx(voyage_api.vector(texts[0], model="voyage-3", input_type="document"), abs=1e-6)


def test_nothing_is_asked_for_nothing(voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
    embeddings = create_embedder(MODEL, voyage_settings()).embed([], role=Role.DOCUMENT)
    assert embeddings.vectors.shape == (0, 1024)
    assert voyage_api.requests == []


def test_opening_a_known_model_asks_nobody(voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
    spec = create_embedder(MODEL, voyage_settings()).spec
    assert (spec.dimensions, spec.max_tokens, spec.input_type) == (1024, 32_000, True)
    assert voyage_api.requests == []


class TestRoles:
    """B23: questions and passages are never confused."""

    def test_role_goes_out_as_input_type(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        embedder = create_embedder(MODEL, voyage_settings())
        document = embedder.embed(["la póliza"], role=Role.DOCUMENT).vectors[0]
        query = embedder.embed(["la póliza"], role=Role.QUERY).vectors[0]
        assert [asked.input_type for asked in voyage_api.requests] == ["document", "query"]
        assert not np.allclose(document, query, atol=0.01)

    def test_texts_go_out_without_a_prefix(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        create_embedder(MODEL, voyage_settings()).embed(["la póliza"], role=Role.QUERY)
        assert voyage_api.requests[0].texts == ["la póliza"]

    def test_provider_never_cuts_for_us(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        create_embedder(MODEL, voyage_settings()).embed(["la póliza"], role=Role.QUERY)
        assert voyage_api.requests[0].body["truncation"] is False


class TestLimits:
    """B18: batches by count and by tokens, halved when the provider counts more than we do."""

    def test_512_chunks_of_400_tokens(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        texts = notes(512, words=397)
        assert sum(map(voyage_api.count, texts)) > voyage_api.max_tokens
        vectors = create_embedder(MODEL, voyage_settings()).embed(texts, role=Role.DOCUMENT).vectors
        assert all(vectors.any(axis=1))
        assert sorted(voyage_api.served) == sorted(texts)
        assert all(sum(map(voyage_api.count, asked.texts)) <= voyage_api.max_tokens for asked in voyage_api.requests)

    def test_tokenizer_that_counts_three_times_more(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        voyage_api.count = lambda text: len(text)  # every letter a token: three times our estimate
        texts = notes(300, words=90)
        vectors = create_embedder(MODEL, voyage_settings()).embed(texts, role=Role.DOCUMENT).vectors
        for index in (0, 150, 299):
            expected = voyage_api.vector(texts[index], model="voyage-3", input_type="document")
            assert vectors[index] == pytest.approx(expected, abs=1e-6)
        assert sorted(text for text in voyage_api.served if text.startswith("Nota")) == sorted(texts)
        sent = [tuple(asked.texts) for asked in voyage_api.requests if asked.texts[0].startswith("Nota")]
        assert len(sent) == len(set(sent)), "a request that was rejected must not be repeated as it was"

    def test_never_more_than_1000_inputs(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        texts = notes(2_300, words=1)
        create_embedder(MODEL, voyage_settings()).embed(texts, role=Role.DOCUMENT)
        assert max(len(asked.texts) for asked in voyage_api.requests) <= 1_000
        assert sorted(voyage_api.served) == sorted(texts)

    def test_smaller_input_limit_is_learned(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        voyage_api.max_inputs = 32
        texts = notes(200, words=1)
        embedder = create_embedder(MODEL, voyage_settings(embedding_concurrency=1))
        embedder.embed(texts, role=Role.DOCUMENT)
        before = len(voyage_api.requests)
        embedder.embed(texts, role=Role.DOCUMENT)
        assert len(voyage_api.requests) - before == 8  # 200 texts by 25, and none rejected
        assert all(len(asked.texts) <= 32 for asked in voyage_api.requests[before:])

    def test_text_over_the_window_is_embedded_by_windows(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        text = " ".join(f"palabra{number}" for number in range(400))
        embedder = create_embedder(MODEL, voyage_settings(embedding_max_tokens=256))
        embeddings = embedder.embed(["corta", text], role=Role.DOCUMENT)
        assert embeddings.windowed == (1,)
        assert embeddings.truncated == ()
        sent = "".join(part for part in voyage_api.served if part != "corta")
        assert sent == text, "every character must reach the provider"

    def test_window_smaller_than_believed(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        voyage_api.window = 100
        text = " ".join(f"palabra{number}" for number in range(350))
        embeddings = create_embedder(MODEL, voyage_settings()).embed([text, "corta"], role=Role.DOCUMENT)
        assert embeddings.windowed == (0,)
        assert embeddings.refused == ()
        long_parts = [part for part in voyage_api.served if part.startswith(("palabra", " palabra"))]
        assert "".join(long_parts) == text
        assert float(np.linalg.norm(embeddings.vectors[0])) == pytest.approx(1, abs=1e-5)


class TestBlankAndRefused:
    """B19: what cannot be embedded is said, and never stops the others."""

    def test_blank_texts_are_never_sent(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        texts = ["", "primera", "\n\n", " \t​", "segunda"]
        embeddings = create_embedder(MODEL, voyage_settings()).embed(texts, role=Role.DOCUMENT)
        assert voyage_api.asked_texts() == ["primera", "segunda"]
        assert [index for index, _ in embeddings.refused] == [0, 2, 3]
        assert embeddings.vectors.any(axis=1).tolist() == [False, True, False, False, True]

    def test_one_text_is_refused_for_good(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings, caplog: pytest.LogCaptureFixture
    ) -> None:
        voyage_api.refuse = lambda text: "content policy: not allowed" if "prohibida" in text else None
        texts = notes(50)
        texts[17] = "una palabra prohibida"
        with caplog.at_level(logging.WARNING):
            embeddings = create_embedder(MODEL, voyage_settings()).embed(texts, role=Role.DOCUMENT)
        assert embeddings.refused == ((17, "content policy: not allowed"),)
        assert embeddings.vectors.any(axis=1).sum() == 49
        assert len(voyage_api.requests) < 20, "bisecting, not one request a text"
        assert "content policy: not allowed" in caplog.text

    def test_request_that_can_never_pass_is_one_error(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        voyage_api.always = Fault(status=400, body={"detail": "Argument 'truncation' has an invalid value."})
        embedder = create_embedder(MODEL, voyage_settings())
        with pytest.raises(ProviderRefused, match="truncation"):
            embedder.embed(notes(200), role=Role.DOCUMENT)
        assert len(voyage_api.requests) <= 3, "not every text may be tried alone"

    def test_reason_that_quotes_the_note_is_left_out(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings, caplog: pytest.LogCaptureFixture
    ) -> None:
        secret = "la contraseña del portal de empleados es muy secreta"
        voyage_api.refuse = lambda text: f"cannot embed: {text}" if "secreta" in text else None
        with caplog.at_level(logging.DEBUG):
            embeddings = create_embedder(MODEL, voyage_settings()).embed(["uno", secret], role=Role.DOCUMENT)
        assert embeddings.refused[0][0] == 1
        assert "portal de empleados" not in embeddings.refused[0][1]
        assert "portal de empleados" not in caplog.text


class TestPatience:
    """B21: waiting for the provider, keeping what is paid for, and giving up."""

    def test_retry_after_in_seconds_holds_every_worker(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        voyage_api.max_inputs = 1_000
        voyage_api.faults.append(Fault(status=429, body={"detail": "rate limit"}, headers={"Retry-After": "1"}))
        settings = voyage_settings(embedding_concurrency=4)
        create_embedder(MODEL, settings).embed(notes(3_500, words=1), role=Role.DOCUMENT)
        refused_at = voyage_api.requests[0].at
        later = [asked.at - refused_at for asked in voyage_api.requests[4:]]
        assert later
        assert min(later) >= 0.9, "workers that start after the 429 wait too"

    def test_retry_after_as_a_date(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        when = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
        voyage_api.faults.append(Fault(status=429, body={"detail": "slow down"}, headers={"Retry-After": when}))
        create_embedder(MODEL, voyage_settings()).embed(["uno"], role=Role.DOCUMENT)
        assert voyage_api.requests[1].at - voyage_api.requests[0].at >= 0.8  # dates have whole seconds

    def test_cold_server_dropped_connection_and_busy(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pipelines.embedding.retrying.BACKOFF", wait_random_exponential(multiplier=0.02, max=0.2))
        voyage_api.faults.extend(
            [
                Fault(delay=1.2),  # longer than the time-out below
                Fault(drop=True),
                Fault(status=503, body="<html>busy</html>"),
                Fault(status=500, body="oops"),
                Fault(status=429, body="no json at all", headers={"Content-Type": "text/html"}),
            ]
        )
        settings = voyage_settings(embedding_timeout_seconds=0.5)
        vectors = create_embedder(MODEL, settings).embed(notes(3), role=Role.DOCUMENT).vectors
        assert vectors.any(axis=1).all()
        assert len(voyage_api.requests) == 6

    def test_endless_429_ends_as_a_transient_error(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        voyage_api.always = Fault(status=429, body={"detail": "rate limit"})
        embedder = create_embedder(MODEL, voyage_settings(embedding_patience_seconds=1))
        with pytest.raises(ProviderUnavailable, match=r"voyage-3 at http://127.*HTTP 429.*gave up after") as caught:
            embedder.embed(notes(3), role=Role.DOCUMENT)
        assert isinstance(caught.value, Transient)

    def test_wait_longer_than_patience_fails_at_once(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        voyage_api.always = Fault(status=429, body={"detail": "rate limit"}, headers={"Retry-After": "3600"})
        with pytest.raises(ProviderUnavailable):
            create_embedder(MODEL, voyage_settings()).embed(["uno"], role=Role.DOCUMENT)
        assert len(voyage_api.requests) == 1

    def test_question_fails_fast(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        voyage_api.always = Fault(status=429, body={"detail": "rate limit"})
        embedder = create_embedder(
            MODEL, voyage_settings(embedding_patience_seconds=600, embedding_query_patience_seconds=0.2)
        )
        with pytest.raises(ProviderUnavailable):
            embedder.embed(["¿dónde está la póliza?"], role=Role.QUERY)

    def test_what_was_paid_for_is_handed_over_before_the_error(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        texts = notes(300)
        settings = voyage_settings(embedding_concurrency=1, embedding_patience_seconds=0)
        embedder = create_embedder(MODEL, settings)
        embedder._max_inputs = 50
        voyage_api.faults.extend([Fault(), Fault(), Fault(), Fault(status=503, body={"detail": "down"})])
        stored: dict[int, np.ndarray] = {}

        def keep(indices: list[int], embeddings: Embeddings) -> None:
            stored.update(zip(indices, embeddings.vectors, strict=True))

        with pytest.raises(ProviderUnavailable):
            embed_in_batches(embedder, texts, role=Role.DOCUMENT, on_batch=keep)
        assert sorted(stored) == list(range(150))
        missing = [index for index in range(300) if index not in stored]
        stored.update(
            (missing[row], vector) for row, vector in collect(embedder, [texts[index] for index in missing]).items()
        )
        assert sorted(stored) == list(range(300))
        assert sorted(voyage_api.served) == sorted(texts), "no text may be paid for twice"

    def test_half_of_a_split_request_is_kept_when_the_other_fails(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        texts = notes(40)
        embedder = create_embedder(MODEL, voyage_settings(embedding_patience_seconds=0))
        too_many = Fault(status=400, body={"detail": "The max allowed tokens per submitted batch is 10."})
        voyage_api.faults.extend([too_many, Fault(), Fault(), Fault(status=503, body={"detail": "down"})])
        stored: list[int] = []
        with pytest.raises(ProviderUnavailable):
            embed_in_batches(embedder, texts, role=Role.DOCUMENT, on_batch=lambda indices, _: stored.extend(indices))
        assert stored == list(range(20))

    def test_caller_that_fails_ends_the_work(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        embedder = create_embedder(MODEL, voyage_settings(embedding_concurrency=2))
        embedder._max_inputs = 10

        def keep(indices: list[int], embeddings: Embeddings) -> None:
            raise RuntimeError("the database is gone")

        with pytest.raises(RuntimeError, match="database is gone"):
            embed_in_batches(embedder, notes(500), role=Role.DOCUMENT, on_batch=keep)
        assert len(voyage_api.requests) <= 4

    @pytest.mark.timeout(40)  # the server asks for 100 seconds
    def test_caller_that_leaves_does_not_wait_for_a_retry(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        busy = Fault(status=429, body={"detail": "rate limit"}, headers={"Retry-After": "100"})
        voyage_api.faults.extend([busy, Fault(delay=0.3)])
        settings = voyage_settings(embedding_concurrency=2, embedding_patience_seconds=300)
        embedder = create_embedder(MODEL, settings)
        embedder._max_inputs = 10

        def keep(indices: list[int], embeddings: Embeddings) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            embed_in_batches(embedder, notes(20), role=Role.DOCUMENT, on_batch=keep)


class TestConcurrency:
    def test_requests_run_at_once_up_to_the_setting(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        voyage_api.latency = 0.1
        embedder = create_embedder(MODEL, voyage_settings(embedding_concurrency=3))
        embedder._max_inputs = 10
        embedder.embed(notes(150), role=Role.DOCUMENT)
        assert voyage_api.most_at_once == 3

    def test_rate_limit_is_shared_by_the_workers(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        settings = voyage_settings(embedding_concurrency=4, embedding_requests_per_minute=600)
        embedder = create_embedder(MODEL, settings)
        embedder._max_inputs = 10
        embedder.embed(notes(80), role=Role.DOCUMENT)
        times = sorted(asked.at for asked in voyage_api.requests)
        assert times[-1] - times[0] >= 0.6  # eight requests, a tenth of a second apart


class TestBeforeAnyWork:
    def test_wrong_key(self, voyage_settings: MakeSettings) -> None:
        embedder = create_embedder(MODEL, voyage_settings(voyage_api_key="pa-wrong-and-secret"))
        with pytest.raises(ProviderRefused, match="VOYAGE_API_KEY") as caught:
            check(embedder)
        assert "pa-wrong-and-secret" not in str(caught.value)

    def test_no_key(self, voyage_settings: MakeSettings) -> None:
        with pytest.raises(SettingsError, match="VOYAGE_API_KEY"):
            create_embedder(MODEL, voyage_settings(voyage_api_key=None))

    def test_unknown_model(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        voyage_api.models = ("voyage-3",)
        with pytest.raises(ModelUnavailable, match="voyage-9"):
            create_embedder("voyage/voyage-9", voyage_settings())
        assert len(voyage_api.requests) == 1

    def test_nobody_there(self, voyage_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("pipelines.embedding.hosted.PING_PATIENCE", 0.2)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        embedder = create_embedder(MODEL, voyage_settings(voyage_base_url=address))
        with pytest.raises(ProviderUnavailable, match=f"{address} cannot be reached"):
            check(embedder)

    def test_good_server(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        check(create_embedder(MODEL, voyage_settings()))
        assert len(voyage_api.requests) == 1

    def test_account_without_money_is_not_waited_for(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        voyage_api.always = Fault(status=429, body={"detail": "You exceeded your current quota, check billing."})
        with pytest.raises(ProviderRefused, match="paid first"):
            create_embedder(MODEL, voyage_settings()).embed(["uno"], role=Role.DOCUMENT)
        assert len(voyage_api.requests) == 1


class TestSizes:
    def test_size_that_was_asked_for(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        voyage_api.dimensions = 256
        settings = voyage_settings(embedding_dimensions=256)
        embedder = create_embedder("voyage/voyage-3-large", settings)
        assert embedder.embed(["uno"], role=Role.DOCUMENT).vectors.shape == (1, 256)
        assert voyage_api.requests[0].body["output_dimension"] == 256
        again = create_embedder_for(embedder.spec, embedder.address, voyage_settings())
        again.embed(["dos"], role=Role.DOCUMENT)
        assert voyage_api.requests[1].body["output_dimension"] == 256

    def test_size_that_the_model_does_not_have(self, voyage_settings: MakeSettings) -> None:
        with pytest.raises(SettingsError, match="1024"):
            create_embedder(MODEL, voyage_settings(embedding_dimensions=256))

    def test_other_length_than_the_spec_is_refused(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        voyage_api.dimensions = 512
        with pytest.raises(InvalidVectors, match=r"voyage/voyage-3 .*512.*1024"):
            create_embedder(MODEL, voyage_settings()).embed(["uno"], role=Role.DOCUMENT)

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), 0.0])
    def test_vectors_that_are_none(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings, number: float
    ) -> None:
        def spoil(answer: dict) -> dict:
            answer["data"][0]["embedding"] = [number] * 1024
            return answer

        voyage_api.faults.append(Fault(change=spoil))
        with pytest.raises(InvalidVectors, match="voyage/voyage-3"):
            create_embedder(MODEL, voyage_settings()).embed(["uno", "dos"], role=Role.DOCUMENT)

    def test_missing_vectors(self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings) -> None:
        voyage_api.faults.append(Fault(change=lambda answer: {**answer, "data": answer["data"][:1]}))
        with pytest.raises(ProviderRefused, match="1 vectors for 2 texts"):
            create_embedder(MODEL, voyage_settings()).embed(["uno", "dos"], role=Role.DOCUMENT)


class TestStoredGeneration:
    def test_address_comes_from_the_row_and_the_key_from_settings(
        self, voyage_api: EmbeddingApi, voyage_settings: MakeSettings
    ) -> None:
        made = create_embedder(MODEL, voyage_settings())
        other = voyage_settings(voyage_base_url="http://127.0.0.1:9/v1")
        again = create_embedder_for(made.spec, made.address, other)
        assert again.address == voyage_api.url
        assert again.embed(["uno"], role=Role.QUERY).vectors.shape == (1, 1024)
        assert again.spec.fingerprint == made.spec.fingerprint

    def test_key_in_the_address_is_not_taken(self, voyage_settings: MakeSettings) -> None:
        with pytest.raises(SettingsError, match="VOYAGE_BASE_URL") as caught:
            create_embedder(MODEL, voyage_settings(voyage_base_url="http://user:hunter2@127.0.0.1/v1"))
        assert "hunter2" not in str(caught.value)


def test_key_never_shows(
    voyage_api: EmbeddingApi, voyage_settings: MakeSettings, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in the repr, nor in an error whose server quotes the header, nor in any log at the lowest level."""
    key = "pa-very-secret-key"
    settings = voyage_settings(voyage_api_key=key)
    with caplog.at_level(logging.DEBUG):
        embedder = create_embedder(MODEL, settings)
        with pytest.raises(ProviderRefused) as caught:
            embedder.embed(["texto de la nota"], role=Role.DOCUMENT)
    shown = [repr(embedder), repr(embedder.spec), str(caught.value), repr(caught.value), repr(settings), caplog.text]
    shown += [repr(caught.value.__cause__), repr(embedder.__dict__)]
    assert not any(key in text for text in shown)
    assert "texto de la nota" not in caplog.text
