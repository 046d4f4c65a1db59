"""What the legs found -> an order, with the weight that fits the question, the generation and the legs there are."""

from pipelines.retrieval.calibration import Trust
from pipelines.retrieval.fusion import Boosts, Scored, fuse
from pipelines.retrieval.gather import Gathered
from pipelines.retrieval.question import Question
from pipelines.settings import Settings


def rank(gathered: Gathered, question: Question, trust: Trust, settings: Settings) -> list[Scored]:
    """Candidates in order, with the weight that fits the legs there are."""
    weight = trust.weight
    if question.mode == "vector" or not gathered.worded:
        weight = 1.0
    elif not gathered.embedded:
        weight = 0.0
    boosts = Boosts(
        age=settings.search_age_penalty,
        language=settings.search_language_boost if question.locale is None else settings.search_locale_boost,
        phrase=settings.search_phrase_boost,
    )
    return fuse(
        gathered.candidates,
        gathered.coverages,
        weight=weight,
        language=gathered.language,
        holding=gathered.holding,
        boosts=boosts,
    )
