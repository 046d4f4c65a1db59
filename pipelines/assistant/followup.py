"""Questions that lean on the one before: what they mean when they stand alone.

A search knows nothing of a conversation. "¿Y el año siguiente?" after "vacaciones en 2025" has to be looked up as
"vacaciones en 2026"; a question that stands alone must not be dragged back to the old topic. These rules decide which
is which, and resolve without a language model; with one, it words what they have found to be leaning.
"""

import re
import unicodedata

LONGEST = 400
"""Characters of a resolved question."""

_OPENING = re.compile(
    r"^[¿¡\s]*(?:(?:y|e|pero|entonces|o|and|but|or|so|then)\b[\s,]*(?:que hay de|que pasa con|que tal|what about"
    r"|how about)?|que hay de|que pasa con|what about|how about)\s*",
    re.IGNORECASE,
)
_POINTING_WORDS = """
    eso esto ese esa esos esas este esta estos estas aquello aquel aquella ello lo los su sus alli ahi mismo misma
    anterior siguiente viene proximo pasado primero primera segundo segunda otro otra
    it its that those they them their this these there same previous next following before after last one ones
    first second other
"""
# Function words of both languages, and words that ask for more of the same.
_EMPTY_WORDS = """
    el la los las un una unos unas de del al a que como cuando donde quien cual cuales cuanto cuanta cuantos cuantas
    por para con sin sobre entre y o u e si se es son era eran esta estan hay ser hacer hace puedo puede puedes tengo
    tiene tienen me te le les nos mi mis tu tus no ni ya mas muy pero porque pues desde hasta en
    the a an of to in on at by for from with without and or is are was were be been do does did how what when where
    which who whom whose why can could should would will may i you we he she my your our his her not as about if
    also tambien mas more detalle detalles details ejemplo ejemplos example examples explica explicame explain dime
    tell give dame continua sigue continue go ahead please favor ampliar amplia elaborate resume resumelo summarize
"""
_ASKING_WORDS = "que como cuando donde quien cual cuales cuanto cuanta cuantos how what when where which who why"
_POINTING = frozenset(_POINTING_WORDS.split())
_EMPTY = frozenset(_EMPTY_WORDS.split())
_ASKING = frozenset(_ASKING_WORDS.split())
_WORD = re.compile(r"\w+")
_YEAR = re.compile(r"\b(19|20)\d\d\b")
_LATER = re.compile(r"\b(siguiente|proximo|que viene|posterior|next|following|after)\b")
_EARLIER = re.compile(r"\b(anterior|pasado|previo|previous|last|before|prior)\b")
_YEARLY = re.compile(r"\b(ano|year|ejercicio)\b")


def leans(question: str, previous: str | None) -> bool:
    """Whether a question means nothing without the one before it."""
    if not previous:
        return False
    plain = _plain(question)
    words = _WORD.findall(plain)
    telling = [word for word in words if word not in _EMPTY and word not in _POINTING]
    if not telling:
        return bool(words)
    if _OPENING.match(plain):
        asks = any(word in _ASKING for word in words)
        return len(telling) <= (1 if asks else 2)
    if _YEARLY.search(plain) and (_LATER.search(plain) or _EARLIER.search(plain)):
        return len(telling) <= 2
    return len(telling) <= 2 and any(word in _POINTING for word in words)


def resolve(question: str, previous: str | None) -> str:
    """The question as it is looked up: itself, or the one before it changed by what this one says."""
    if previous is None or not leans(question, previous):
        return question
    plain = _plain(question)
    year = _YEAR.search(previous)
    if year is not None:
        step = _step(plain)
        if step:
            return _cut(previous[: year.start()] + str(int(year[0]) + step) + previous[year.end() :])
        if (other := _YEAR.search(question)) is not None:
            rest = _said(question.replace(other[0], " "))
            return _cut(previous[: year.start()] + other[0] + previous[year.end() :] + (f", {rest}" if rest else ""))
    said = _said(question)
    return _cut(f"{previous.rstrip(' ?!.')}, {said}" if said else previous)


def _step(plain: str) -> int:
    if not _YEARLY.search(plain):
        return 0
    return 1 if _LATER.search(plain) else -1 if _EARLIER.search(plain) else 0


def _said(question: str) -> str:
    """What a leaning question adds: itself without its opening, if there is a telling word in it."""
    text = " ".join(re.sub(r"[¿?¡!]", " ", question).split())
    opening = _OPENING.match(_plain(text))
    text = text[opening.end() :] if opening else text
    telling = [word for word in _WORD.findall(_plain(text)) if word not in _EMPTY and word not in _POINTING]
    return text.strip(" ,.;:") if telling else ""


def _cut(text: str) -> str:
    return " ".join(text.split())[:LONGEST]


def _plain(text: str) -> str:
    """Lower case without accents, character by character, so that places stay the same."""
    return "".join(
        char if char.isascii() else unicodedata.normalize("NFD", char)[0].lower()[:1] or char for char in text.lower()
    )
