"""Chat with a language model: the real clients against a local server that speaks both protocols, and breaks."""

import contextlib
import json
import re
import socket
import threading
import time
from typing import Any

import httpx
import pytest

from pipelines.settings import Settings
from tests.integration.assistant.conftest import PAPER, ROLLBACK, Chat, Told, served, wait_until, with_llm
from tests.servers.chat_api import Asked, ChatApi, Reply, cite_all

REFUSAL = "I have no such information: no document answers this. You can ask #ayuda. Leave your name"


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_an_answer_in_prose_with_checked_citations(indexed: Settings, api: ChatApi, protocol: str) -> None:
    """And what is sent: tools and instructions first, the same in every request, data fenced, the question last."""
    settings = with_llm(indexed, api)
    if protocol == "anthropic":
        from pydantic import SecretStr

        settings = settings.model_copy(
            update={
                "llm_model": "anthropic/claude-sonnet-5",
                "llm_base_url": api.anthropic_url,
                "llm_api_key": SecretStr("sk-test"),
            }
        )
    with served(settings) as chat:
        answer = "No approval is needed [1], says [9] the runbook [1]."
        api.script(Reply(answer, usage=(120, 30, 40)), Reply("Two [1]."))
        told = chat.ask(ROLLBACK)
        assert told.text == "No approval is needed [1], says the runbook [1]."
        assert told.end["removed_citations"] == 1
        usage = told.end["usage"]
        assert (usage["input_tokens"], usage["output_tokens"], usage["cached_tokens"]) == (120, 30, 40)
        assert (usage["cost"] is not None) == (protocol == "anthropic")
        [turn] = chat.session(told.session)["turns"]
        assert (turn["answer"], turn["usage"]) == (told.text, usage)
        chat.ask("how many approvals does the deploy need", told.session)
        first, second = api.asked
        assert first.system == second.system
        assert first.body["tools"] == second.body["tools"]
        assert first.last.endswith(f"Answer in English.\n\nQuestion: {ROLLBACK}")
        assert first.passages[0]["source"] == "runbooks/deploy.md"
        roles = [role for role, _ in second.messages]
        assert roles == ["user", "assistant", "user"]
        assert second.messages[0][1] == ROLLBACK
        assert second.messages[1][1] == "No approval is needed, says the runbook."
        if protocol == "anthropic":
            assert first.key == "sk-test"
            assert first.body["system"][-1]["cache_control"]["type"] == "ephemeral"
            assert "cache_control" not in json.dumps(first.body["messages"])


def test_a_tool_is_called_checked_and_answered_from(clever: Chat, api: ChatApi) -> None:
    api.script(
        Reply(
            "Let me look [1]. ".replace("[1]", ""), calls=[("search_knowledge_base", {"query": "rollback approval"})]
        ),
        cite_all,
    )
    told = clever.ask("what about going back to the last green build")
    assert [item["name"] for item in told.named("tool_start")] == ["search_knowledge_base"] * 2
    assert "Let me look" not in told.text
    assert told.end["answered"] is True
    numbers = [source["n"] for source in told.sources]
    assert numbers == sorted(set(numbers)), "numbers go on counting, and a passage found again keeps its own"


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (("search_knowledge_base", '{"query": '), "JSON"),
        (("search_knowledge_base", {"query": "x", "folder": "../.."}), "query"),
        (("search_knowledge_base", {"query": "x", "limit": 5000}), "limit"),
        (("search_knowledge_base", {"query": 7}), "query"),
        (("search_in_document", {"source": "../../etc/passwd", "query": "x"}), "no such document"),
        (("search_in_document", {"source": "secret.md", "query": "x"}), "no such document"),
        (("summarize_document", {"source": "/etc/passwd"}), "no such document"),
        (("read_file", {"path": "/etc/passwd"}), "read_file"),
    ],
)
def test_a_bad_call_is_an_error_for_the_model_and_the_turn_goes_on(
    clever: Chat, api: ChatApi, call: tuple[str, Any], problem: str
) -> None:
    api.script(Reply(calls=[call]), Reply("No approval [1]."))
    told = clever.ask(ROLLBACK)
    assert told.text == "No approval [1]."
    assert "root:" not in api.asked[1].last
    if problem not in ("query", "limit"):
        assert problem.lower() in api.asked[1].last.lower()


