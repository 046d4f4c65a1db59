"""Chat without a language model: passages, cited, or that the documents do not say."""

import httpx
import psycopg
import pytest

from pipelines.serving.memories import Config
from pipelines.serving.sessions import SessionBody, SessionPage
from pipelines.settings import Settings
from pipelines.storage import chats
from pipelines.sync import sync
from tests.integration.assistant.conftest import ROLLBACK, Chat, copy_vault, served


def test_a_question_is_answered_with_cited_passages(plain: Chat) -> None:
    told = plain.ask(ROLLBACK)
    assert told.headers["content-type"].startswith("text/event-stream")
    assert [name for name, _ in told.events][:2] == ["tool_start", "sources"]
    assert told.named("tool_start") == [{"name": "search_knowledge_base", "query": ROLLBACK, "rewritten": False}]
    first = told.sources[0]
    assert (first["n"], first["id"], first["source"], first["lines"]) == (1, "c1", "runbooks/deploy.md", [5, 7])
    assert "needs no approval" in first["text"]
    assert "needs no approval" in told.text
    assert "[1]" in told.text
    assert told.end == {
        "session_id": told.session,
        "turn_id": told.headers["vaultline-turn"],
        "complete": True,
        "answered": True,
        "cancelled": False,
        "removed_citations": 0,
        "contact": None,
        "usage": {"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "cost": None, "model": None},
    }


def test_what_no_document_says_is_refused_offered_a_contact_and_listed(plain: Chat) -> None:
    question = "what is the capital of mongolia"
    told = plain.ask(question)
    assert told.sources == []
    assert told.text == "I have no such information: no document answers this. You can ask #ayuda."
    assert (told.end["answered"], told.end["complete"], told.end["contact"]) == (False, True, "#ayuda")
    listed = plain.client.get("/api/unanswered").json()["questions"]
    assert question in [item["question"] for item in listed]
    entry = next(item for item in plain.client.get("/api/sessions").json()["sessions"] if item["id"] == told.session)
    assert entry["unanswered"] is True


def test_excluded_notes_are_no_answer(plain: Chat) -> None:
    assert "zanzibar" not in plain.ask("what is the zanzibar plan").raw.replace("the zanzibar plan", "")


def test_a_follow_up_is_looked_up_as_what_it_means_and_a_new_topic_as_itself(plain: Chat) -> None:
    first = plain.ask("vacaciones en 2025")
    assert "veintitrés" in first.text
    second = plain.ask("¿y el año siguiente?", first.session)
    assert second.named("tool_start")[0] == {
        "name": "search_knowledge_base",
        "query": "vacaciones en 2026",
        "rewritten": True,
    }
    assert "veinticinco días laborables" in second.sources[0]["text"]
    third = plain.ask("¿qué día de cada mes se paga la nómina?", first.session)
    assert third.named("tool_start")[0]["query"] == "¿qué día de cada mes se paga la nómina?"
    assert third.sources[0]["source"] == "hr/nominas.md"
    turns = plain.session(first.session)["turns"]
    assert [turn["query"] for turn in turns] == [
        "vacaciones en 2025",
        "vacaciones en 2026",
        "¿qué día de cada mes se paga la nómina?",
    ]
    assert [turn["rewritten"] for turn in turns] == [False, True, False]


@pytest.mark.parametrize(
    ("message", "answer"), [("Hola!", "Hola."), ("thanks", "You are welcome."), ("gracias", "De nada.")]
)
def test_courtesy_is_no_question(plain: Chat, message: str, answer: str) -> None:
    told = plain.ask(message)
    assert told.text.startswith(answer)
    assert [name for name, _ in told.events] == ["text", "end"]
    assert told.end["answered"] is True


def test_a_session_is_read_as_it_was_shown_renamed_limited_and_deleted(plain: Chat) -> None:
    told = plain.ask(ROLLBACK)
    body = plain.session(told.session)
    SessionBody.model_validate_json(plain.client.get(f"/api/sessions/{told.session}").content)
    SessionPage.model_validate_json(plain.client.get("/api/sessions").content)
    [turn] = body["turns"]
    assert (body["title"], turn["question"], turn["answer"]) == (ROLLBACK, ROLLBACK, told.text)
    assert [{**source, "gone": False} for source in told.sources] == [
        {**s, "score": o["score"]} for s, o in zip(turn["sources"], told.sources, strict=True)
    ]

    url = f"/api/sessions/{told.session}"
    changed = plain.client.patch(url, json={"title": " Sobre\n despliegues "}).json()
    assert (changed["title"], changed["documents"]) == ("Sobre despliegues", None)
    assert plain.client.patch(url, json={"documents": ["hr/nominas.md"]}).json()["documents"] == ["hr/nominas.md"]
    elsewhere = plain.ask(ROLLBACK, told.session)
    assert {source["source"] for source in elsewhere.sources} <= {"hr/nominas.md"}
    assert "needs no approval" not in elsewhere.raw
    assert plain.client.patch(url, json={"documents": None}).json()["documents"] is None
    assert plain.ask(ROLLBACK, told.session).sources[0]["source"] == "runbooks/deploy.md"

    assert plain.client.delete(url).status_code == 204
    assert plain.client.get(url).json()["code"] == "session_not_found"
    assert plain.client.delete(url).status_code == 404
    assert plain.ask(ROLLBACK, told.session).status == 404
    with plain.database().connect() as connection:
        row = connection.execute("SELECT count(*) FROM chat_turn WHERE session_id = %s", (told.session,)).fetchone()
        assert row == (0,)


def test_no_text_of_a_note_is_copied_and_what_is_taken_out_of_the_vault_is_gone_from_old_answers(
    indexed: Settings, settings: Settings, tmp_path: object
) -> None:
    root = copy_vault(indexed, (settings.vault_path or tmp_path) / "copy")  # type: ignore[operator]
    own = settings.model_copy(update={"vault_path": root, "serving_uploads": False})
    sync(own)
    with served(own) as chat:
        told = chat.ask(ROLLBACK)
        [turn] = chat.session(told.session)["turns"]
        assert "needs no approval" in turn["answer"]
        with chat.database().connect() as connection:
            rows = connection.execute("SELECT t::text FROM chat_turn t UNION ALL SELECT s::text FROM chat_session s")
            assert not [row for row in rows if "green build" in str(row[0])]
        (root / "runbooks" / "deploy.md").unlink()
        sync(own, allow_deletes=True)
        [turn] = chat.session(told.session)["turns"]
        assert "needs no approval" not in str(turn)
        assert turn["sources"][0] | {"score": 0} == {
            "n": 1,
            "id": "c1",
            "source": "runbooks/deploy.md",
            "title": "",
            "section": "",
            "lines": [5, 7],
            "pages": None,
            "text": "",
            "score": 0,
            "locale": "en",
            "gone": True,
        }
        assert "no longer in the documents" in turn["answer"]


def test_the_set_up_is_told(plain: Chat) -> None:
    body = plain.client.get("/api/config").content
    config = Config.model_validate_json(body)
    assert (config.assistant.model, config.assistant.contact, config.locale) == (None, "#ayuda", "es")
    assert config.assistant.memory is False
    assert plain.client.get("/api/memories").json() == {"memories": [], "enabled": False}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"message": "   "}, 400, "invalid_query"),
        ({"message": ""}, 422, "invalid_parameter"),
        ({"message": "x" * 8_001}, 400, "invalid_query"),
        ({"message": "a\0b"}, 422, "invalid_parameter"),
        ({"message": "x", "session_id": "1"}, 422, "invalid_parameter"),
        ({"message": "x", "session_id": "00000000-0000-0000-0000-000000000000"}, 404, "session_not_found"),
        ({"message": "x", "model": "openai/expensive"}, 422, "invalid_parameter"),
        ({"message": "x", "locale": "fr"}, 422, "invalid_parameter"),
        ([], 422, "invalid_parameter"),
    ],
)
def test_what_cannot_be_asked_is_a_problem(plain: Chat, body: object, status: int, code: str) -> None:
    answer = plain.client.post("/api/chat", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"


def test_bodies_are_json_and_bounded_whatever_length_they_claim(plain: Chat) -> None:
    assert (
        plain.client.post("/api/chat", content=b'{"message": "x"}', headers={"Content-Type": "text/plain"}).status_code
        == 415
    )

    def endless() -> object:
        for _ in range(100):
            yield b'{"message": "' + b"x" * 10_000

    answer = plain.client.post("/api/chat", content=endless(), headers={"Content-Type": "application/json"})  # type: ignore[arg-type]
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_messages_of_a_client_and_of_a_session_are_bounded(indexed: Settings) -> None:
    few = indexed.model_copy(update={"assistant_requests_per_minute": 4, "assistant_session_messages": 2})
    with served(few) as chat:
        session = chat.ask("hola").session
        assert chat.ask("hola", session).status == 200
        refused = chat.ask("hola", session)
        assert (refused.status, "session_full" in refused.raw) == (409, True)
        assert chat.ask("hola").status == 200
        answer = chat.client.post("/api/chat", json={"message": "hola"})
        assert (answer.status_code, answer.json()["code"]) == (429, "too_many_requests")
        assert int(answer.headers["retry-after"]) > 0


def test_a_killed_server_leaves_no_session_that_is_busy_for_ever(plain: Chat) -> None:
    session = plain.ask(ROLLBACK).session
    with plain.database().connect() as connection:
        connection.execute(
            "UPDATE chat_turn SET state = 'running', answer = 'Half an', ended_at = NULL, style = 'prose' "
            "WHERE session_id = %s",
            (session,),
        )
    assert plain.ask("hola", session).status == 409
    assert plain.session(session)["turns"][0]["running"] is True
    with plain.database().connect() as connection:
        connection.execute(
            "UPDATE chat_turn SET touched_at = now() - interval '1 minute' WHERE session_id = %s", (session,)
        )
    assert plain.ask("hola", session).status == 200
    turn = plain.session(session)["turns"][0]
    assert (turn["complete"], turn["running"], turn["problem"], turn["answer"]) == (
        False,
        False,
        "interrupted",
        "Half an",
    )


def test_two_running_turns_of_a_session_are_impossible_for_the_database_too(plain: Chat) -> None:
    session = plain.ask(ROLLBACK).session
    insert = (
        "INSERT INTO chat_turn (id, session_id, ordinal, question) "
        "SELECT gen_random_uuid(), %s, o, 'x' FROM generate_series(7, 8) AS o"
    )
    with psycopg.connect(plain.database().url) as connection, pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute(insert, (session,))


def test_a_turn_that_begins_again_after_a_lost_connection_is_one_turn(plain: Chat) -> None:
    from uuid import uuid4

    session, turn = uuid4(), uuid4()
    for _ in range(2):
        with plain.database().connect() as connection:
            chats.begin_turn(connection, session=session, turn=turn, question="q", title="t", history=5, most=5)
    with plain.database().connect() as connection:
        assert len(chats.turns(connection, session)) == 1


def test_the_page_of_another_site_cannot_chat(plain: Chat) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
        answer = plain.client.post("/api/chat", json={"message": "hola"}, headers=headers)
        assert answer.status_code in (403, 421), headers


def test_where_a_token_is_set_every_route_wants_it(indexed: Settings) -> None:
    from pydantic import SecretStr

    with served(indexed.model_copy(update={"serving_token": SecretStr("correct-horse-battery")})) as chat:
        for method, path in (
            ("POST", "/api/chat"),
            ("GET", "/api/sessions"),
            ("GET", "/api/memories"),
            ("GET", "/api/leads"),
            ("GET", "/api/config"),
        ):
            assert chat.client.request(method, path).status_code == 401
        headers = {"Authorization": "Bearer correct-horse-battery"}
        assert httpx.get(f"{chat.url}/api/config", headers=headers).status_code == 200
