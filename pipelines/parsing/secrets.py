"""Find keys, tokens and passwords in a text, so that they can be taken out.

Well-known shapes come from detect-secrets' plugins, chosen for precision (its entropy plugins are left out: a hash or a
UUID is no secret) and run over whole texts, each only where a fixed part of its shape occurs: line by line they read
0.2 MB/s. What people write in notes in their own words (`contraseña: ...`) is `keyword_secrets`' business.
"""

import re
from dataclasses import dataclass
from functools import cache

from pipelines.parsing.password_words import keyword_secrets


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands in the text that was searched, and what it is; never its value."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class _Shape:
    """A kind of secret: its pattern, the parts of which one always occurs in it, and the group that is the secret."""

    kind: str
    pattern: re.Pattern[str]
    needles: tuple[str, ...]
    group: int = 0
    any_case: bool = False


# Shapes that detect-secrets 1.5 does not know. Sources: the providers' documentation of their tokens' formats.
_OWN = (
    ("GitHub token", r"github_pat_[A-Za-z0-9_]{22,255}", ("github_pat_",)),
    ("Google key", r"\bAIza[0-9A-Za-z_\-]{35}", ("AIza",)),
    ("Google token", r"\bya29\.[0-9A-Za-z_\-]{20,}", ("ya29.",)),
    ("Anthropic key", r"\bsk-ant-[A-Za-z0-9_\-]{20,}", ("sk-ant-",)),
    ("OpenAI key", r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_\-]{20,}", ("sk-",)),
    ("OpenAI key", r"\bsk-[A-Za-z0-9]{40,}", ("sk-",)),
    ("Stripe key", r"\b(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{16,}", ("_live_", "_test_")),
    ("Stripe key", r"\bwhsec_[0-9A-Za-z+/=]{24,}", ("whsec_",)),
    ("Slack token", r"\bx(?:app|oxe|ox[abposr])-[0-9A-Za-z\-]{16,}", ("xapp-", "xox")),
    ("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}", ("hf_",)),
    ("Voyage key", r"\bpa-[A-Za-z0-9_\-]{40,}", ("pa-",)),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}", ("npm_",)),
    ("DigitalOcean token", r"\bdo[oprt]_v1_[a-f0-9]{64}", ("_v1_",)),
    ("Azure shared access key", r"SharedAccessKey=([A-Za-z0-9+/=]{40,})", ("SharedAccessKey=",)),
    (
        "signature in an address",
        r"[?&](?:sig|X-Amz-Signature|X-Goog-Signature)=([A-Za-z0-9%+/=_\-]{20,})",
        ("ig=", "ature="),
    ),
    ("password in an address", r"://:([^\s:/@?#]{3,})@", ("://:",)),
    ("bearer token", r"\b[Bb]earer\s+([A-Za-z0-9_~+/\-][A-Za-z0-9._~+/\-]{18,}=*)", ("earer",)),
    ("basic authorization", r"\b[Aa]uthorization:\s*[Bb]asic\s+([A-Za-z0-9+/]{8,}={0,2})", ("uthorization:",)),
)
_PRIVATE_KEY = re.compile(
    r"(?:-{2,5} ?)?BEGIN (?P<kind>(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?)(?: ?-{2,5})?"
    r"(?:.{0,20000}?END (?P=kind)(?: ?-{2,5})?"
    r"|(?:\s|\\n|[> |]|[A-Za-z0-9+/=:,.\-]{20,}|[A-Za-z0-9+/]{1,76}={0,2}(?=\s*$))*)",
    re.DOTALL | re.MULTILINE,
)
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d.{0,20000}?(?:Private-MAC:\s*[0-9a-f]+|\Z)", re.DOTALL)
_WEB_TOKEN = "web token"
_JWT_REST = re.compile(r"[A-Za-z0-9_.+/=\-]*")


def find_secrets(text: str) -> list[Secret]:
    """All secrets in a text, in order, without overlaps."""
    if len(text) < _SHORTEST and not _ASSIGNS.search(text):
        return []
    folded = fold(text)
    found = [*_shaped(text, folded), *(Secret(start, end, "password") for start, end in keyword_secrets(text, folded))]
    found.sort(key=lambda secret: (secret.start, -secret.end))
    merged: list[Secret] = []
    for secret in found:
        if merged and secret.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Secret(last.start, max(last.end, secret.end), last.kind)
        else:
            merged.append(secret)
    return merged


# No shape is shorter than this, and no password in words is without one of these marks.
_SHORTEST = 12
_ASSIGNS = re.compile(r"[:=|]| (?:is|es) ", re.IGNORECASE)


def fold(text: str) -> str:
    """Lower case of the same length, so that offsets stay."""
    folded = text.lower()
    if len(folded) == len(text):
        return folded
    return "".join(lower if len(lower := character.lower()) == 1 else character for character in text)  # İ


