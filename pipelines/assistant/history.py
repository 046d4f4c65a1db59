"""Earlier turns for the model, in its library's own messages, without what they were answered from.

Passages belong to their turn: they are stale in the next one, and their numbers would be other passages' then. So calls
stay, what they returned does not, and answers lose their citations: whoever wants to cite has to look up again.
"""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pipelines.assistant.phrases import phrase
from pipelines.storage.chats import PastTurn

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

LONGEST = 24_000
"""Characters of all earlier questions and answers together; the oldest turns are left out first."""

_MARK = re.compile(r"\s?\[\d{1,4}\]")
_RETURNED = "(shown in that turn)"


def kept_messages(messages: "Sequence[ModelMessage]", question: str, answer: str) -> list[Any]:
    """The messages of a turn as they are stored: the question as it was asked, the answer as it was shown."""
    from pydantic_ai.messages import (
        ModelMessagesTypeAdapter,
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

    kept: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(content=question)])]
    for message in messages:
        if isinstance(message, ModelResponse):
            calls = [
                ToolCallPart(part.tool_name, dict(part.args_as_dict()), part.tool_call_id)
                for part in message.parts
                if isinstance(part, ToolCallPart) and _is_object(part.args)
            ]
            returns = [ToolReturnPart(call.tool_name, _RETURNED, call.tool_call_id) for call in calls]
            if calls:
                kept += (ModelResponse(parts=list(calls)), ModelRequest(parts=list(returns)))
    kept.append(ModelResponse(parts=[TextPart(without_marks(answer))]))
    dumped: list[Any] = ModelMessagesTypeAdapter.dump_python(kept, mode="json", exclude_none=True)
    return dumped


def window(history: Sequence[PastTurn]) -> "list[ModelMessage]":
    """The messages of earlier turns, oldest first, as many as fit."""
    from pydantic import ValidationError
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, ModelResponse, TextPart, UserPromptPart

    turns: list[list[ModelMessage]] = []
    room = LONGEST
    for past in reversed(history):
        room -= len(past.question) + len(past.answer)
        if room < 0:
            break
        try:
            messages = ModelMessagesTypeAdapter.validate_python(past.messages or [])
        except ValidationError:  # of another version of the library: the words are there all the same
            messages = []
        if not messages:
            answer = without_marks(past.answer) or phrase("found", past.locale if past.locale == "es" else "en")
            messages = [
                ModelRequest(parts=[UserPromptPart(content=past.question)]),
                ModelResponse(parts=[TextPart(answer)]),
            ]
        turns.append(messages)
    return [message for messages in reversed(turns) for message in messages]


def without_marks(answer: str) -> str:
    """An answer without its citations."""
    return _MARK.sub("", answer)


def _is_object(arguments: object) -> bool:
    """Whether arguments can be sent again: a model may have written anything."""
    try:
        return isinstance(json.loads(arguments or "{}") if isinstance(arguments, str) else arguments, dict)
    except ValueError:
        return False
