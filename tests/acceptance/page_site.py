"""A small vault with a hostile note in it, `vaultline serve` over it, and browser pages that watch themselves."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect
from psycopg.conninfo import make_conninfo

from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.sync import sync
from tests.acceptance.conftest import ARTIFACTS, REPOSITORY
from tests.integration.serving.conftest import Library, running_server

EXAMPLES = (
    "runbooks/Rolling back with muelle.md",
    "runbooks/Rotación de secretos.md",
    "runbooks/Certificate rotation.md",
    "conventions/SQL migrations.md",
    "conventions/Feature flags.md",
    "conventions/Public API.md",
)
QUESTION = "How do we roll back a release?"
HOSTILE = """# Hostile <script>window.pwned = 1</script>

<script>window.pwned = 2</script>

<img src="https://evil.example/x.png" onerror="window.pwned = 3">

![pixel](https://evil.example/pixel.png) and [a link](javascript:window.pwned=4)

[data](data:text/html,<script>1</script>)

<iframe src="https://evil.example/"></iframe> <a href="#" onclick="window.pwned = 5">quokka protocol</a>

| a <svg onload="window.pwned = 6"> | b |
|---|---|
| <style>body { display: none }</style> | The quokka protocol has four phases. |
"""
NOTES = {
    "hostile/quokka.md": HOSTILE,
    "hostile/numbat.txt": HOSTILE.replace("quokka", "numbat"),
    "hostile/code.md": f"# Code\n\n```html\n{HOSTILE}```\n",
    "hostile/broken.pdf": "%PDF-1.7\nnot a pdf",
    "hostile/private.md": "---\nrag: false\n---\n# Private\n\nNot for everybody.\n",
}
_numbers = count(1)
expect.set_options(timeout=30_000)  # a machine with other work to do is no failure


@dataclass(frozen=True)
class Site:
    """A running server and the vault behind it."""

    url: str
    library: Library


@contextmanager
def indexed_vault(folder: Path, template_url: str) -> Iterator[Library]:
    """A few notes of the example vault and the ones above, indexed in a database of their own."""
    root = folder / "vault"
    for source in EXAMPLES:
        (root / source).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / "examples" / "vault" / source, root / source)
    for source, text in NOTES.items():
        (root / source).parent.mkdir(exist_ok=True)
        (root / source).write_text(text, encoding="utf-8")
    name = f"test_page_{os.getpid()}_{next(_numbers)}"
    maintenance = make_conninfo(template_url, dbname="postgres")
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {server.DATABASE}")
    library = Library(
        Settings.load(
            _env_file=None,
            vault_path=root,
            vaultline_home=folder / "home",
            database_url=make_conninfo(template_url, dbname=name),
            embedding_model="fake/test-64",
            embedding_fake_log=folder / "calls.jsonl",
        ),
        root,
    )
    sync(library.settings)
    yield library
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def library(template_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Indexed before the browser starts: see `browser`."""
    with indexed_vault(tmp_path_factory.mktemp("page"), template_url) as library:
        yield library


@pytest.fixture(scope="module")
def site(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running_server(library.environment, tmp_path_factory.mktemp("page-server") / "log") as url:
        yield Site(url, library)


Visit = Callable[..., Page]


@pytest.fixture
def visit(site: Site, browser: Browser) -> Iterator[Visit]:
    """Open a place of the page in a context of its own. At the end, nothing may have gone wrong in any of them.

    `excuse` names a part of messages on the console that the test causes on purpose.
    """
    with visiting(site.url, browser) as open_page:
        yield open_page


@contextmanager
def visiting(url: str, browser: Browser) -> Iterator[Visit]:
    """See `visit`."""
    contexts = []
    wrong: list[str] = []

    def open_page(
        place: str = "",
        *,
        width: int = 1280,
        height: int = 820,
        dark: bool = False,
        locale: str = "en-GB",
        touch: bool = False,
        excuse: str | None = None,
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            locale=locale,
            has_touch=touch,
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)

        def heard(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning") and (excuse is None or excuse not in message.text):
                wrong.append(f"console: {message.text}")

        def asked(request: Request) -> None:
            if urlsplit(request.url).netloc != urlsplit(url).netloc:
                wrong.append(f"a request to another host: {request.url}")

        page.on("console", heard)
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("request", asked)
        page.goto(f"{url}/{place}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    if wrong:
        pytest.fail("\n".join(wrong))


def ask(page: Page, question: str) -> None:
    """Ask by keyboard and wait for the end of the answer."""
    turns = page.locator(".turn").count()
    box = page.locator("#question")
    box.fill(question)
    box.press("Enter")
    page.locator(".turn:not([aria-busy])").nth(turns).wait_for()


def keep(page: Page, name: str) -> None:
    """Keep a screenshot among the artefacts, for people to look at."""
    ARTIFACTS.mkdir(exist_ok=True)
    path = ARTIFACTS / f"page-{name}.jpg"
    page.screenshot(path=path, type="jpeg", quality=70, animations="disabled", caret="hide")


def check_access(page: Page, *rules: str) -> None:
    """No finding of axe-core: of WCAG 2.2 A and AA and its best practices, or of these rules alone."""
    found = Axe().run(page, options={"runOnly": list(rules)} if rules else None)
    if found.violations_count:
        pytest.fail(found.generate_report())


def width_of(page: Page) -> int:
    """Of the widest thing that can be scrolled to."""
    names = "['html', 'body', 'main', '.reader-body']"
    width = page.evaluate(f"Math.max(...{names}.map((name) => document.querySelector(name)?.scrollWidth ?? 0))")
    assert isinstance(width, int)
    return width