def _shaped(text: str, folded: str) -> list[Secret]:
    by_needle = _shapes_by_needle()
    shapes = dict.fromkeys(
        shape
        for needle, any_case in by_needle
        if needle in (folded if any_case else text)
        for shape in by_needle[needle, any_case]
    )
    found = []
    for shape in shapes:
        for match in shape.pattern.finditer(text):
            if shape.group and match.start(shape.group) < 0:
                continue
            if shape.kind == _WEB_TOKEN:
                if secret := _web_token(text, match):
                    found.append(secret)
            else:
                found.append(Secret(match.start(shape.group), match.end(shape.group), shape.kind))
    return found


def _web_token(text: str, match: re.Match[str]) -> Secret | None:
    """A JSON Web Token: the plugin checks that its parts are JSON; its pattern leaves the signature out."""
    from detect_secrets.plugins.jwt import JwtTokenDetector

    if not JwtTokenDetector.is_formally_valid(match.group()):
        return None
    rest = _JWT_REST.match(text, match.end())
    return Secret(match.start(), rest.end() if rest else match.end(), _WEB_TOKEN)


@cache
def _shapes_by_needle() -> dict[tuple[str, bool], list[_Shape]]:
    by_needle: dict[tuple[str, bool], list[_Shape]] = {}
    for shape in _shapes():
        for needle in shape.needles:
            by_needle.setdefault((needle, shape.any_case), []).append(shape)
    return by_needle


@cache
def _shapes() -> tuple[_Shape, ...]:
    """The plugins' patterns with what must occur for them to match; a test compares them with the plugins."""
    from detect_secrets.plugins.aws import AWSKeyDetector
    from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
    from detect_secrets.plugins.basic_auth import BasicAuthDetector
    from detect_secrets.plugins.discord import DiscordBotTokenDetector
    from detect_secrets.plugins.github_token import GitHubTokenDetector
    from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
    from detect_secrets.plugins.jwt import JwtTokenDetector
    from detect_secrets.plugins.npm import NpmDetector
    from detect_secrets.plugins.openai import OpenAIDetector
    from detect_secrets.plugins.pypi_token import PypiTokenDetector
    from detect_secrets.plugins.sendgrid import SendGridDetector
    from detect_secrets.plugins.slack import SlackDetector
    from detect_secrets.plugins.square_oauth import SquareOAuthDetector
    from detect_secrets.plugins.stripe import StripeDetector
    from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector

    aws_id, aws_secret = AWSKeyDetector.denylist
    slack_token, slack_hook = SlackDetector.denylist
    listed = [
        _Shape("private key", _PRIVATE_KEY, ("PRIVATE KEY",)),
        _Shape("private key", _PUTTY, ("PuTTY-User-Key-File-",)),
        _Shape(_WEB_TOKEN, JwtTokenDetector.denylist[0], ("eyJ",)),
        _Shape("AWS key", aws_id, ("A3T", "ABIA", "ACCA", "AKIA", "ASIA")),
        _Shape("AWS key", aws_secret, ("aws",), 1, any_case=True),
        _Shape("password in an address", BasicAuthDetector.denylist[0], ("://",), 1),
        _Shape("Slack token", slack_token, ("xox",), any_case=True),
        _Shape("Slack address", slack_hook, ("hooks.slack.com",), any_case=True),
        _Shape("Azure key", AzureStorageKeyDetector.denylist[0], ("AccountKey=",)),
        _Shape("GitHub token", GitHubTokenDetector.denylist[0], ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
        _Shape("npm token", NpmDetector.denylist[0], (":_authToken=",), 1),
        _Shape("OpenAI key", OpenAIDetector.denylist[0], ("T3BlbkFJ",)),
        _Shape("SendGrid key", SendGridDetector.denylist[0], ("SG.",)),
        _Shape("Square key", SquareOAuthDetector.denylist[0], ("sq0csp-",)),
        _Shape("Stripe key", StripeDetector.denylist[0], ("k_live_",)),
    ]
    listed += [_Shape("GitLab token", pattern, ("gl", "GR1348941")) for pattern in GitLabTokenDetector.denylist]
    listed += [_Shape("PyPI token", pattern, ("pypi-AgE",)) for pattern in PypiTokenDetector.denylist]
    listed += [_Shape("Telegram token", TelegramBotTokenDetector.denylist[0], (":AA",))]
    listed += [
        _Shape(
            "Discord token", re.compile(rf"(?<![A-Za-z0-9_.-]){DiscordBotTokenDetector.denylist[0].pattern}"), (".",)
        )
    ]
    listed += [
        _Shape(kind, re.compile(pattern), needles, int("(" in pattern.replace("(?", "")))
        for kind, pattern, needles in _OWN
    ]
    return tuple(listed)
