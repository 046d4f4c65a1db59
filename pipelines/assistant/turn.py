"""One turn: what was meant, what the index says about it, and an answer that cites it or says that it does not."""

from typing import TYPE_CHECKING

from pipelines.assistant import extract
from pipelines.assistant.desk import Asked, Library, Run, Turn
from pipelines.assistant.events import Emit
from pipelines.assistant.extract import Excerpt
from pipelines.assistant.followup import resolve
from pipelines.assistant.phrases import courtesy, language_of, refusal

if TYPE_CHECKING:
    from pipelines.assistant.agent import Llm

TOOL = "search_knowledge_base"


def begin(asked: Asked, library: Library, run: Run, emit: Emit) -> Turn:
    """A turn in which nothing has happened yet."""
    earlier = [past.question for past in reversed(asked.history)]
    default = library.settings.default_locale
    language = language_of(asked.locale, asked.message, *earlier, default=default)
    return Turn(asked, library, run, emit, language)


async def answer(turn: Turn, llm: "Llm | None") -> None:
    """Answer the turn's message, telling what happens by its events. Raises VaultlineError."""
    polite = courtesy(turn.asked.message)
    if polite is not None:
        turn.style, turn.answered = "fixed", True
        turn.say(polite)
        return
    question = " ".join(turn.asked.message.split())
    turn.query = await llm.resolve(turn) if llm is not None else resolve(question, turn.asked.previous)
    turn.rewritten = turn.query != question
    result, found = await turn.search(turn.query, k=turn.settings.assistant_passages, tool=TOOL)
    if not result.answered:
        turn.unanswered = result
    if llm is not None:
        await llm.answer(turn, found)
    elif found:
        turn.style, turn.answered = "passages", True
        excerpts = [Excerpt(item.n, item.source, item.title, item.section, item.text) for item in found]
        for piece in extract.compose(excerpts, turn.query, turn.language):
            turn.say(piece)
    if not turn.answered:
        refuse(turn)
        if turn.unanswered is not None or turn.asked.documents is None:
            await _note_unanswered(turn)


def refuse(turn: Turn) -> None:
    """Say that the documents do not say."""
    settings = turn.settings
    turn.style = "fixed"
    limited = turn.asked.documents is not None
    turn.say(
        refusal(turn.language, contact=settings.assistant_contact, leads=settings.assistant_leads, limited=limited)
    )


async def _note_unanswered(turn: Turn) -> None:
    """Put the question on the list of the unanswered, as a search without an answer does."""
    result = turn.unanswered
    if result is not None and turn.asked.documents is None:
        await turn.run(lambda: turn.library.remember(result))
