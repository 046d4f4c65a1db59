"""A migration to a hosted model, by the real client against a local server: limits, faults, money (B18, B19, B21)."""

import pytest

from pipelines.embedding.cache import cached_embedder
from pipelines.errors import BudgetExceeded, ProviderRefused, ProviderUnavailable, VaultlineError
from pipelines.generations.budget import Budget
from pipelines.generations.plan import plan
from pipelines.generations.scope import Scope
from pipelines.storage import generation_states
from tests.integration.generations.conftest import Bench
from tests.servers.embedding_api import EmbeddingApi, Fault

A, VOYAGE = "fake/a-64", "voyage/voyage-3"


@pytest.fixture
def serving(bench: Bench, voyage: EmbeddingApi) -> Bench:
    """Six notes, served under a fake model; the setting may now name Voyage."""
    bench.seed()
    bench.work(A)
    return bench


def _passages(count: int, *, words: int) -> list[str]:
    return [" ".join(f"w{number}x{index}" for index in range(words)) for number in range(count)]


def test_texts_go_as_documents_and_the_gate_asks_as_a_query(serving: Bench, voyage: EmbeddingApi) -> None:
    serving.work(VOYAGE)
    assert serving.states() == {A: "previous", VOYAGE: "active"}
    assert serving.value("SELECT DISTINCT vector_dims(embedding) FROM knowledge") == 1024
    roles = {(asked.input_type, len(asked.texts)) for asked in voyage.requests}
    assert ("document", 6) in roles
    texts = [text for asked in voyage.requests if asked.input_type == "document" for text in asked.texts]
    assert sum(text.startswith("Note") for text in texts) == 6
    assert {asked.input_type for asked in voyage.requests} == {"document", "query"}
    assert all(asked.body["output_dimension"] in (None, 1024) for asked in voyage.requests)


def test_requests_keep_to_the_limits_and_a_refused_batch_is_halved(serving: Bench, voyage: EmbeddingApi) -> None:
    """B18: the server counts three tokens where we estimate one; no chunk is left without a vector."""
    voyage.max_tokens = 20_000
    voyage.count = lambda text: 3 * len(text.split())
    with serving.database.connect() as connection:
        serving.put(connection, "folder0/long.md", *_passages(512, words=40))
    serving.work(VOYAGE)
    assert serving.states()[VOYAGE] == "active"
    assert serving.value("SELECT count(*) FROM knowledge WHERE embedding IS NULL") == 0
    assert serving.value("SELECT count(*) FROM knowledge") == 518
    assert all(len(asked.texts) <= 1_000 for asked in voyage.requests)
    sent = [tuple(asked.texts) for asked in voyage.requests]
    assert len(set(sent)) == len(sent) - (sent.count(sent[0]) - 1), "a refused request is never repeated as it was"
    passage = "SELECT content, embedding::text FROM knowledge WHERE source = 'folder0/long.md' AND ordinal = 300"
    content, vector = serving.rows(passage)[0]
    expected = voyage.vector(content, model="voyage-3", input_type="document")
    assert [float(number) for number in vector.strip("[]").split(",")] == pytest.approx(expected.tolist(), abs=1e-4)


def test_a_text_that_is_never_accepted_does_not_stop_the_others(serving: Bench, voyage: EmbeddingApi) -> None:
    """B19 and bisecting: recorded with its reason, published without a vector, named by the gate."""
    voyage.refuse = lambda text: "content is not allowed" if "word3x1" in text else None
    serving.work(VOYAGE)
    assert serving.states()[VOYAGE] == "active"
    assert serving.rows("SELECT source FROM knowledge WHERE embedding IS NULL") == [("folder1/note3.md",)]
    assert "not allowed" in serving.value("SELECT reason FROM refusal")
    asked = len(voyage.requests)
    serving.work(VOYAGE)
    assert len(voyage.requests) == asked, "it is not tried again at every run"


def test_a_rate_limit_is_waited_for_and_what_was_done_is_kept(serving: Bench, voyage: EmbeddingApi) -> None:
    """B21."""
    voyage.max_inputs = 2
    voyage.faults.extend([Fault(), Fault(), Fault(status=429, headers={"Retry-After": "0"}), Fault(drop=True)])
    serving.work(VOYAGE)
    assert serving.states()[VOYAGE] == "active"


