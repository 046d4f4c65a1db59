"""The search page: one file, nothing from elsewhere, and a policy that lets only its own script run."""

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class SearchPage:
    """The page and the Content-Security-Policy that names its script and style by their hashes."""

    body: bytes
    policy: str


@cache
def search_page() -> SearchPage:
    """The page as it is shipped."""
    text = files("pipelines.serving").joinpath("page.html").read_text(encoding="utf-8")
    policy = (
        "default-src 'none'; "
        f"script-src {_hash(text, 'script')}; style-src {_hash(text, 'style')}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return SearchPage(text.encode(), policy)


def _hash(text: str, tag: str) -> str:
    [content] = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
