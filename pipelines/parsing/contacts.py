"""E-mail addresses and telephone numbers, for vaults that mask them (a setting; off by default)."""

import re

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.UNICODE)
# International with +, Spain's nine digits, North America's ten in groups. Anything looser finds dates and versions.
_PHONE = re.compile(
    r"""(?<![\w.+-])(?:
        (?:\+|00)\d{1,3}(?:[\s.-]?\(?\d{1,4}\)?){2,5} |
        [6789]\d{2}(?:[ .-]?\d{3}){2} | [6789]\d{2}(?:[ .-]\d{2}){3} | [89]\d[ .-]\d{3}[ .-]\d{2}[ .-]\d{2} |
        \(\d{3}\)\s?\d{3}[ .-]\d{4} | \d{3}[.-]\d{3}[.-]\d{4}
    )(?![\w-]|\.\d)""",
    re.VERBOSE,
)


def find_contacts(text: str) -> list[tuple[int, int, str]]:
    """Start, end and placeholder of every address and number."""
    found = [(*match.span(), "[e-mail removed]") for match in _EMAIL.finditer(text)] if "@" in text else []
    return found + [
        (*match.span(), "[telephone removed]") for match in _PHONE.finditer(text) if _digits(match.group()) >= 9
    ]


def _digits(text: str) -> int:
    return sum(character.isdigit() for character in text)
