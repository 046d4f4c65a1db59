# ruff: noqa: S608  # table names are numbers of generations
"""From one model to another and back: what the tables say at every step (B05, X05, X06)."""

import pytest

from pipelines.errors import GateNotPassed, GenerationError, GenerationNotFound, ModelChanged
from pipelines.generations import promotion, wishes
from pipelines.generations.lifecycle import due
from pipelines.generations.scope import Scope
from pipelines.storage import generation_states, generations, vectors
from tests.integration.generations.conftest import Bench

A, B, C = "fake/a-64", "fake/b-64", "fake/c-96"


@pytest.fixture
def migrated(bench: Bench) -> Bench:
    """Six notes under A, then under B."""
    bench.seed()
    bench.work(A)
    bench.work(B)
    return bench


def test_the_first_generation_serves_once_it_is_complete(bench: Bench) -> None:
    bench.seed()
    bench.work(A)
    assert bench.states() == {A: "active"}
    assert bench.value("SELECT count(*) FROM knowledge") == 6
    assert bench.value("SELECT DISTINCT generation_id FROM knowledge") == 1
    assert bench.value("SELECT (gate ->> 'passed')::boolean FROM generation")


def test_another_model_of_the_same_size_never_mixes(migrated: Bench) -> None:
    """B05 a: every row of a generation has the vector of its own model, and the old one stays complete."""
    assert migrated.states() == {A: "previous", B: "active"}
    for model in (A, B):
        generation = migrated.generation(model)
        foreign = migrated.value(
            f"SELECT count(*) FROM {generation.table} k WHERE NOT EXISTS (SELECT FROM embedding e WHERE "
            "(e.fingerprint, e.text_hash) = (%s, k.text_hash) AND e.vector = k.embedding::vector)",
            generation.fingerprint,
        )
        assert foreign == 0
        assert migrated.value(f"SELECT count(*) FROM {generation.table}") == 6
    assert migrated.value("SELECT count(*) FROM embedding") == 12, "after a migration: vectors of each model = texts"
    assert migrated.value("SELECT DISTINCT generation_id FROM knowledge") == migrated.generation(B).id


@pytest.mark.parametrize("dimensions", [1024, 3072])
def test_another_size_has_a_table_of_its_own(bench: Bench, dimensions: int) -> None:
    """B05 b, c: also beyond the 2,000 numbers that pgvector's `vector` indexes."""
    bench.seed(3)
    bench.work(A)
    bench.work(f"fake/big-{dimensions}")
    assert bench.states() == {A: "previous", f"fake/big-{dimensions}": "active"}
    assert bench.value("SELECT DISTINCT vector_dims(embedding) FROM knowledge") == dimensions
    assert bench.value("SELECT DISTINCT vector_dims(embedding) FROM knowledge_g1") == 64


def test_edits_during_a_migration_reach_every_live_generation_but_not_its_backlog(bench: Bench) -> None:
    bench.seed()
    bench.work(A)
    bench.work(B, folders=("folder0",), generation_auto_promote=False)
    assert bench.value("SELECT count(*) FROM knowledge_g2") == 3
    bench.edit("folder1/new.md", "A note of today.")
    bench.work(B, scope=Scope.CHANGES, generation_auto_promote=False)
    assert bench.states() == {A: "active", B: "building"}
    for generation in (1, 2):
        assert bench.value(f"SELECT count(*) FROM knowledge_g{generation} WHERE source = 'folder1/new.md'") == 1
    assert bench.value("SELECT count(*) FROM knowledge_g2") == 4, "the backlog of folder1 is for a run of its own"
    bench.work(B, scope=Scope.BUILD)
    assert bench.states() == {A: "previous", B: "active"}
    bench.edit("folder1/new.md", "The same note, edited after the switch.")
    bench.work(B, scope=Scope.CHANGES)
    for generation in (1, 2):
        content = bench.value(f"SELECT content FROM knowledge_g{generation} WHERE source = 'folder1/new.md'")
        assert "after the switch" in content, "the previous generation is kept up to date during its soak"


def test_a_deleted_document_leaves_every_generation(migrated: Bench) -> None:
    migrated.execute("DELETE FROM document WHERE source = 'folder0/note0.md'")
    for generation in (1, 2):
        assert migrated.value(f"SELECT count(*) FROM knowledge_g{generation}") == 5


def test_the_setting_changes_half_way_and_the_abandoned_build_is_retired(bench: Bench) -> None:
    bench.seed()
    bench.work(A)
    bench.work(B, generation_auto_promote=False)
    bench.work(C)
    assert bench.states() == {A: "previous", B: "retired", C: "active"}
    assert bench.value("SELECT to_regclass('knowledge_g2')") is None
    assert bench.value("SELECT count(*) FROM embedding WHERE fingerprint = %s", bench.generation(B).fingerprint) == 6
    before = bench.asked(B)
    bench.work(B)
    assert bench.states()[B] == "active"
    assert bench.asked(B) == before, "its vectors were kept, and nothing is paid for twice"


