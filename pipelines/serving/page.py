"""The web page: the files of `static/`, read once, under a policy that lets only them run.

Everything but `/` lives under `/static/VERSION/`, where VERSION is a hash of all files: a browser keeps them forever,
asks for one small page at every load, and never mixes the files of two releases. Names are looked up in a table, so
no request opens a path.
"""

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
"""What is served; files with other endings in the folder are not."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # Strings become markup through the sanitiser only: anything else that tries throws.
        "require-trusted-types-for 'script'",
        "trusted-types dompurify",
    )
)
"""Content-Security-Policy of the page."""

_PERMISSIONS = "camera=(), microphone=(), geolocation=(), payment=(), usb=()"
_STATIC = "{static}"
_FOREVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent: plain, and packed where that is smaller."""

    body: bytes
    packed: bytes | None
    media_type: str
    etag: str


@dataclass(frozen=True, slots=True)
class Page:
    """All files by the path of their address. `version` changes with any of them."""

    version: str
    assets: Mapping[str, Asset]

    @property
    def paths(self) -> tuple[str, ...]:
        """Addresses that hold no data and need no token."""
        return tuple(self.assets)


@cache
def load_page() -> Page:
    """The page as it is shipped."""
    found = dict(_walk(files("pipelines.serving").joinpath("static")))
    digest = hashlib.sha256()
    for name, body in sorted(found.items()):
        digest.update(f"{name}\0{len(body)}\0".encode() + body)
    version = digest.hexdigest()[:16]
    root = f"/static/{version}"
    index = found.pop("index.html").replace(_STATIC.encode(), root.encode())
    assets = {f"{root}/{name}": _asset(name, body) for name, body in found.items()}
    return Page(version, {"/": _asset("index.html", index)} | assets)


def create_page_router() -> APIRouter:
    """`/` and everything that it loads."""
    router = APIRouter(include_in_schema=False)
    page = load_page()

    @router.api_route("/", methods=["GET", "HEAD"])
    def index(request: Request) -> Response:
        answer = _answer(page.assets["/"], request)
        answer.headers["Content-Security-Policy"] = POLICY
        answer.headers["Permissions-Policy"] = _PERMISSIONS
        answer.headers["Cache-Control"] = _ASK_AGAIN
        return answer

    @router.api_route("/static/{name:path}", methods=["GET", "HEAD"])
    def static(name: str, request: Request) -> Response:
        asset = page.assets.get(f"/static/{name}")
        if asset is None:
            raise HTTPException(404, "no such file of the page: reload it, it may be of another version")
        answer = _answer(asset, request)
        answer.headers["Cache-Control"] = _FOREVER
        return answer

    return router


def _answer(asset: Asset, request: Request) -> Response:
    headers = {"ETag": asset.etag, "Vary": "Accept-Encoding"}
    if _is_current(asset.etag, request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    body = asset.body
    if asset.packed is not None and _takes_gzip(request.headers.get("accept-encoding", "")):
        body = asset.packed
        headers["Content-Encoding"] = "gzip"
    return Response(body, media_type=asset.media_type, headers=headers)


def _asset(name: str, body: bytes) -> Asset:
    packed = gzip.compress(body, mtime=0)
    # Weak: the packed and the plain body are the same page, not the same bytes.
    etag = f'W/"{hashlib.sha256(body).hexdigest()[:24]}"'
    return Asset(body, packed if len(packed) < len(body) else None, MEDIA_TYPES[_ending(name)], etag)


def _walk(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif _ending(entry.name) in MEDIA_TYPES:
            yield prefix + entry.name, entry.read_bytes()


def _ending(name: str) -> str:
    return name[name.rfind(".") :]


def _is_current(etag: str, asked: str) -> bool:
    known = {part.strip() for part in asked.split(",")}
    return etag in known or "*" in known


def _takes_gzip(accepted: str) -> bool:
    for part in accepted.lower().split(","):
        coding, _, weight = part.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