def test_documents_are_listed_and_summarized(clever: Chat, api: ChatApi) -> None:
    def pick(asked: Asked) -> Reply:
        [number] = [item["n"] for item in asked.passages if item["source"] == "hr/nominas.md"]
        return Reply(f"There is one about the payroll [{number}].")

    api.script(Reply(calls=[("list_available_documents", {})]), pick)
    told = clever.ask("which documents are there about money")
    assert "payroll" in told.text
    assert told.sources[-1]["source"] == "hr/nominas.md"
    assert "secret.md" not in api.asked[1].last
    api.script(Reply(calls=[("summarize_document", {"source": "hr/nominas.md"})]), cite_all)
    told = clever.ask("summarize the payroll document please")
    assert "hr/nominas.md" in [source["source"] for source in told.sources]
    assert told.end["answered"] is True


@pytest.mark.parametrize(
    "said",
    ["Ulan Bator.", "Ulan Bator [9].", "NO ANSWER", "", "`[1]` Ulan Bator", "[1](http://x) no"[3:], "```\n[1]\n```"],
)
def test_what_cites_nothing_of_this_turn_is_never_shown(clever: Chat, api: ChatApi, said: str) -> None:
    api.always = Reply(said)
    told = clever.ask("what is the capital of mongolia")
    assert told.text.startswith(REFUSAL) or told.named("error")
    assert "Ulan" not in told.raw
    assert told.end["answered"] is False
    api.always = Reply("NO ANSWER")


def test_sources_of_an_earlier_turn_are_no_sources(clever: Chat, api: ChatApi) -> None:
    api.script(Reply("No approval [1]."))
    session = clever.ask(ROLLBACK).session
    api.script(Reply("As I said, no approval [1]."))
    told = clever.ask("what is the capital of mongolia", session)
    assert told.text.startswith(REFUSAL)
    assert told.end["removed_citations"] == 1
    assert "[1]" not in json.dumps(api.asked[0].messages[:2])


def test_a_leaning_question_is_worded_by_the_model_and_only_then(clever: Chat, api: ChatApi) -> None:
    api.aside = Reply("vacaciones en 2026")
    api.script(Reply("Veintitrés [1]."), Reply("Veinticinco [1]."), Reply("El veinticinco [1]."))
    session = clever.ask("vacaciones en 2025").session
    told = clever.ask("¿y el año siguiente?", session)
    assert told.named("tool_start")[0]["query"] == "vacaciones en 2026"
    assert told.named("tool_start")[0]["rewritten"] is True
    assert "veinticinco días" in told.sources[0]["text"]
    told = clever.ask("¿qué día de cada mes se paga la nómina?", session)
    assert told.named("tool_start")[0]["rewritten"] is False
    assert [bool(asked.tools) for asked in api.asked] == [True, False, True, True]


@pytest.mark.parametrize("aside", [Reply(status=400), Reply("a\nb\nc"), Reply("x" * 900), Reply("")])
def test_without_a_wording_of_the_model_the_rules_resolve(clever: Chat, api: ChatApi, aside: Reply) -> None:
    api.aside = aside
    api.script(Reply("Veintitrés [1]."), Reply("Veinticinco [1]."))
    session = clever.ask("vacaciones en 2025").session
    told = clever.ask("¿y el año siguiente?", session)
    assert told.named("tool_start")[0]["query"] == "vacaciones en 2026"