def test_a_provider_that_stays_away_fails_the_build_and_nothing_else(serving: Bench, voyage: EmbeddingApi) -> None:
    """B21: an endless 429 ends; search stays as it was; edits go on; the next run asks for what is missing only."""
    voyage.max_inputs = 2
    serving.overrides |= {"embedding_patience_seconds": 0.5, "embedding_concurrency": 1}
    before = serving.table(1)

    def stay_away_after_the_first(text: str) -> None:
        if text.startswith("Note"):
            voyage.always = Fault(status=429, headers={"Retry-After": "1"})

    voyage.refuse = stay_away_after_the_first
    with pytest.raises(ProviderUnavailable):
        serving.work(VOYAGE)
    assert serving.states() == {A: "active", VOYAGE: "building"}
    assert serving.table(1) == before
    with serving.database.connect() as connection:
        row = next(row for row in generation_states.details(connection) if row.model == VOYAGE)
    assert row.problem is not None
    kept = serving.value("SELECT count(*) FROM embedding WHERE fingerprint = %s", row.fingerprint)
    assert 0 < kept < 6
    serving.edit("folder0/new.md", "An edit while the provider is away.")
    serving.work(VOYAGE, scope=Scope.CHANGES)
    assert serving.value("SELECT count(*) FROM knowledge WHERE source = 'folder0/new.md'") == 1
    voyage.always, voyage.refuse = None, lambda text: None
    voyage.served.clear()
    serving.work(VOYAGE)
    assert serving.states() == {A: "previous", VOYAGE: "active"}
    again = [text for text in voyage.served if text.startswith("Note")]
    assert len(again) == len(set(again)) == 6 - kept


@pytest.mark.parametrize("change", [{"key": "another"}, {"models": ("voyage-9",)}])
def test_a_wrong_key_or_model_is_said_before_anything_is_changed(
    serving: Bench, voyage: EmbeddingApi, change: dict[str, object]
) -> None:
    for name, value in change.items():
        setattr(voyage, name, value)
    with pytest.raises((ProviderRefused, VaultlineError)) as caught:
        serving.work(VOYAGE)
    assert serving.states() == {A: "active"}, "no generation was begun"
    assert "pa-test-key" not in str(caught.value)


def test_a_cap_stops_cleanly_and_the_next_run_goes_on(serving: Bench, voyage: EmbeddingApi) -> None:
    estimate = plan(
        serving.database,
        serving.under(VOYAGE),
        cached_embedder(VOYAGE, serving.under(VOYAGE)),
    )
    assert not voyage.requests, "a plan calls nobody"
    assert (estimate.texts, estimate.cached) == (6, 0)
    assert estimate.cost_usd == pytest.approx(estimate.tokens * 0.06 / 1e6, abs=1e-6)
    notes = [text for (text,) in serving.rows("SELECT content FROM chunk")]
    cap = estimate.tokens // 6 + 2 * voyage.count(notes[0]) + 1  # the estimate is a safe one: more fits than it says
    with pytest.raises(BudgetExceeded, match="EMBEDDING_MAX_RUN_TOKENS"):
        serving.work(VOYAGE, budget=Budget(max_tokens=cap))
    done = serving.value("SELECT count(*) FROM embedding WHERE fingerprint = %s", estimate.fingerprint)
    assert 0 < done < 6
    used = sum(voyage.count(text) for text in voyage.served if text.startswith("Note"))
    assert used <= cap
    with pytest.raises(BudgetExceeded, match="EMBEDDING_MAX_COST"):
        serving.work(VOYAGE, budget=Budget(max_cost=0.0))
    assert plan(serving.database, serving.under(VOYAGE), cached_embedder(VOYAGE, serving.under(VOYAGE))).cached == done
    serving.work(VOYAGE)
    assert serving.states()[VOYAGE] == "active"
    texts = [text for text in voyage.served if text.startswith("Note")]
    assert len(texts) == len(set(texts)) == 6
    with serving.database.connect() as connection:
        row = next(row for row in generation_states.details(connection) if row.model == VOYAGE)
    assert row.tokens == sum(voyage.count(text) for text in texts)
    assert row.cost_usd == pytest.approx(row.tokens * 0.06 / 1e6)


def test_a_server_that_changed_behind_its_address_is_refused(
    serving: Bench, voyage: EmbeddingApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving.work(VOYAGE)
    honest = voyage.vector
    monkeypatch.setattr(
        voyage, "vector", lambda text, *, model, input_type=None: honest(text, model="voyage-9", input_type=input_type)
    )
    serving.edit("folder0/new.md", "Written while the server was another.")
    with pytest.raises(VaultlineError, match="is not the model that generation 2 was made with"):
        serving.work(VOYAGE)
    assert serving.value("SELECT count(*) FROM knowledge_g2") == 6
    renamed = serving.work(VOYAGE, scope=Scope.BUILD, embedding_revision="2026-12")
    assert renamed.total["embedded"] > 0
    assert serving.value("SELECT max(id) FROM generation WHERE state = 'active'") == 3, "a new word, a new space"
