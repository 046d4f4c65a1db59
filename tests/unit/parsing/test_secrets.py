"""B43 (b): keys, tokens and passwords are found; hashes and UUIDs are not. Every value here is made up."""

import base64
import json
import random
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.secrets import find_secrets

_LETTERS = string.ascii_letters + string.digits


def masked(text: str) -> str:
    for secret in reversed(find_secrets(text)):
        text = text[: secret.start] + "*" + text[secret.end :]
    return text


def chars(random_: random.Random, number: int, alphabet: str = _LETTERS) -> str:
    return "".join(random_.choice(alphabet) for _ in range(number))


def web_token(random_: random.Random) -> str:
    part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")  # noqa: E731
    return f"{part({'alg': 'HS256'})}.{part({'sub': chars(random_, 8)})}.{chars(random_, 43)}"


_MADE: list[tuple[type[RegexBasedDetector], Callable[[random.Random], str]]] = [
    (AWSKeyDetector, lambda r: "AKIA" + chars(r, 16, string.ascii_uppercase + string.digits)),
    (AWSKeyDetector, lambda r: "ASIA" + chars(r, 16, string.ascii_uppercase + string.digits)),
    (AWSKeyDetector, lambda r: f'AWS_SECRET_KEY = "{chars(r, 40)}"'),
    (AzureStorageKeyDetector, lambda r: f"AccountKey={chars(r, 86)}=="),
    (BasicAuthDetector, lambda r: f"postgresql://user:{chars(r, 9)}@db.internal/app"),
    (GitHubTokenDetector, lambda r: f"ghp_{chars(r, 36)}"),
    (GitHubTokenDetector, lambda r: f"ghs_{chars(r, 36)}"),
    (GitLabTokenDetector, lambda r: f"glpat-{chars(r, 20)}"),
    (GitLabTokenDetector, lambda r: f"GR1348941{chars(r, 20)}"),
    (JwtTokenDetector, web_token),
    (NpmDetector, lambda r: f"//registry.internal/:_authToken=npm_{chars(r, 36)}"),
    (OpenAIDetector, lambda r: f"sk-{chars(r, 20)}T3BlbkFJ{chars(r, 20)}"),
    (PrivateKeyDetector, lambda r: f"-----BEGIN RSA PRIVATE KEY-----\n{chars(r, 64)}\n-----END RSA PRIVATE KEY-----"),
    (PypiTokenDetector, lambda r: f"pypi-AgEIcHlwaS5vcmc{chars(r, 80)}"),
    (SendGridDetector, lambda r: f"SG.{chars(r, 22)}.{chars(r, 43)}"),
    (SlackDetector, lambda r: f"xoxb-{chars(r, 11, string.digits)}-{chars(r, 24)}"),
    (SlackDetector, lambda r: f"https://hooks.slack.com/services/T{chars(r, 8)}/B{chars(r, 8)}/{chars(r, 24)}"),
    (SquareOAuthDetector, lambda r: f"sq0csp-{chars(r, 43)}"),
    (StripeDetector, lambda r: f"sk_live_{chars(r, 24)}"),
    (TelegramBotTokenDetector, lambda r: f"{chars(r, 9, string.digits)}:AA{chars(r, 33)}"),
    (DiscordBotTokenDetector, lambda r: f"M{chars(r, 24)}.{chars(r, 6)}.{chars(r, 27)}"),
]