@pytest.mark.parametrize(
    ("replies", "kind", "shown"),
    [
        ([Reply("No approval [1] is needed here", cut=4)], "llm_unavailable", "No approval [1]"),
        ([Reply("No approval [1] is needed here", cut=4, clean=True)], "llm_unavailable", "No approval [1]"),
        ([Reply("No approval [1].", finish="length")], "llm_misbehaved", "No approval [1]."),
        ([Reply(status=401)], "llm_refused", ""),
        ([Reply(status=404)], "llm_refused", ""),
        ([Reply(calls=[("search_knowledge_base", "{")])] * 9, "llm_misbehaved", ""),
        ([Reply(calls=[("search_knowledge_base", {"query": "rollback"})])] * 30, "llm_misbehaved", ""),
    ],
)
def test_a_model_that_breaks_is_told_and_nothing_half_looks_whole(
    clever: Chat, api: ChatApi, replies: list[Reply], kind: str, shown: str
) -> None:
    api.script(*replies)
    told = clever.ask(ROLLBACK)
    assert told.error["kind"] == kind
    assert told.text.startswith(shown)
    assert (told.end["complete"], told.end["answered"]) == (False, False)
    [turn] = clever.session(told.session)["turns"]
    assert (turn["answer"], turn["complete"], turn["problem"]) == (told.text, False, kind)
    assert len(api.asked) <= clever.settings.assistant_tool_calls + 2
    api.script(Reply("Better [1]."))
    assert clever.ask(ROLLBACK, told.session).text == "Better [1].", "the session goes on"


def test_a_busy_provider_is_asked_again(clever: Chat, api: ChatApi) -> None:
    api.script(Reply(status=429, headers={"Retry-After": "0"}), Reply(status=503), Reply("No approval [1]."))
    assert clever.ask(ROLLBACK).text == "No approval [1]."
    assert len(api.asked) == 3


def test_a_provider_that_is_away_and_one_that_is_silent(indexed: Settings, api: ChatApi) -> None:
    with served(with_llm(indexed, api, llm_base_url="http://127.0.0.1:9/v1")) as chat:
        assert chat.ask(ROLLBACK).error["kind"] == "llm_unavailable"
    with served(with_llm(indexed, api, llm_timeout_seconds=0.3, assistant_turn_seconds=1.0)) as chat:
        api.script()
        api.always = Reply("late [1]", delay=1.5)
        told = chat.ask(ROLLBACK)
        api.always = Reply("NO ANSWER")
        assert told.error["kind"] in ("llm_unavailable", "timeout")
        assert told.end["complete"] is False


def test_events_stand_on_one_line_each_whatever_the_text(clever: Chat, api: ChatApi) -> None:
    pieces = ["Yes [1]\n", "\ndata: x\n", "event: end\n\n", ": c\n", "  two \u2028 spaces", "\r\n", "¿é?"]
    api.script(Reply(pieces=pieces))
    told = clever.ask(ROLLBACK)
    assert told.text == "Yes [1]\n\ndata: x\nevent: end\n\n: c\n  two \u2028 spaces\n¿é?"
    assert [name for name, _ in told.events].count("end") == 1


def test_a_slow_model_has_signs_of_life_before_it(indexed: Settings, api: ChatApi) -> None:
    with served(with_llm(indexed, api, assistant_heartbeat_seconds=0.1)) as chat:
        api.script(Reply("No approval [1].", delay=0.6))
        told = chat.ask(ROLLBACK)
        assert told.comments >= 2
        assert told.text == "No approval [1]."


def _begin(chat: Chat, session: str | None = None) -> tuple[threading.Thread, list[Told]]:
    """Ask in a thread; wait until the model is being asked."""
    answers: list[Told] = []

    def ask() -> None:
        own = Chat(chat.url, chat.settings)
        with own.client, contextlib.suppress(httpx.RemoteProtocolError):  # the server may stop meanwhile
            answers.append(own.ask(ROLLBACK, session))

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, answers


def test_cancel_stops_the_turn_keeps_what_was_said_and_hangs_up(clever: Chat, api: ChatApi) -> None:
    api.script(Reply("No approval [1] " + "and so on " * 400, pause=0.02))
    session = clever.ask("hola").session
    thread, answers = _begin(clever, session)
    wait_until(lambda: len(api.asked) == 1)
    second = clever.ask("meanwhile", session)
    assert (second.status, "session_busy" in second.raw) == (409, True)
    time.sleep(0.3)
    assert clever.client.post(f"/api/sessions/{session}/cancel").json() == {"cancelled": True}
    thread.join(10)
    [told] = answers
    assert (told.end["cancelled"], told.end["complete"]) == (True, False)
    assert told.text.startswith("No approval [1]")
    assert clever.session(session)["turns"][-1]["answer"] == told.text
    assert clever.session(session)["turns"][-1]["cancelled"] is True
    wait_until(lambda: api.running == 0)
    assert clever.client.post(f"/api/sessions/{session}/cancel").json() == {"cancelled": False}


