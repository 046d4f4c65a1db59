"""The agent: a language model that searches, reads and answers within bounds. Its library is loaded when it is made."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pipelines.assistant import followup, memory, prompt
from pipelines.assistant.desk import Turn
from pipelines.assistant.gate import Gate
from pipelines.assistant.history import kept_messages, window
from pipelines.assistant.model import make_model, model_settings, translated
from pipelines.assistant.phrases import phrase
from pipelines.assistant.shelf import Citable
from pipelines.assistant.tools import LEAD_TOOL, TOOLS, Tool, ToolRefused
from pipelines.assistant.usage import Usage
from pipelines.errors import InvalidQuery, LlmMisbehaved, LlmUnavailable, VaultlineError
from pipelines.settings import Settings
from pipelines.storage import chats, memories
from pipelines.storage.database import Connection

if TYPE_CHECKING:
    from pydantic_ai import Agent
    from pydantic_ai.usage import RunUsage

_TOOL_RETRIES = 2
_REMEMBERED = 20
_SIDE_TOKENS = 300
"""Of the answer to a question that only the server asks: a question reworded, what to remember."""

_log = logging.getLogger(__name__)


class Llm:
    """A language model for all turns of a server. Raises SettingsError where LLM_MODEL cannot be what it says."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._model = make_model(settings)
        tools = (*TOOLS, LEAD_TOOL) if settings.assistant_leads else TOOLS
        self._agent = _make_agent(self._model, settings, tools)

    async def answer(self, turn: Turn, found: Sequence[Citable]) -> None:
        """Have the model answer, given what was found. Raises LlmUnavailable, LlmRefused, LlmMisbehaved."""
        from pydantic_ai.usage import RunUsage

        message = await self._message(turn, found)
        usage = RunUsage()
        try:
            gate = await self._run(turn, message, usage)
        except VaultlineError:
            raise
        except Exception as error:
            raise translated(error, self._settings) from error
        finally:
            turn.usage = _added(turn.usage, usage, self._settings.llm_model)
        turn.answered = gate.open
        if turn.lead and not gate.open:
            turn.answered, turn.style = True, "fixed"
            turn.say(phrase("lead", turn.language))
        elif gate.open:
            turn.unanswered = None

    async def resolve(self, turn: Turn) -> str:
        """The question as it is looked up. The model is asked only where the question leans on the one before."""
        question, previous = " ".join(turn.asked.message.split()), turn.asked.previous
        if not followup.leans(question, previous):
            return question
        earlier = [past.query or past.question for past in turn.asked.history][-4:]
        said = await self._aside(turn, prompt.REWRITE, prompt.rewrite_message(earlier, question))
        lines = [line for line in said.splitlines() if line.strip()]
        wording = " ".join(lines[0].split()).strip("\"'«»“”") if len(lines) == 1 else ""
        return wording if 0 < len(wording) <= followup.LONGEST else followup.resolve(question, previous)

    async def remember(self, turn: Turn) -> None:
        """Keep what the person said about themselves, as far as it can be had; a failure costs a memory."""
        if not self._settings.assistant_memory or not memory.may_tell(turn.asked.message):
            return
        spent, turn.usage = turn.usage, Usage()
        said = await self._aside(turn, prompt.REMEMBER, prompt.remember_message(turn.asked.message[:2_000]))
        used, turn.usage = turn.usage, spent
        notes = memory.read_notes(said, turn.asked.message, self._settings.parse_anonymize)
        session, mine = turn.asked.session, turn.asked.turn

        def store(connection: Connection) -> None:
            memory.keep(connection, session=session, notes=notes)
            chats.add_usage(
                connection,
                mine,
                input_tokens=used.input_tokens,
                output_tokens=used.output_tokens,
                cached_tokens=used.cached_tokens,
                cost_usd=used.cost or 0.0,
            )

        await turn.run(lambda: turn.library.transact(store))

    async def close(self) -> None:
        """Give back the connections."""
        client: Any = self._model
        await client.client.close()

    async def _message(self, turn: Turn, found: Sequence[Citable]) -> str:
        known: list[memories.Memory] = []
        if self._settings.assistant_memory:
            known = await turn.run(
                lambda: turn.library.transact(lambda connection: memories.last_memories(connection, limit=_REMEMBERED))
            )
        message = prompt.turn_message(
            turn.asked.message,
            query=turn.query,
            found=found,
            memories=[(item.kind, item.content) for item in known],
            documents=turn.asked.documents,
            page=turn.asked.page,
            language=turn.language,
            today=datetime.now(UTC).date(),
        )
        if self._settings.assistant_log_content:
            _log.warning("question: %s", message)
        return message

    async def _run(self, turn: Turn, message: str, usage: "RunUsage") -> Gate:
        from pydantic_ai import AgentRunResultEvent, PartDeltaEvent, PartStartEvent, TextPartDelta
        from pydantic_ai.messages import FunctionToolCallEvent, TextPart
        from pydantic_ai.usage import UsageLimits

        settings = self._settings
        gate, result = Gate(turn), None
        async with self._agent.run_stream_events(
            message,
            deps=turn,
            message_history=window(turn.asked.history),
            usage=usage,
            usage_limits=UsageLimits(
                request_limit=settings.assistant_tool_calls + 2, total_tokens_limit=settings.assistant_turn_tokens
            ),
        ) as stream:
            async for event in stream:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    gate.feed(event.part.content)
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    gate.feed(event.delta.content_delta)
                elif isinstance(event, FunctionToolCallEvent) and not gate.open:
                    gate = Gate(turn)  # what was said before a call was no answer
                elif isinstance(event, AgentRunResultEvent):
                    result = event.result
        gate.finish()
        if result is None or (reason := result.response.finish_reason) is None:
            raise LlmUnavailable(f"the language model {settings.llm_model} broke off in the middle of its answer")
        if settings.assistant_log_content:
            _log.warning("answer: %s", result.output)
        if reason != "stop":
            raise LlmMisbehaved(f"the language model {settings.llm_model} stopped early: {reason}")
        turn.messages = kept_messages(result.new_messages(), turn.asked.message, turn.said)
        return gate

    async def _aside(self, turn: Turn, instructions: str, message: str) -> str:
        """A short answer that only the server sees; empty where there is none: then the turn goes on without it."""
        from pydantic_ai import Agent
        from pydantic_ai.usage import RunUsage

        usage = RunUsage()
        agent = Agent(self._model, instructions=instructions, retries=0)
        bounds = model_settings(self._settings) | {"max_tokens": _SIDE_TOKENS}
        try:
            result = await agent.run(message, model_settings=bounds, usage=usage)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            _log.warning("%s", translated(error, self._settings))
            return ""
        finally:
            turn.usage = _added(turn.usage, usage, self._settings.llm_model)
        return result.output