def test_going_back_by_the_setting_is_a_promotion_of_the_complete_previous_generation(migrated: Bench) -> None:
    before = migrated.asked()
    migrated.work(A)
    assert migrated.states() == {A: "active", B: "previous"}
    assert migrated.asked() == before
    assert migrated.value("SELECT count(*) FROM generation") == 2


def test_rollback_holds_the_generation_that_was_left(migrated: Bench) -> None:
    switch = promotion.roll_back(migrated.database)
    assert (switch.left and switch.left.model, switch.entered.model) == (B, A)
    migrated.edit("folder0/late.md", "Written after the rollback.")
    migrated.work(B)
    assert migrated.states() == {A: "active", B: "previous"}, "the setting still names B, and B is held"
    assert migrated.value("SELECT count(*) FROM knowledge_g2") == 7, "it keeps receiving writes"
    assert migrated.value("SELECT count(*) FROM knowledge") == 7
    promotion.promote(migrated.database, migrated.under(B), migrated.generation(B).id)
    assert migrated.states() == {A: "previous", B: "active"}
    assert not migrated.generation(B).held


def test_a_hold_survives_the_end_of_the_soak_and_ends_when_the_setting_names_another(migrated: Bench) -> None:
    promotion.roll_back(migrated.database)
    migrated.execute("UPDATE generation SET left_at = now() - interval '8 days' WHERE state = 'previous'")
    migrated.work(B)
    assert migrated.states() == {A: "active", B: "retired"}
    migrated.work(B)
    assert migrated.value("SELECT count(*) FROM generation") == 2, "it is not built again by itself"
    migrated.work(A)
    migrated.work(B)
    assert migrated.states() == {A: "previous", B: "active"}


def test_rollback_without_a_previous_generation_says_so(bench: Bench) -> None:
    bench.seed(1)
    bench.work(A)
    with pytest.raises(GenerationNotFound, match="no previous generation"):
        promotion.roll_back(bench.database)
    with pytest.raises(GenerationError, match="active one already"):
        promotion.promote(bench.database, bench.settings, 1)
    with pytest.raises(GenerationError, match="cannot be retired"):
        promotion.retire(bench.database, 1)
    with pytest.raises(GenerationNotFound):
        promotion.retire(bench.database, 9)


def test_a_second_rollback_does_not_swing_forward(migrated: Bench) -> None:
    promotion.roll_back(migrated.database)
    with pytest.raises(GenerationNotFound, match="no previous generation"):
        promotion.roll_back(migrated.database)
    assert migrated.states() == {A: "active", B: "previous"}


def test_rollback_refuses_to_lose_documents_unless_told_to(migrated: Bench) -> None:
    migrated.execute("DELETE FROM publication WHERE generation_id = 1 AND document_id = (SELECT min(id) FROM document)")
    with pytest.raises(GateNotPassed, match="lacks 1 documents"):
        promotion.roll_back(migrated.database)
    assert migrated.states()[B] == "active"
    promotion.roll_back(migrated.database, allow_lag=True)
    assert migrated.states()[A] == "active"


def test_the_previous_generation_is_retired_after_its_soak(migrated: Bench) -> None:
    """X05."""
    migrated.execute("UPDATE generation SET left_at = now() - interval '6 days' WHERE state = 'previous'")
    migrated.work(B)
    assert migrated.states()[A] == "previous"
    migrated.execute("UPDATE generation SET left_at = now() - interval '8 days' WHERE state = 'previous'")
    migrated.work(B)
    assert migrated.states()[A] == "retired"
    assert migrated.value("SELECT to_regclass('knowledge_g1')") is None
    assert migrated.value("SELECT count(*) FROM publication WHERE generation_id = 1") == 0
    retired = next(event for event in _events(migrated, 1) if event["event"] == "retired")
    assert retired["detail"]["bytes"] > 0  # type: ignore[index]