@given(
    st.randoms(use_true_random=False),
    st.lists(st.sampled_from(range(len(_MADE))), min_size=1, max_size=4),
    st.lists(
        st.sampled_from(["una línea", "https://example.org/a", "user@example.org", "# h", "İ", "a:b", ""]), max_size=4
    ),
    st.sampled_from(["{}", "token {} end", "`{}`", "> {}", "| a | {} |", '"{}",', "ñ{}ñ", "- {}"]),
)
def test_whole_texts_lose_nothing_that_the_plugins_find_line_by_line(
    random_: random.Random, which: list[int], around: list[str], frame: str
) -> None:
    lines = [*around, *(frame.format(_MADE[number][1](random_)) for number in which)]
    random_.shuffle(lines)
    text = "\n".join(lines)
    spans = [(secret.start, secret.end) for secret in find_secrets(text)]
    at = 0
    for line in text.split("\n"):
        for plugin in {plugin for plugin, _ in _MADE}:
            for value in plugin().analyze_string(line):
                places = [at + place for place in range(len(line)) if line.startswith(value, place)]
                assert any(start <= place and place + len(value) <= end for place in places for start, end in spans), (
                    plugin.__name__,
                    line,
                )
        at += len(line) + 1


@pytest.mark.parametrize("number", range(len(_MADE)))
def test_every_shape_is_found_whole(number: int) -> None:
    plugin, make = _MADE[number]
    secret = make(random.Random(number))
    text = f"before\n\n{secret}\n\nafter"
    assert list(plugin().analyze_string(text)), "the made-up value is one for the plugin"
    left = masked(text)
    assert left.startswith("before\n\n")
    assert left.endswith("\n\nafter")
    for value in plugin().analyze_string(secret):
        assert len(value) < 8 or value not in left


@pytest.mark.parametrize(
    "secret",
    [
        "github_pat_" + "a1B2" * 15,
        "AIza" + "Sy0aB1cD2e" * 3 + "AbCdE",
        "sk-ant-api03-" + "aB1-" * 10,
        "sk-proj-" + "aB1_" * 10,
        "sk_test_" + "a1" * 12,
        "whsec_" + "a1B2" * 8,
        "xapp-1-A0123456789-" + "a1" * 10,
        "hf_" + "aB1" * 11,
        "pa-" + "aB1_" * 11,
        "npm_" + "aB1c" * 9,
        "ya29." + "aB1c" * 9,
    ],
)
def test_shapes_of_our_own(secret: str) -> None:
    assert masked(f"x {secret} y") == "x * y"


