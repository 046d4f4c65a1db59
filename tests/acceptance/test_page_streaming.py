"""The page with a language model behind it, with a token before it, and with answers that end too early."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from pipelines.embedding.factory import create_embedder
from pipelines.generations.lifecycle import ensure_wanted
from pipelines.storage.database import Database
from tests.acceptance.page_site import QUESTION, Site, Visit, ask, check_access, keep, library, visiting
from tests.integration.serving.conftest import VAULTLINE, Library, running_server
from tests.servers.chat_api import ChatApi, Reply

__all__ = ["library"]

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOOK = Reply(calls=[("search_knowledge_base", {"query": "rollback approval muelle"})])
PROSE = (
    "You can roll back at any time, **without an approval** [1]. It takes about 110 seconds.\n\n"
    "```bash\nmuelle rollback bultos --env prod\n```\n\nTell `#deploys` afterwards [1]."
)


@pytest.fixture(scope="module")
def api() -> Iterator[ChatApi]:
    with ChatApi().serving() as api:
        yield api


@pytest.fixture(scope="module")
def site(library: Library, api: ChatApi, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    environment = library.environment | {
        "LLM_MODEL": "openai/scripted",
        "LLM_BASE_URL": api.url,
        "ASSISTANT_CONTACT": "ops@correvia.example",
    }
    with running_server(environment, tmp_path_factory.mktemp("model-server") / "log") as url:
        yield Site(url, library)


@pytest.fixture
def visit(site: Site, api: ChatApi, browser: Browser) -> Iterator[Visit]:
    api.aside = Reply("[]")
    with visiting(site.url, browser) as open_page:
        yield open_page


def test_prose_arrives_piece_by_piece_with_checked_citations(visit: Visit, api: ChatApi) -> None:
    api.script(LOOK, Reply(PROSE, pause=0.15))
    page = visit()
    expect(page.locator(".hint")).to_contain_text("openai/scripted")
    page.locator("#question").fill(QUESTION)
    page.keyboard.press("Enter")
    turn = page.locator(".turn")
    expect(turn.locator(".answer")).to_contain_text("You can roll back")
    expect(turn).to_have_attribute("aria-busy", "true")  # it is read while it is written
    expect(page.get_by_role("button", name="Stop the answer")).to_be_visible()
    turn.locator("xpath=self::*[not(@aria-busy)]").wait_for()
    expect(turn.locator(".answer strong")).to_have_text("without an approval")
    expect(turn.get_by_role("button", name=re.compile("^Source 1"))).to_have_count(2)
    expect(turn.locator(".shelf > .cards .card")).to_have_count(1)  # what is not cited is folded
    expect(turn.locator(".trace")).to_contain_text("rollback")
    expect(turn.locator(".usage")).to_contain_text("tokens")
    keep(page, "prose")
    check_access(page)


def test_a_stopped_answer_says_so_and_the_next_question_is_answered(visit: Visit, api: ChatApi) -> None:
    api.script(LOOK, Reply(PROSE * 5, pause=0.2), LOOK, Reply(PROSE))
    page = visit()
    page.locator("#question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_contain_text("You can roll back")
    page.get_by_role("button", name="Stop the answer").click()
    page.locator(".turn:not([aria-busy])").wait_for()
    expect(page.locator(".turn")).to_contain_text("Stopped.")
    expect(page.locator(".answer")).not_to_contain_text("afterwards")
    ask(page, "Who has to approve a rollback?")
    expect(page.locator(".turn").last.locator(".answer")).to_contain_text("without an approval")
    page.reload()
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".turn").first).to_contain_text("Stopped.")


def test_an_answer_goes_on_while_another_conversation_is_looked_at(visit: Visit, api: ChatApi) -> None:
    api.script(LOOK, Reply(PROSE, pause=0.12))
    page = visit()
    page.locator("#question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_contain_text("You can roll back")
    place = page.url
    page.locator("#new-chat").click()
    expect(page.locator(".turn")).to_have_count(0)
    page.goto(place)
    page.locator(".turn:not([aria-busy])").wait_for()
    expect(page.locator(".answer")).to_contain_text("Tell #deploys afterwards")


def test_a_model_that_dies_leaves_what_came_marked_as_incomplete(visit: Visit, api: ChatApi) -> None:
    api.script(LOOK, Reply(PROSE, cut=8), Reply(PROSE, cut=8), Reply(PROSE, cut=8))
    page = visit()
    ask(page, QUESTION)
    expect(page.locator(".turn .notice.bad").first).to_be_visible()
    expect(page.locator(".turn")).to_contain_text("not complete")


def test_what_is_remembered_is_seen_and_forgotten(visit: Visit, api: ChatApi) -> None:
    api.script(LOOK, Reply(PROSE))
    api.aside = Reply('[{"kind": "preference", "text": "Prefers short answers about rollbacks"}]')
    page = visit()
    ask(page, "I prefer short answers about rollbacks. How do we roll back?")
    row = page.locator("#view-memories .row", has_text="short answers")
    for _ in range(20):  # it is noted after the answer
        page.goto(page.url.split("#")[0] + "#/memories")
        page.wait_for_timeout(300)
        if row.count():
            break
        page.goto(page.url.split("#")[0] + "#/status")
    expect(row).to_contain_text("Preference")
    row.get_by_role("button", name="Forget").click()
    expect(row).to_have_count(0)
    expect(page.locator("#view-memories")).to_contain_text("Nothing is remembered")


def test_a_token_is_asked_for_once(library: Library, browser: Browser, tmp_path: Path) -> None:
    token = "correct-horse-battery"
    with (
        running_server(library.environment | {"SERVING_TOKEN": token}, tmp_path / "log") as url,
        visiting(url, browser) as open_page,
    ):
        page = open_page(excuse="Failed to load resource")
        dialog = page.get_by_role("dialog", name="Unlock")
        expect(dialog).to_have_count(1)
        dialog.get_by_label("Token").fill("wrong-horse-battery")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("does not know that token")
        check_access(page)
        dialog.get_by_label("Token").fill(token)
        page.keyboard.press("Enter")
        expect(dialog).to_have_count(0)
        ask(page, QUESTION)
        expect(page.locator(".answer")).to_contain_text("No approval is needed")
        page.reload()
        expect(page.locator(".answer")).to_contain_text("No approval is needed")
        expect(dialog).to_have_count(0)
        assert page.evaluate("localStorage.getItem('vaultline.token')") is None  # in this tab only, unless asked


def test_a_migration_is_watched_to_its_end(visit: Visit, library: Library) -> None:
    other = library.settings.model_copy(update={"embedding_model": "fake/other-32"})
    database = Database.from_settings(other)
    ensure_wanted(database, create_embedder(other.embedding_model, other), asked=True)
    database.close()
    page = visit("#/status")
    building = page.locator(".generation.building")
    expect(building).to_contain_text("fake/other-32")
    expect(building.get_by_role("progressbar").first).to_have_attribute("value", "0")
    expect(building).to_contain_text(re.compile(r"0 of \d+ passages"))
    expect(building).to_contain_text("runbooks: 0 of")
    keep(page, "migration")
    check_access(page)
    environment = library.environment | {"EMBEDDING_MODEL": "fake/other-32"}
    done = subprocess.run([*VAULTLINE, "sync"], env=environment, capture_output=True, timeout=120, check=False)
    assert done.returncode == 3, done.stderr  # all done, and one file of the vault is in quarantine
    active = page.locator(".generation.active")
    expect(active).to_contain_text("fake/other-32", timeout=15_000)  # the page looks again by itself
    expect(page.locator(".generation.previous")).to_contain_text("fake/test-64")
