"""What the assistant says in its own words, in Spanish and English."""

import re
import unicodedata

from pipelines.retrieval.language import guess_language

_PHRASES = {
    "es": {
        "none": "No tengo esa información: ningún documento la responde.",
        "none_here": "Los documentos elegidos para esta conversación no lo responden.",
        "contact": "Puedes preguntar a {contact}.",
        "leave": "Si dejas tu nombre y cómo contactarte, el equipo te responderá.",
        "lead": "Gracias: el equipo tiene tus datos y te responderá.",
        "found": "Esto es lo que dicen los documentos:",
        "gone": "(Este pasaje ya no está en los documentos.)",
        "greeting": "Hola. Respondo con lo que dicen los documentos y cito de dónde sale. ¿Qué quieres saber?",
        "thanks": "De nada.",
        "bye": "Hasta luego.",
    },
    "en": {
        "none": "I have no such information: no document answers this.",
        "none_here": "The documents chosen for this conversation do not answer this.",
        "contact": "You can ask {contact}.",
        "leave": "Leave your name and how to reach you, and the team will come back to you.",
        "lead": "Thank you: the team has your details and will come back to you.",
        "found": "This is what the documents say:",
        "gone": "(This passage is no longer in the documents.)",
        "greeting": "Hello. I answer with what the documents say and cite where it stands. What do you want to know?",
        "thanks": "You are welcome.",
        "bye": "Goodbye.",
    },
}

_COURTESIES = {
    "es": {
        "greeting": r"(hola+|buenas|buenos dias|buenas (tardes|noches)|que tal)( (a todos|equipo|que tal))?"
        r"|quien eres|que (puedes|sabes) hacer|ayuda",
        "thanks": r"(muchas |mil )?gracias( por .{0,30})?|perfecto|genial|vale|de acuerdo",
        "bye": r"adios|hasta (luego|pronto|manana)|chao",
    },
    "en": {
        "greeting": r"(hello|hi+|hey|good (morning|afternoon|evening))( (there|everyone|team|how are you))?"
        r"|who are you|what can you do|help",
        "thanks": r"(many )?thanks( a lot| so much)?|thank you( very much| so much)?|great|perfect|ok(ay)?",
        "bye": r"(good ?)?bye( bye)?|see you( later)?",
    },
}


def language_of(locale: str | None, *texts: str, default: str) -> str:
    """Spanish ("es") or English ("en"): the caller's, else of the first text that shows it, else the default."""
    for language in (locale, *(guess_language(text, (), ("es", "en")) for text in texts), default):
        if language and (short := language.lower().replace("_", "-").split("-")[0]) in _PHRASES:
            return short
    return "en"


def phrase(name: str, language: str) -> str:
    """A sentence by its name."""
    return _PHRASES[language][name]


def refusal(language: str, *, contact: str | None, leads: bool, limited: bool = False) -> str:
    """That the documents do not say, and whom to ask. `limited`: not all documents were searched."""
    parts = [phrase("none_here" if limited else "none", language)]
    if contact:
        parts.append(phrase("contact", language).format(contact=contact))
    if leads:
        parts.append(phrase("leave", language))
    return " ".join(parts)


def courtesy(message: str) -> str | None:
    """The answer to a greeting, to thanks or to a goodbye, in its language; None for what has to be looked up."""
    plain = "".join(
        letter for letter in unicodedata.normalize("NFD", message.casefold()) if not unicodedata.combining(letter)
    )
    plain = " ".join(re.sub(r"[^\w\s]+", " ", plain).split())
    for language, patterns in _COURTESIES.items():
        for name, pattern in patterns.items():
            if re.fullmatch(pattern, plain):
                return phrase(name, language)
    return None