def test_a_private_key_goes_with_its_body() -> None:
    body = "\n".join("MIIEpAIBAAKCAQEA" + "aB1+/" * 9 for _ in range(20))
    for kind in (
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ):
        text = f"key:\n-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\nafter"
        assert masked(text) == "key:\n*\nafter"
    assert "MIIE" not in masked(f"-----BEGIN RSA PRIVATE KEY-----\n{body}")
    assert "MIIE" not in masked('{"key": "-----BEGIN PRIVATE KEY-----\\nMIIEabc\\n-----END PRIVATE KEY-----\\n"}')
    assert (
        masked(f"> -----BEGIN RSA PRIVATE KEY-----\n> {body[:60]}\n> -----END RSA PRIVATE KEY-----\n> after")
        == "> *\n> after"
    )
    assert masked("PuTTY-User-Key-File-3: ssh-rsa\nAAAA\nPrivate-MAC: 0123abcd\nafter") == "*\nafter"
    assert masked("A BEGIN CERTIFICATE block is public") == "A BEGIN CERTIFICATE block is public"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password: hunter2", "password: *"),
        ("Password: hunter2.", "Password: *."),
        ("**password** = `hunter2`", "**password** = `*`"),
        ("contraseña: gatito22", "contraseña: *"),
        ("Contraseña: gatito", "Contraseña: *"),
        ("CONTRASENA=Gatito#1", "CONTRASENA=*"),
        ("La contraseña del portal: hunter2 (cambiar)", "La contraseña del portal: * (cambiar)"),
        ("clave: s3creta", "clave: *"),
        ("clave (wifi): s3creta!", "clave (wifi): *"),
        ("la contraseña es hunter2", "la contraseña es *"),
        ("the password is hunter2, as ever", "the password is *, as ever"),
        ("pwd=correct-horse", "pwd=*"),
        ("DB_PASSWORD=Tr0ub4dor&3", "DB_PASSWORD=*"),
        ('"password": "two words 1!"', '"password": "*"'),
        ("| contraseña | hunter2 |", "| contraseña | * |"),
        ("passphrase: correct1 horse", "passphrase: * horse"),
        ("api_key: 0123456789abcdef0123456789abcdef", "api_key: *"),
        ("apiKey = 'abcd1234efgh'", "apiKey = '*'"),
        ("token: abcd1234efgh", "token: *"),
        ("client_secret: abcd1234efgh", "client_secret: *"),
        ("secretKey=abcd1234efgh", "secretKey=*"),
        ("tokens: abcd1234efgh", "tokens: *"),
        ("secret_key=abcd1234efgh", "secret_key=*"),
        ("pass: x; user/password: root/toor99", "pass: x; user/password: *"),
        ("contraseña wifi: 12345678", "contraseña wifi: *"),
        ("Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "Authorization: Bearer *"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic *"),
        ("redis://:s3cret@cache:6379", "redis://:*@cache:6379"),
        ("https://user:s3cret@example.org/x", "https://user:*@example.org/x"),
        ("https://blob.example.org/x?sig=abcdefghij0123456789%3D", "https://blob.example.org/x?sig=*"),
    ],
)
def test_passwords_in_words(text: str, left: str) -> None:
    assert masked(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id: 550e8400-e29b-41d4-a716-446655440000",
        "commit 1355907628bff3148cc81ec77093b41d922436a7",
        "password: required",
        "Password: ********",
        "password: <your password>",
        "password: ${DB_PASSWORD}",
        "password: $DB_PASSWORD",
        "password: {{ vault.password }}",
        "password = getpass.getpass()",
        "password: os.environ['X']",
        "DB_PASSWORD=YOUR_PASSWORD_HERE",
        "Password: see 1Password",
        "Password policy: at least twelve characters",
        "Contraseña: la misma de siempre",
        "La clave: trabajar en equipo",
        "La clave: constancia.",
        "Token: a piece of text",
        "max tokens: 4096 per request",
        "secret: true",
        "The secret is to listen",
        "la clave es la 2ª parte del plan",
        "password manager: https://vault.example.org",
        "password changed: 2026-05-24",
        "| Password | Description |",
        "key: value",
        "https://example.org/o?pageToken=&prefix=a1%2Fb2",
        "monkey: banana42",
        "Tokenizer: bert2-base-uncased",
        "secretaria: edificio12",
        "max_tokens: 4096",
        "esclavitud: 12345678",
        "https://example.org:8080/@user",
        "ssh user@host:/path",
        "task-12345678901234567890 and sk-etch",
        "BEGIN reading the PRIVATE part",
        "eyJ is how base64 of { begins",
        "[secret removed]",
        "password: [secret removed]",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert masked(text) == text


@given(st.text(max_size=200))
def test_any_text_gives_ordered_spans(text: str) -> None:
    at = 0
    for secret in find_secrets(text):
        assert at <= secret.start < secret.end <= len(text)
        at = secret.end


@given(st.text(alphabet=st.sampled_from("pasword: =|İñ1\n`'\"clvetokn"), max_size=80))
def test_masking_twice_finds_nothing_new(text: str) -> None:
    def mask(text: str) -> str:
        for secret in reversed(find_secrets(text)):
            text = text[: secret.start] + "[secret removed]" + text[secret.end :]
        return text

    once = mask(text)
    assert mask(once) == once


@pytest.mark.shared
def test_real_notes_have_few_and_only_plausible_findings(shared_data: Path) -> None:
    """Precision: 1,500 public notes, which hold no real secrets. What is found there are their examples."""
    found = []
    for folder in ("handbook", "help_vault", "glossary_en_es", "runbooks"):
        for path in (shared_data / folder).rglob("*.md"):
            text = path.read_text(encoding="utf-8")
            found += [(path.name, secret.kind, text[secret.start : secret.end]) for secret in find_secrets(text)]
    assert len(found) < 12, found
