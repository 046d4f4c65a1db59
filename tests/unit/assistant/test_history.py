"""Earlier turns, as the model is shown them."""

from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from pipelines.assistant.history import LONGEST, kept_messages, window
from pipelines.storage.chats import PastTurn


def past(question: str, answer: str, messages: list[object] | None = None) -> PastTurn:
    return PastTurn(question, question, "en", "prose", answer, True, messages)


def test_passages_and_citations_stay_behind_and_calls_keep_their_returns() -> None:
    run = [
        ModelRequest(parts=[UserPromptPart("passages: secret text\n\nQuestion: q")]),
        ModelResponse(parts=[TextPart("Let me look"), ToolCallPart("search_knowledge_base", {"query": "x"}, "c1")]),
        ModelRequest(parts=[ToolReturnPart("search_knowledge_base", "secret text", "c1")]),
        ModelResponse(parts=[ToolCallPart("search_knowledge_base", "{broken", "c2")]),
        ModelResponse(parts=[TextPart("raw [9] answer")]),
    ]
    kept = kept_messages(run, "q", "The answer [1], checked [2].")
    assert "secret" not in str(kept)
    messages = window([past("q", "The answer [1].", kept)])
    assert [type(message.parts[0]).__name__ for message in messages] == [
        "UserPromptPart",
        "ToolCallPart",
        "ToolReturnPart",
        "TextPart",
    ]
    assert messages[0].parts[0].content == "q"
    assert messages[-1].parts[0].content == "The answer, checked."


def test_turns_without_a_model_and_of_another_version_are_words() -> None:
    for stored in (None, [{"kind": "from the future"}]):
        messages = window([past("q", "No [1].", stored)])
        assert [message.parts[0].content for message in messages] == ["q", "No."]


def test_the_oldest_turns_are_left_out_where_there_are_too_many() -> None:
    long = "x" * (LONGEST // 2 - 10)
    messages = window([past("first", long), past("second", long), past("third", "short")])
    assert [message.parts[0].content for message in messages[::2]] == ["second", "third"]
