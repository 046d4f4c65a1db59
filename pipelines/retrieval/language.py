"""Which language a question is in. Questions are short: a few words, often without a verb or an accent."""

import re
import unicodedata
from collections.abc import Collection, Sequence

from pipelines.storage.search import Term

# Words that carry no topic and belong to one of the languages only, without accents.
_SPANISH_WORDS = """
    el la los las un una unos unas de del al que como cuando donde quien cual cuales cuanto cuantos cuanta cuantas por
    para con sin sobre entre y o u e si se es son esta estan hay ser hacer hace hago puedo puede tengo tiene mi mis tu
    tus su sus lo le les nos me te ya mas muy pero porque desde hasta cada todo todos otra otro este esto ese eso
"""
_ENGLISH_WORDS = """
    the a an of to in on at by for from with without and or is are was were be do does did how what when where which who
    whom whose why can could should would will may my your our their his her its it this that these those there i we you
    they he she if not have has had get as into about after before
"""
_SPANISH = frozenset(_SPANISH_WORDS.split())
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_SHARED = _SPANISH & _ENGLISH
_SPANISH_LETTERS = re.compile("[ñ¿¡áéíóú]", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")


def guess_language(text: str, terms: Sequence[Term], languages: Collection[str]) -> str | None:
    """The language of a question: "es", "en" or "simple"; None where neither its words nor the index tell.

    Three kinds of evidence, each counted in words: function words, letters that only Spanish has, and in which
    language's notes the question's words occur. Only `languages`, those of the index, are considered.
    """
    if len(languages) < 2:
        return next(iter(languages), None)
    words = [_plain(word) for word in _WORD.findall(text)]
    votes = dict.fromkeys(languages, 0.0)
    for language, function_words in (("es", _SPANISH - _SHARED), ("en", _ENGLISH - _SHARED)):
        if language in votes:
            votes[language] += sum(word in function_words for word in words)
    if "es" in votes:
        votes["es"] += 2.0 * len(_SPANISH_LETTERS.findall(unicodedata.normalize("NFC", text)))
    for language, known in _known(terms).items():
        votes[language] += known
    ranked = sorted(votes.items(), key=lambda item: -item[1])
    return ranked[0][0] if ranked[0][1] > ranked[1][1] else None


def _known(terms: Sequence[Term]) -> dict[str, float]:
    """Words' worth of a question in each language's vocabulary: a word counts where its language uses it most."""
    shares: dict[str, float] = {}
    for term in terms:
        if not term.code and not term.part:
            share = min(1.0, 200.0 * term.held_by / term.chunks) if term.held_by else 0.0
            shares[term.language] = shares.get(term.language, 0.0) + share
    return shares


def _plain(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(letter))
