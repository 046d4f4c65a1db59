"""The page as it is sent: what is served, under which headers, and nothing else."""

import gzip
import hashlib
import re

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from pipelines.serving.page import MEDIA_TYPES, POLICY, create_page_router, load_page
from tests.unit.serving.page_files import STATIC, own_scripts


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI()
    app.include_router(create_page_router())
    return TestClient(app, headers={"Accept-Encoding": "identity"})


def test_the_page_names_only_files_that_are_served_with_it(client: TestClient) -> None:
    text = client.get("/").text
    addresses = re.findall(r'(?:src|href)="([^"#]+)"', text)
    assert len(addresses) > 8
    for address in addresses:
        assert address.startswith(f"/static/{load_page().version}/"), address
        assert client.get(address).status_code == 200, address
    assert "{static}" not in text


def test_every_file_is_served_as_what_it_is(client: TestClient) -> None:
    for path, asset in load_page().assets.items():
        answer = client.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, asset.media_type)
        assert answer.content == asset.body
    served = {path.split("/", 3)[3] for path in load_page().assets if path != "/"}
    on_disk = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.suffix in MEDIA_TYPES}
    assert served == on_disk - {"index.html"}


def test_the_policy_lets_only_the_pages_own_files_run(client: TestClient) -> None:
    headers = client.get("/").headers
    assert headers["content-security-policy"] == POLICY
    policy = dict(part.split(" ", 1) for part in POLICY.split("; "))
    assert policy.pop("default-src") == "'none'"
    assert policy.pop("trusted-types") == "dompurify"
    assert policy.pop("require-trusted-types-for") == "'script'"
    assert set(policy.values()) == {"'self'", "'none'"}
    for name in ("script-src", "style-src", "connect-src", "img-src"):
        assert policy[name] == "'self'"
    for name in ("base-uri", "form-action", "frame-ancestors"):
        assert policy[name] == "'none'"
    assert "camera=()" in headers["permissions-policy"]


def test_the_page_is_asked_for_again_and_its_files_are_kept(client: TestClient) -> None:
    assert client.get("/").headers["cache-control"] == "no-cache"
    path = next(path for path in load_page().paths if path.endswith("/app.js"))
    assert client.get(path).headers["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize("asked", ["{etag}", '"other", {etag}', "*"])
def test_a_page_that_is_known_is_not_sent_again(client: TestClient, asked: str) -> None:
    etag = client.get("/").headers["etag"]
    answer = client.get("/", headers={"If-None-Match": asked.format(etag=etag)})
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag)
    assert answer.headers["content-security-policy"] == POLICY
    assert client.get("/", headers={"If-None-Match": '"other"'}).status_code == 200


def test_it_is_packed_for_who_can_unpack() -> None:
    app = FastAPI()
    app.include_router(create_page_router())
    for accepted, packed in [
        ("gzip, br", True),
        ("br;q=1.0, gzip;q=0.8", True),
        ("identity", False),
        ("gzip;q=0", False),
        ("", False),
    ]:
        with TestClient(app).stream("GET", "/", headers={"Accept-Encoding": accepted}) as answer:
            body = b"".join(answer.iter_raw())
        assert (answer.headers.get("content-encoding") == "gzip") is packed, accepted
        assert answer.headers["vary"] == "Accept-Encoding"
        assert (gzip.decompress(body) if packed else body) == load_page().assets["/"].body


def test_head_tells_the_size_alone(client: TestClient) -> None:
    answer = client.head("/")
    assert answer.status_code == 200
    assert int(answer.headers["content-length"]) == len(load_page().assets["/"].body)


@pytest.mark.parametrize(
    "path",
    [
        "/static/{version}/../page.py",
        "/static/{version}/..%2f..%2fpage.py",
        "/static/{version}/%2e%2e/%2e%2e/page.py",
        "/static/{version}/..%5c..%5cpage.py",
        "/static/{version}//etc/passwd",
        "/static/{version}/vendor/README.md",
        "/static/{version}/vendor",
        "/static/{version}/vendor/",
        "/static/{version}/index.html",
        "/static/{version}/APP.JS",
        "/static/{version}/app.js%00.css",
        "/static/{version}",
        "/static/0000000000000000/app.js",
        "/static/app.js",
        "/static/",
    ],
)
def test_nothing_else_can_be_reached(client: TestClient, path: str) -> None:
    assert client.get(path.format(version=load_page().version)).status_code == 404


def test_only_listed_methods(client: TestClient) -> None:
    assert client.post("/").status_code == 405


def test_paths_without_a_token_are_the_pages_own() -> None:
    page = load_page()
    assert "/" in page.paths
    assert all(path == "/" or path.startswith(f"/static/{page.version}/") for path in page.paths)


def test_the_version_changes_with_any_file() -> None:
    digest = hashlib.sha256()
    for path in sorted(path for path in STATIC.rglob("*") if path.suffix in MEDIA_TYPES):
        body = path.read_bytes()
        digest.update(f"{path.relative_to(STATIC).as_posix()}\0{len(body)}\0".encode() + body)
    assert load_page().version == digest.hexdigest()[:16]


def test_modules_import_only_each_other(client: TestClient) -> None:
    root = f"/static/{load_page().version}"
    for path in own_scripts():
        for name in re.findall(r'(?:from|import\()\s*["`]([^"`]+)["`]', path.read_text(encoding="utf-8")):
            assert name.startswith("./"), f"{path.name} imports {name}"
            if "${" not in name:
                assert f"{root}/{name[2:]}" in load_page().assets, f"{path.name} imports {name}"
