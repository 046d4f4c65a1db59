"""Passwords and keys that people write down in their own words: `password: ...`, `contraseña del portal: ...`.

What decides is the value. A word that is all that stands behind the mark is a password; with more words behind it, it
must look unlike prose (digits or signs in it). Names of variables, calls, addresses and examples are none.
"""

import re
from collections.abc import Iterator

# A word is looked at where one of these occurs, in lower case; then `_MENTION` decides. Order is of no importance.
_ROOTS = (
    "passw",
    "passphrase",
    "pwd",
    "contrase",
    "clave",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "api key",
    "access_key",
    "access key",
    "accesskey",
    "auth_key",
    "authkey",
    "private_key",
    "encryption_key",
    "signing_key",
    "account_key",
    "service_key",
    "client_key",
    "db_pass",
    "database_pass",
    "key_pass",
    "_pass=",
    "_pass:",
    "credencial",
)
# Kinds whose value may be a plain word; the others' values must hold letters and digits.
_PLAIN_WORD_ROOTS = ("passw", "passphrase", "pwd", "contrase", "clave", "db_pass", "database_pass", "key_pass")

_MENTION = re.compile(
    r"""(?P<word>[\w-]*)                                  # the rest of the name
        (?P<middle>(?:\ [^\s:=|,.;()"'`<>]{1,20}){0,4}?(?:\ ?\([^()\n]{1,40}\))?)
        ["'`\]*]{0,3}[ \t]*
        (?P<mark>:=|=>|={1,3}|:|\||\ (?:is|es)\ (?=["'`]?\S*\d))
        [ \t]*
        (?:(?P<quote>["'`])(?P<quoted>[^"'`\n]{4,200})(?P=quote)|(?P<value>[^\s"'`|<>]{4,500}))
        (?P<rest>[^\n]{0,80})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_REST = re.compile(r"[^\W\d_]*")
_WHOLE_WORDS = frozenset(("clave", "pwd", "token", "secret"))
_REFERENCE = re.compile(
    r"""[$%@]?[{(<\[].*|\$\w.*|<.*|.*\(.*\).*|%\w+%|\*+|[xX]+|\.{3,}|-+|_+|
        [a-z]+://\S*|[A-Za-z_]+(?:\.[A-Za-z_]+)+|[A-Za-z_.]+[\[(].*|[A-Z]+(?:_[A-Z0-9]+)+|/[\w./-]+|
        \d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|[\[&].*""",
    re.VERBOSE,
)
_EXAMPLES = re.compile(r"your|tu_|example|ejemplo|placeholder|redacted|removed|anonymized|insert|dummy", re.IGNORECASE)
ORDINARY_WORDS = frozenset(
    str.split(
        "required optional string text none null true false undefined number boolean integer bool default value secret"
        " password token hidden masked encrypted plain plaintext empty unknown changed expired invalid missing"
        " incorrect wrong valid yes enabled disabled reset forgot authentication policy manager requerido requerida"
        " obligatorio obligatoria opcional ninguno ninguna cadena texto numero número vacío vacía oculta cifrada"
        " caducada incorrecta inválida nueva contraseña clave public private primary foreign here above below todo"
        " pending pendiente same igual"
    )
)


def keyword_secrets(text: str, folded: str) -> Iterator[tuple[int, int]]:
    """Start and end of the values that follow a word for a secret. `folded`: lower case of the same length."""
    seen = -1
    for root in _ROOTS:
        at = folded.find(root)
        while at >= 0:
            if root in _WHOLE_WORDS and not _whole_word(text, at, at + len(root)):
                at = folded.find(root, at + len(root))
                continue
            match = _MENTION.match(text, at + len(root) if text[at + len(root) - 1] not in "=:" else at + len(root) - 1)
            if match and (place := _value(match, plain_word=root in _PLAIN_WORD_ROOTS)) and place[0] != seen:
                seen = place[0]
                yield place
            at = folded.find(root, at + len(root))


def _whole_word(text: str, start: int, end: int) -> bool:
    """Does a word of its own stand there, in the plural or not (`tokens`, `secretKey`; not `tokenizer`, `monkey`)?"""
    if start and text[start - 1].isalpha() and text[start].islower():
        return False
    rest = _REST.match(text, end)
    return rest is None or rest.group() in ("", "s", "es") or rest.group()[0].isupper()


def _value(match: re.Match[str], *, plain_word: bool) -> tuple[int, int] | None:
    """Where the value stands, if it is a secret."""
    group = "quoted" if match.group("quoted") else "value"
    value = match.group(group)
    start, end = match.span(group)
    if group == "value":
        trimmed = value.rstrip(",;.)]}>*\\")
        ended = value[len(trimmed) :]
        value, end = trimmed, start + len(trimmed)
    else:
        ended = ""
    alone = not match.group("rest").strip(" \t\r|,;.)]}>*\"'`\\")
    if len(value) < 4 or value.lower() in ORDINARY_WORDS or _EXAMPLES.search(value):
        return None
    if _REFERENCE.fullmatch(value) or _REFERENCE.fullmatch(value + ended):
        return None
    digits = any(character.isdigit() for character in value)
    letters = any(character.isalpha() for character in value)
    signs = any(not character.isalnum() and character not in "-_.'’/" for character in value)
    if " " in value:
        return (start, end) if digits and signs else None
    mixed = (letters and digits) or (signs and (letters or digits))
    if not plain_word:
        return (start, end) if letters and digits and len(value) >= 8 else None
    if mixed:
        return start, end
    # A plain word or number: only alone behind a mark that assigns, and not as the end of a sentence.
    if alone and match.group("mark") in (":", "=", ":=") and not match.group("middle").strip() and "." not in ended:
        return start, end
    return (start, end) if digits and alone and len(value) >= 6 else None
