"""Who may ask: the Host, the Origin, the token and the size of a request."""

import json
from typing import Any

import anyio
import pytest
from starlette.responses import PlainTextResponse

from pipelines.errors import SettingsError
from pipelines.serving.guard import Guard, check_address, is_loopback
from pipelines.settings import Settings

TOKEN = "correct-horse-battery"


def asked(
    *headers: tuple[str, str],
    host: str = "127.0.0.1",
    path: str = "/api/search",
    token: str | None = None,
    hosts: str = "",
    method: str = "GET",
) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, problem and headers of an answer to a request with these headers alone."""
    settings = Settings.load(_env_file=None, serving_token=token, serving_hosts=hosts)
    guard = Guard(
        PlainTextResponse("inside"),
        host=host,
        settings=settings,
        open_paths=("/",),
        larger={("POST", "/api/uploads"): 5_000_000},
    )
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.lower().encode(), value.encode()) for name, value in headers]
    scope = {"type": "http", "method": method, "path": path, "headers": raw, "query_string": b""}
    anyio.run(guard, scope, receive, send)
    body = sent[1]["body"]
    problem = {} if body == b"inside" else json.loads(body)
    return sent[0]["status"], problem, {name.decode(): value.decode() for name, value in sent[0]["headers"]}


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1:8321", "[::1]:8321", "LOCALHOST:1", "127.0.0.2"])
def test_loopback_names_are_its_own(name: str) -> None:
    assert asked(("Host", name))[0] == 200


@pytest.mark.parametrize(
    "name",
    [
        "evil.example",
        "evil.example:8321",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "evil.example@localhost",
        "192.168.1.5",
        "[::1",
        "",
        "2130706433",
        "0x7f000001",
    ],
)
def test_a_name_that_was_pointed_here_is_refused(name: str) -> None:
    status, problem, _ = asked(("Host", name))
    assert (status, problem["code"]) == (421, "foreign_host")


def test_no_host_and_two_hosts_are_refused() -> None:
    assert asked()[0] == 421
    assert asked(("Host", "localhost"), ("Host", "evil.example"))[0] == 421


def test_a_public_server_has_its_addresses_and_the_names_of_the_setting() -> None:
    def status(name: str) -> int:
        credentials = ("Authorization", f"Bearer {TOKEN}")
        return asked(("Host", name), credentials, host="0.0.0.0", token=TOKEN, hosts="kb.example, Notes.example")[0]

    assert [status(name) for name in ("192.168.1.5:80", "kb.example", "notes.example:8321")] == [200, 200, 200]
    assert status("evil.example") == 421


@pytest.mark.parametrize("origin", ["http://localhost:8321", "https://localhost:8321", "HTTP://LOCALHOST:8321"])
def test_its_own_page_may_ask(origin: str) -> None:
    assert asked(("Host", "localhost:8321"), ("Origin", origin))[0] == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "http://localhost:3000", "http://localhost:8321.evil.example", "file://"],
)
def test_other_pages_may_not(origin: str) -> None:
    status, problem, _ = asked(("Host", "localhost:8321"), ("Origin", origin))
    assert (status, problem["code"]) == (403, "foreign_origin")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_simple_request_of_another_site_is_refused_but_a_link_to_the_page_works(site: str) -> None:
    headers = (("Host", "localhost"), ("Sec-Fetch-Site", site))
    assert asked(*headers)[0] == 403
    assert asked(*headers, path="/")[0] == 200
    assert asked(("Host", "localhost"), ("Sec-Fetch-Site", "same-origin"))[0] == 200


@pytest.mark.parametrize(
    "credentials",
    ["", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, "Bearer ñandú"],
)
def test_without_the_token_nothing_is_served(credentials: str) -> None:
    status, problem, headers = asked(("Host", "localhost"), ("Authorization", credentials), token=TOKEN)
    assert (status, problem["code"], headers["www-authenticate"]) == (401, "no_token", "Bearer")
    assert TOKEN not in json.dumps(problem)


def test_with_the_token_everything_is_and_the_page_needs_none() -> None:
    assert asked(("Host", "localhost"), ("Authorization", f"bearer {TOKEN}"), token=TOKEN)[0] == 200
    assert asked(("Host", "localhost"), path="/", token=TOKEN)[0] == 200


@pytest.mark.parametrize("length", ["1000001", "-1", "x", "1" * 30])
def test_a_huge_request_is_refused_before_it_is_read(length: str) -> None:
    assert asked(("Host", "localhost"), ("Content-Length", length))[0] == 413


def test_only_uploads_may_be_larger() -> None:
    large = (("Host", "localhost"), ("Content-Length", "5000000"))
    assert asked(*large, method="POST", path="/api/uploads")[0] == 200
    assert asked(*large, method="GET", path="/api/uploads")[0] == 413
    assert asked(*large, method="POST", path="/api/uploads/x")[0] == 413
    assert asked(*large, method="POST", path="/api/chat")[0] == 413
    longer = (("Host", "localhost"), ("Content-Length", "5000001"))
    assert asked(*longer, method="POST", path="/api/uploads")[0] == 413


@pytest.mark.parametrize("headers", [(("Host", "localhost"),), (("Host", "evil.example"),)])
def test_every_answer_is_hardened(headers: tuple[tuple[str, str], ...]) -> None:
    found = asked(*headers)[2]
    assert found["x-content-type-options"] == "nosniff"
    assert found["cross-origin-resource-policy"] == "same-origin"
    assert "frame-ancestors 'none'" in found["content-security-policy"]
    assert "access-control-allow-origin" not in found


@pytest.mark.parametrize(("host", "loopback"), [("127.0.0.1", True), ("::1", True), ("localhost", True)])
def test_loopback_needs_no_token(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
    check_address(host, Settings.load(_env_file=None))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "kb.example", ""])
def test_other_addresses_do(host: str) -> None:
    with pytest.raises(SettingsError, match="SERVING_TOKEN"):
        check_address(host, Settings.load(_env_file=None))
    with pytest.raises(SettingsError, match="16 characters"):
        check_address(host, Settings.load(_env_file=None, serving_token="short"))
    check_address(host, Settings.load(_env_file=None, serving_token=TOKEN))