def _make_agent(model: Any, settings: Settings, tools: Sequence[Tool]) -> "Agent[Turn, str]":
    from pydantic_ai import Agent

    return Agent(
        model,
        deps_type=Turn,
        instructions=prompt.instructions(leads=settings.assistant_leads),
        tools=[_bound(tool, most=settings.assistant_tool_calls) for tool in tools],
        model_settings=model_settings(settings),
        retries={"tools": _TOOL_RETRIES, "output": 1},
    )


def _bound(tool: Tool, *, most: int) -> Any:
    """A tool for the library: schema from the arguments, errors as failed calls, calls counted."""
    from pydantic_ai import RunContext, ToolFailed
    from pydantic_ai import Tool as LibraryTool

    async def call(ctx: Any, asked: Any) -> str:
        turn: Turn = ctx.deps
        turn.calls += 1
        if turn.calls > most:
            raise ToolFailed("no more calls in this turn: answer with the passages that you have")
        try:
            return await tool.run(turn, asked)
        except (ToolRefused, InvalidQuery) as error:
            raise ToolFailed(str(error)) from error

    call.__annotations__ = {"ctx": RunContext[Turn], "asked": tool.arguments, "return": str}
    return LibraryTool(call, takes_ctx=True, name=tool.name, description=tool.description, sequential=True)


def _added(before: Usage, used: "RunUsage", model: str | None) -> Usage:
    cost = None if used.cost is None else float(used.cost)
    if before.cost is not None:
        cost = before.cost + (cost or 0.0)
    return Usage(
        input_tokens=before.input_tokens + used.input_tokens,
        output_tokens=before.output_tokens + used.output_tokens,
        cached_tokens=before.cached_tokens + used.cache_read_tokens,
        cost=cost,
        model=model,
    )