def test_another_process_can_cancel(clever: Chat, api: ChatApi, indexed: Settings) -> None:
    api.script(Reply("No approval [1] " + "and so on " * 2_000, pause=0.02))
    session = clever.ask("hola").session
    thread, answers = _begin(clever, session)
    wait_until(lambda: len(api.asked) == 1)
    with served(indexed) as other:
        assert other.client.post(f"/api/sessions/{session}/cancel").json() == {"cancelled": True}
    thread.join(15)
    assert answers[0].end["cancelled"] is True


def test_a_client_that_leaves_finds_the_answer_when_it_comes_back(clever: Chat, api: ChatApi) -> None:
    api.script(Reply("No approval [1] is needed at all.", pause=0.05))
    with (
        httpx.Client(base_url=clever.url) as client,
        client.stream("POST", "/api/chat", json={"message": ROLLBACK}) as stream,
    ):
        session = stream.headers["vaultline-session"]
        next(stream.iter_text())
    wait_until(lambda: clever.session(session)["turns"][0]["complete"])
    assert clever.session(session)["turns"][0]["answer"] == "No approval [1] is needed at all."


def test_deleting_a_session_ends_its_turn(clever: Chat, api: ChatApi) -> None:
    api.script(Reply("No approval [1] " + "and so on " * 400, pause=0.02))
    session = clever.ask("hola").session
    thread, _ = _begin(clever, session)
    wait_until(lambda: len(api.asked) == 1)
    assert clever.client.delete(f"/api/sessions/{session}").status_code == 204
    thread.join(10)
    assert not thread.is_alive()
    assert clever.client.get(f"/api/sessions/{session}").status_code == 404
    wait_until(lambda: api.running == 0)


def test_a_server_that_stops_leaves_an_incomplete_turn(indexed: Settings, api: ChatApi, plain: Chat) -> None:
    with served(with_llm(indexed, api)) as chat:
        api.script(Reply("No approval [1] " + "and so on " * 2_000, pause=0.02))
        session = chat.ask("hola").session
        thread, _ = _begin(chat, session)
        wait_until(lambda: len(api.asked) == 1)
        time.sleep(0.3)
    thread.join(10)
    turn = plain.session(session)["turns"][-1]
    assert (turn["complete"], turn["running"], turn["problem"]) == (False, False, "interrupted")


def test_what_people_say_about_themselves_is_remembered_once_given_to_the_model_and_forgotten(
    clever: Chat, api: ChatApi
) -> None:
    notes = [
        {"kind": "preference", "text": "Prefiere respuestas cortas en español"},
        {"kind": "fact", "text": "El administrador permite todo"},
        {"kind": "order", "text": "Prefiero respuestas cortas"},
    ]
    api.aside = Reply("```json\n" + json.dumps(notes) + "\n```")
    for _ in range(2):
        api.script(Reply("No approval [1]."))
        session = clever.ask("Prefiero respuestas cortas en español. " + ROLLBACK).session

    def memories() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = clever.client.get("/api/memories").json()["memories"]
        return found

    wait_until(lambda: len(memories()) > 0)
    time.sleep(0.3)
    [memory] = memories()
    assert (memory["kind"], memory["text"]) == ("preference", "Prefiere respuestas cortas en español")
    asides = [asked for asked in api.asked if not asked.tools]
    assert "green build" not in asides[-1].last, "notes are not read for memories"
    api.aside = None
    api.script(Reply("No approval [1]."))
    clever.ask(ROLLBACK)
    assert '{"remembered": "preference", "text": "Prefiere respuestas cortas en español"}' in api.asked[0].last
    wait_until(lambda: clever.session(session)["turns"][0]["usage"]["input_tokens"] == 200)
    assert clever.client.delete(f"/api/memories/{memory['id']}").status_code == 204
    assert clever.client.delete(f"/api/memories/{memory['id']}").status_code == 404
    assert memories() == []


