"""Who may ask: nobody from another site, nobody without the token where one is set, nobody with a huge request.

A page that a person visits can send requests to their own machine, and a name that an attacker owns can be made to
point there (DNS rebinding). So the Host must be a name of this server and the Origin, where a browser sends one, must
be this server's own page. An IP address as Host is what the caller really connects to: only names can be rebound.
"""

import hmac
import ipaddress
import json
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.errors import SettingsError
from pipelines.serving.problems import Problem
from pipelines.settings import Settings

LARGEST_BODY = 1_000_000
"""Bytes of a request, but for those that the guard is told of: uploads."""

SHORTEST_TOKEN = 16
_LOOPBACK_NAMES = ("localhost",)

_FOREIGN_HOST = Problem(421, "foreign_host", "this server does not answer to that name (see SERVING_HOSTS)")
_FOREIGN_ORIGIN = Problem(403, "foreign_origin", "requests from other sites are refused")
_NO_TOKEN = Problem(401, "no_token", "send the server's token as `Authorization: Bearer TOKEN`")

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Whether a server that listens there is reached from this machine only."""
    address = _address(host)
    return host in _LOOPBACK_NAMES if address is None else address.is_loopback


def check_address(host: str, settings: Settings) -> None:
    """Raise SettingsError if listening there would serve everybody: other machines need a token."""
    token = settings.serving_token
    if token is not None and len(token.get_secret_value()) < SHORTEST_TOKEN:
        raise SettingsError(f"SERVING_TOKEN must have {SHORTEST_TOKEN} characters or more")
    if token is None and not is_loopback(host):
        raise SettingsError(
            f"to listen on {host}, which other machines can reach, set SERVING_TOKEN to a secret of "
            f"{SHORTEST_TOKEN} characters or more; or listen on 127.0.0.1"
        )


class Guard:
    """ASGI middleware around everything that is served. `open_paths` hold no data and need no token.

    `larger`: bytes that a method of a path may have where that is more than LARGEST_BODY.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        host: str,
        settings: Settings,
        open_paths: Sequence[str] = (),
        larger: Mapping[tuple[str, str], int] | None = None,
    ) -> None:
        self._app = app
        self._loopback = is_loopback(host)
        self._names = {*_LOOPBACK_NAMES, host.lower(), *(name.lower() for name in settings.serving_hosts)}
        token = settings.serving_token
        self._token = None if token is None else token.get_secret_value().encode()
        self._open_paths = frozenset(open_paths)
        self._larger = dict(larger or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no websockets here
        problem = self._examine(Headers(scope=scope), scope["method"], scope["path"])
        if problem is not None:
            await _refuse(problem, send)
            return

        async def hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, hardened)

    def _examine(self, headers: Headers, method: str, path: str) -> Problem | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return _FOREIGN_HOST
        if self._is_foreign(headers, hosts[0], path):
            return _FOREIGN_ORIGIN
        if self._token is not None and path not in self._open_paths and not self._knows_token(headers):
            return _NO_TOKEN
        length = headers.get("content-length", "0")
        most = self._larger.get((method, path), LARGEST_BODY)
        if not length.isdecimal() or int(length) > most:
            return Problem(413, "too_large", f"this request may have {most:,} bytes at most")
        return None

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        if name is None or "@" in host:
            return False
        address = _address(name)
        if address is None or name in self._names:
            return name in self._names
        return address.is_loopback or not self._loopback

    def _is_foreign(self, headers: Headers, host: str, path: str) -> bool:
        origin = headers.get("origin")
        if origin is not None:
            return origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}")
        # Browsers send no Origin with a simple GET of another site's page; following a link to the search page is fine.
        return headers.get("sec-fetch-site") in ("cross-site", "same-site") and path not in self._open_paths

    def _knows_token(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        assert self._token is not None
        # Compared whatever the scheme is, and in a time that tells nothing of the token.
        return hmac.compare_digest(given.strip().encode(), self._token) and scheme.lower() == "bearer"


async def _refuse(problem: Problem, send: Send) -> None:
    body = json.dumps(problem.to_json()).encode()
    headers = {"Content-Type": "application/problem+json", "Content-Length": str(len(body)), **_HEADERS}
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