def test_five_models_later_no_dead_vectors_remain(bench: Bench) -> None:
    """X05: tables, publications and, after the cache's time, vectors of models that are gone."""
    bench.seed(3)
    models = [f"fake/m{number}-32" for number in range(5)]
    for model in models:
        bench.work(model, generation_soak_days=0.0)
        bench.work(model, generation_soak_days=0.0)
    assert [bench.states()[model] for model in models] == ["retired"] * 4 + ["active"]
    with bench.database.connect() as connection:
        vectors.mark_orphans(connection)
        assert vectors.purge(connection, keep_seconds=3600) == 0, "they stay for a while, in case the model comes back"
        connection.execute("UPDATE embedding SET orphaned_at = orphaned_at - interval '2 hours'")
        assert vectors.purge(connection, keep_seconds=3600) == 12
    assert bench.value("SELECT count(*) FROM embedding") == 3
    tables = bench.rows("SELECT tablename FROM pg_tables WHERE tablename LIKE 'knowledge_g%%'")
    assert tables == [(bench.generation(models[-1]).table,)]


def test_retiring_a_build_by_hand_stops_it_until_it_is_asked_for(bench: Bench) -> None:
    bench.seed()
    bench.work(A)
    bench.work(B, generation_auto_promote=False)
    retired = promotion.retire(bench.database, 2)
    assert retired.chunks == 6
    assert retired.bytes > 0
    bench.work(B)
    assert bench.states() == {A: "active", B: "retired"}
    assert [event["event"] for event in _events(bench, 2)] == ["begun", "retired"]


def test_automatic_promotion_can_be_switched_off(bench: Bench) -> None:
    bench.seed()
    bench.work(A)
    bench.work(B, generation_auto_promote=False)
    assert bench.states() == {A: "active", B: "building"}
    with bench.database.connect() as connection:
        assert generations.gaps(connection, bench.generation(B)) == (0, 0)
        fingerprint = bench.generation(B).fingerprint
        assert due(connection, bench.under(B, generation_auto_promote=False), fingerprint).promote is None
        assert due(connection, bench.under(B), fingerprint).promote == 2


def test_a_folder_at_a_time_builds_the_generation_piece_by_piece(bench: Bench) -> None:
    bench.seed(6, folders=3)
    bench.work(A)
    for number in range(3):
        assert bench.states().get(B, "building") == "building"
        bench.work(B, folders=(f"folder{number}",))
        done = bench.value("SELECT count(*) FROM knowledge_g2")
        assert done == 2 * (number + 1)
    assert bench.states() == {A: "previous", B: "active"}


def test_a_model_that_is_no_longer_what_it_was_is_refused(migrated: Bench) -> None:
    """The canary: nothing is written with a model whose vectors are of another space."""
    migrated.execute(
        "UPDATE generation SET canary = (SELECT canary FROM generation WHERE model = %s) WHERE model = %s", A, B
    )
    before = migrated.table(2)
    migrated.edit("folder0/new.md", "Written while the model was another.")
    with pytest.raises(ModelChanged, match=r"cosine .* Put the old model back"):
        migrated.work(B)
    assert migrated.table(2) == before


def test_details_tell_where_each_generation_stands(migrated: Bench) -> None:
    with migrated.database.connect() as connection:
        rows = {row.model: row for row in generation_states.details(connection)}
        folders = generation_states.folder_progress(connection, 2)
    assert rows[B].chunks == 6
    assert rows[B].documents_missing == rows[B].texts_missing == 0
    assert rows[B].tokens > 0
    assert rows[A].left_at is not None
    assert [(row["folder"], row["documents"], row["published"]) for row in folders] == [
        ("folder0", 3, 3),
        ("folder1", 3, 3),
    ]


def _events(bench: Bench, generation: int) -> list[dict[str, object]]:
    with bench.database.connect() as connection:
        return generation_states.events(connection, generation)


def test_a_process_with_older_settings_neither_abandons_nor_undoes_a_migration(bench: Bench) -> None:
    """A daemon that was not restarted still names A: it keeps every generation up to date, and has no say."""
    bench.seed()
    bench.work(A)
    stale = dict(wishes._wish)
    bench.work(B, folders=("folder0",))

    def as_stale() -> None:
        wishes._wish.clear()
        wishes._wish.update(stale)

    as_stale()
    bench.edit("folder1/new.md", "An edit that the old process takes in.")
    bench.work(A, scope=Scope.CHANGES)
    assert bench.states() == {A: "active", B: "building"}, "not abandoned"
    wishes._wish.clear()
    bench.work(B)
    assert bench.states() == {A: "previous", B: "active"}
    as_stale()
    bench.edit("folder1/new.md", "And another one.")
    bench.work(A, scope=Scope.CHANGES)
    assert bench.states() == {A: "previous", B: "active"}, "not undone"
    for generation in (1, 2):
        content = bench.value(f"SELECT content FROM knowledge_g{generation} WHERE source = 'folder1/new.md'")
        assert content == "And another one."
    wishes._wish.clear()
    bench.work(A)
    assert bench.states() == {A: "active", B: "previous"}, "the same wish in a new process counts"