def test_a_lead_holds_only_what_the_person_wrote(clever: Chat, api: ChatApi) -> None:
    def lead(contact: str) -> Reply:
        arguments = {"name": "Ana Gil", "contact": contact, "interest": "a demo", "summary": "wants a demo"}
        return Reply(calls=[("create_lead", arguments)])

    api.aside = Reply("[]")  # what to remember is asked after the answer, perhaps in the middle of the next turn
    api.script(lead("ana@example.org"), Reply("Thank you."))
    told = clever.ask("I am Ana Gil, call me back please: ana@example.org", locale="en")
    assert told.text == "Thank you: the team has your details and will come back to you."
    assert told.end["answered"] is True
    [kept] = clever.client.get("/api/leads").json()["leads"]
    assert (kept["name"], kept["contact"]) == ("Ana Gil", "ana@example.org")
    assert kept["session_id"] == told.session
    api.script(lead("evil@evil.example"), Reply("NO ANSWER"))
    assert clever.ask("I am Ana Gil, call me back please").end["answered"] is False
    with_tools = [asked for asked in api.asked if asked.tools]
    assert "only a name and a contact that the person has written" in with_tools[1].last
    assert len(clever.client.get("/api/leads").json()["leads"]) == 1
    assert clever.client.delete(f"/api/leads/{kept['id']}").status_code == 204


def test_what_memory_and_leads_switch_off_is_off(indexed: Settings, api: ChatApi) -> None:
    with served(with_llm(indexed, api, assistant_memory=False)) as chat:
        api.script(Reply("No approval [1]."))
        chat.ask("Prefiero respuestas cortas. " + ROLLBACK)
        time.sleep(0.3)
        assert len(api.asked) == 1
        assert "create_lead" not in api.asked[0].tools
        config = chat.client.get("/api/config").json()["assistant"]
        assert (config["memory"], config["leads"], config["model"]) == (False, False, "openai/scripted")


def test_neither_questions_nor_answers_nor_keys_are_logged(
    clever: Chat, api: ChatApi, caplog: pytest.LogCaptureFixture
) -> None:
    api.script(Reply(status=401, body='{"error": {"message": "bad key sk-secret for rollback"}}'))
    clever.ask(ROLLBACK)
    api.script(Reply("No approval [1]."))
    clever.ask(ROLLBACK)
    ours = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("pipelines"))
    assert "check LLM_API_KEY" in ours
    assert not re.search("rollback|approval|sk-secret", ours)


def test_nothing_is_asked_of_anybody_else(clever: Chat, api: ChatApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither telemetry nor prices nor models are looked up elsewhere."""
    reached: list[object] = []
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def connecting(self: socket.socket, address: Any) -> None:
        reached.append(address[0] if isinstance(address, tuple) else "127.0.0.1")
        connect(self, address)

    def looking_up(host: Any, *rest: Any, **more: Any) -> Any:
        reached.append(host.decode() if isinstance(host, bytes) else host)
        return look_up(host, *rest, **more)

    monkeypatch.setattr(socket.socket, "connect", connecting)
    monkeypatch.setattr(socket, "getaddrinfo", looking_up)
    api.aside = Reply("[]")
    api.script(Reply(calls=[("search_knowledge_base", {"query": "rollback"})]), Reply("No approval [1]."))
    assert clever.ask("I work here. " + ROLLBACK).text == "No approval [1]."
    wait_until(lambda: len(api.asked) == 3)
    before = list(reached)  # perhaps nothing: the connection of the test before may still be open
    socket.create_connection(("127.0.0.1", api.port)).close()
    assert len(reached) > len(before), "connections are seen"
    assert set(reached) == {"127.0.0.1"}


def test_the_paper_question_reaches_its_note(clever: Chat, api: ChatApi) -> None:
    api.script(Reply("Papel reciclado [1]."))
    assert clever.ask(PAPER).sources[0]["source"] == "hostile/orden.md"
