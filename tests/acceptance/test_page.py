"""The web page in a real browser: with a mouse, with keys alone, on a phone, in the dark, in Spanish."""

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.page_site import QUESTION, Site, Visit, ask, check_access, keep, library, site, visit, width_of

__all__ = ["library", "site", "visit"]

pytestmark = [pytest.mark.browser, pytest.mark.slow]

VIEWS = ("chat", "search", "documents", "questions", "memories", "status")
LARGEST = 300_000  # bytes of a first load, unpacked


def test_a_first_load_is_small(visit: Visit, site: Site, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    sizes: dict[str, int] = {}
    page.on("response", lambda answer: sizes.setdefault(answer.url.removeprefix(site.url), len(answer.body())))
    page.goto(site.url, wait_until="networkidle")
    context.close()
    assert "/" in sizes
    assert any(path.endswith("app.js") for path in sizes)
    assert sum(sizes.values()) < LARGEST, sizes


def test_a_question_is_answered_and_a_citation_opens_the_passage_at_its_place(visit: Visit) -> None:
    page = visit()
    ask(page, QUESTION)
    answer = page.locator(".answer")
    expect(answer).to_contain_text("No approval is needed")
    expect(answer.locator(".hljs-string").first).to_be_visible()  # code is coloured
    card = page.locator(".card").first
    expect(card).to_contain_text("Rolling back with muelle")
    expect(card).to_contain_text("lines 11–22")

    answer.get_by_role("button", name=re.compile("^Source 1: Rolling back")).click()
    reader = page.get_by_role("complementary", name="Rolling back with muelle")
    expect(reader).to_be_focused()
    hit = reader.locator(".hit")
    expect(hit).to_contain_text("Cited passage: Rolling back with muelle")
    expect(hit).to_contain_text("It takes about 110 seconds")
    expect(hit).not_to_contain_text("So a full roll-out takes")
    expect(hit).to_be_in_viewport()
    expect(page.locator("#live")).to_have_text("Rolling back with muelle is open at the cited passage.")
    keep(page, "citation")

    page.reload()  # the address is enough to come back
    expect(reader.locator(".hit")).to_contain_text("It takes about 110 seconds")
    expect(page.locator(".answer")).to_contain_text("No approval is needed")
    page.go_back()
    expect(reader).to_be_hidden()


def test_a_long_document_comes_part_by_part(visit: Visit) -> None:
    page = visit()
    small = "limit=700"  # as if the note had hundreds of pages
    page.route(
        "**/api/documents/*", lambda route: route.continue_(url=route.request.url.replace("limit=200000", small))
    )
    page.goto(page.url.split("#")[0] + "#/documents?doc=runbooks/Rolling back with muelle.md&at=40-45")
    reader = page.locator("#reader")
    expect(reader.locator(".hit").first).to_contain_text("It does not undo migrations")  # not in the first part
    more = reader.get_by_role("button", name="The document goes on")
    while more.count():
        more.click()
        page.wait_for_load_state("networkidle")
    expect(reader.locator("article")).to_contain_text("see the continuity plan, section 3")
    expect(reader.locator(".hit").first).to_contain_text("It does not undo migrations")


def test_what_is_not_known_is_said_listed_and_drafted(visit: Visit, site: Site) -> None:
    page = visit()
    ask(page, "Which zeppelins fly over Antarctica on Sundays?")
    expect(page.locator(".answer")).to_contain_text("no such information")
    expect(page.locator(".card")).to_have_count(0)
    page.get_by_role("link", name="Kept in the list").click()
    row = page.locator("#view-questions .row", has_text="zeppelins")
    expect(row).to_contain_text("asked once")
    row.get_by_role("button", name="Draft FAQ note").click()
    expect(row).to_contain_text("agent_learnings/")
    [draft] = (site.library.root / "agent_learnings").iterdir()
    assert "zeppelins" in draft.read_text(encoding="utf-8")


def test_search_narrows_and_shows_where_it_found_the_words(visit: Visit) -> None:
    page = visit("#/search")
    page.get_by_role("searchbox", name="Search the notes").fill("rollback migrations")
    page.keyboard.press("Enter")
    cards = page.locator("#view-search .card")
    expect(cards.first).to_be_visible()
    expect(page.locator(".card-text mark").first).to_be_visible()
    keep(page, "search")
    page.get_by_label("Folder").select_option("conventions")
    expect(page).to_have_url(re.compile("folder=conventions"))
    expect(cards.filter(has_text="runbooks")).to_have_count(0)
    expect(cards.first).to_contain_text("conventions")
    page.get_by_role("searchbox", name="Search the notes").fill("zeppelins over Antarctica")
    page.keyboard.press("Enter")
    expect(page.locator("#view-search .notice")).to_contain_text("Nothing in the notes")


def test_documents_show_their_state_and_why(visit: Visit) -> None:
    page = visit("#/documents")
    page.get_by_role("button", name="Quarantined", exact=True).click()
    rows = page.locator("#view-documents > .rows .row")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("hostile/broken.pdf")
    expect(rows.locator(".reason")).not_to_be_empty()
    page.get_by_role("button", name="Left out", exact=True).click()
    expect(rows.filter(has_text="private")).to_contain_text("rag")
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_role("searchbox", name="Filter by name").fill("muelle")
    expect(rows.locator("visible=true")).to_have_count(1)


def test_markup_in_a_note_stays_text(visit: Visit) -> None:
    page = visit()
    for source in ("hostile/numbat.txt", "hostile/code.md"):
        page.goto(page.url.split("#")[0] + f"#/documents?doc={source}")
        article = page.locator("#reader article")
        expect(article).to_contain_text("<script>window.pwned = 2</script>")
        expect(article).to_contain_text('onerror="window.pwned = 3"')
        harmless(page)
    for animal in ("quokka", "numbat"):
        page.goto(page.url.split("#")[0] + f"#/search?q={animal} protocol phases")
        expect(page.locator("#view-search .card").first).to_be_visible()
        harmless(page)
        page.goto(page.url.split("#")[0] + "#/chat")
        ask(page, f"How many phases has the {animal} protocol?")
        expect(page.locator(".answer")).to_contain_text("four phases")
        page.locator("#view-chat .card").first.click()
        expect(page.locator("#reader .hit").first).to_be_visible()
        harmless(page)


def harmless(page: Page) -> None:
    foreign = "script, iframe, style, svg:not(.icon), img:not([src^='/static/']), [onerror], [onclick], [onload]"
    assert page.locator("body").locator(foreign).count() == 0
    for link in page.locator("article a[href]").all():
        assert re.match("https?:|mailto:|#", link.get_attribute("href") or "")
    assert page.evaluate("window.pwned") is None


def test_markup_cannot_be_made_of_strings_at_all(visit: Visit) -> None:
    page = visit(excuse="TrustedHTML")
    blocked = page.evaluate(
        "() => { try { document.body.innerHTML = '<img src=x onerror=1>'; return false } catch { return true } }"
    )
    assert blocked is True


def test_an_upload_shows_its_progress_and_is_found(visit: Visit, tmp_path: Path) -> None:
    note = tmp_path / "Wombat.md"
    note.write_text("# Wombat\n\nWombats leave cubes because their gut is stiff in places.\n", encoding="utf-8")
    page = visit("#/documents")
    page.locator("#upload").set_input_files(note)
    line = page.locator(".upload-line", has_text="Wombat.md")
    expect(line.get_by_role("progressbar")).to_be_visible()
    expect(line).to_contain_text("Indexed", timeout=60_000)
    page.goto(page.url.split("#")[0] + "#/search?q=why do wombats leave cubes")
    expect(page.locator("#view-search .card").first).to_contain_text("stiff in places")

    page.goto(page.url.split("#")[0] + "#/documents")
    page.get_by_text("Uploaded files").click()
    page.get_by_role("button", name="Delete “Wombat.md”").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".kept-uploads .row")).to_have_count(0, timeout=60_000)


def test_an_upload_that_is_refused_says_why(visit: Visit, tmp_path: Path) -> None:
    program = tmp_path / "tool.exe"
    program.write_bytes(b"MZ")
    page = visit("#/documents", excuse="Failed to load resource")
    page.locator("#upload").set_input_files(program)
    line = page.locator(".upload-line", has_text="tool.exe")
    expect(line).to_contain_text("Refused")
    expect(line.locator(".reason")).not_to_be_empty()


def test_conversations_are_kept_renamed_and_deleted(visit: Visit) -> None:
    page = visit()
    ask(page, QUESTION)
    expect(page).to_have_url(re.compile(r"#/chat/[0-9a-f-]{36}$"))
    sessions = page.locator("#sessions .session")
    mine = page.locator("#sessions a[aria-current]")
    expect(mine).to_have_text(QUESTION)
    mine.hover()
    page.locator("#sessions li:has([aria-current])").get_by_role("button", name="Rename").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("About rolling back")
    page.keyboard.press("Enter")
    expect(mine).to_have_text("About rolling back")
    count = sessions.count()
    mine.hover()
    page.get_by_role("button", name="Delete “About rolling back”").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(sessions).to_have_count(count - 1)
    expect(page).to_have_url(re.compile("#/chat$"))
    expect(page.get_by_text("What do you want to know?")).to_be_visible()


def test_a_conversation_can_be_limited_to_documents(visit: Visit) -> None:
    page = visit()
    ask(page, QUESTION)
    page.get_by_role("button", name="All documents").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("searchbox").fill("Feature flags")
    dialog.locator("input[type=checkbox]:visible").first.check()
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="One document")).to_be_visible()
    ask(page, QUESTION)
    expect(page.locator(".turn").last.locator(".card", has_text="muelle")).to_have_count(0)


def test_keys_are_enough(visit: Visit) -> None:
    page = visit()
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.type("roll back a release")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("with muelle")
    expect(page.locator("#question")).to_have_value("roll back a release\nwith muelle")
    page.keyboard.press("Enter")
    page.locator(".turn:not([aria-busy])").wait_for()
    tab_to(page, page.locator(".answer .cite").first, key="Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#reader")).to_be_focused()
    expect(page.locator("#reader .hit")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="To the passage")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#reader")).to_be_hidden()
    expect(page.locator(".card").first).to_be_focused()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("searchbox", name="Search the notes")).to_be_focused()

    page = visit("#/status")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def tab_to(page: Page, target: object, *, key: str) -> None:
    for _ in range(40):
        page.keyboard.press(key)
        if target.evaluate("(element) => element === document.activeElement"):  # type: ignore[attr-defined]
            return
    raise AssertionError("no number of Tabs leads there")


def test_a_phone_has_room_for_everything(visit: Visit) -> None:
    page = visit(width=390, height=844, touch=True)
    for name in VIEWS:
        page.get_by_role("button", name="Menu", exact=True).click()
        page.locator(f"[data-view={name}]").click()
        expect(page.locator("#sidebar")).to_be_hidden()
        expect(page.locator(f"#view-{name}")).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert width_of(page) <= 390, name
    page.goto(page.url.split("#")[0] + "#/chat")
    ask(page, QUESTION)
    assert width_of(page) <= 390
    keep(page, "phone")
    page.locator(".cite").first.click()
    expect(page.locator("#reader .hit")).to_be_in_viewport()
    assert page.locator("#reader").bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
    assert page.locator("main").evaluate("(element) => element.inert")
    assert width_of(page) <= 390
    page.get_by_role("button", name="Close the document").click()
    assert not page.locator("main").evaluate("(element) => element.inert")


def test_a_tablet_lays_the_document_over_the_view(visit: Visit) -> None:
    page = visit("#/documents?doc=conventions/Feature flags.md", width=900, height=760)
    expect(page.locator("#reader article")).to_be_visible()
    assert page.locator("main").evaluate("(element) => element.inert")
    assert width_of(page) <= 900
    page.mouse.click(40, 400)  # beside it
    expect(page.locator("#reader")).to_be_hidden()
    assert not page.locator("main").evaluate("(element) => element.inert")


def test_dark_as_the_system_says_or_as_chosen(visit: Visit) -> None:
    page = visit(dark=True)
    assert darkness(page) < 60
    ask(page, QUESTION)
    page.locator(".card").first.click()
    expect(page.locator("#reader .hit")).to_be_visible()
    keep(page, "dark")
    page.get_by_role("button", name="Theme: as the system").click()
    assert darkness(page) > 200
    page.reload()
    assert darkness(page) > 200  # the choice is kept
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()


def darkness(page: Page) -> int:
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return max(int(part) for part in re.findall(r"\d+", colour)[:3])


def test_spanish_as_the_browser_says_and_changed_without_losing_the_answer(visit: Visit) -> None:
    page = visit(locale="es-ES")
    assert page.locator("html").get_attribute("lang") == "es"
    expect(page.get_by_role("link", name="Buscar")).to_be_visible()
    ask(page, "¿Cómo se rota un secreto?")
    expect(page.locator(".answer")).to_contain_text("Esto es lo que dicen los documentos")
    expect(page.locator(".shelf h3")).to_have_text("Fuentes")
    expect(page.locator(".card").first).to_contain_text(re.compile("líneas? "))
    page.get_by_role("combobox", name="Idioma").select_option("en")
    expect(page.locator(".shelf h3")).to_have_text("Sources")
    expect(page.locator(".card").first).to_contain_text(re.compile("lines? "))
    expect(page.locator(".answer")).to_contain_text("Esto es lo que dicen los documentos")
    assert page.title() == "Chat · Vaultline"
    page.reload()
    expect(page.get_by_role("link", name="Search", exact=True)).to_be_visible()


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_in_the_way_of_assistive_technology(visit: Visit, dark: bool) -> None:
    page = visit(dark=dark)
    rules = ("color-contrast",) if dark else ()  # everything else is the same in the dark
    for name in VIEWS:
        page.goto(page.url.split("#")[0] + f"#/{name}")
        expect(page.locator(f"#view-{name}")).to_be_visible()
        page.wait_for_load_state("networkidle")
        check_access(page, *rules)
    page.goto(page.url.split("#")[0] + "#/chat")
    ask(page, QUESTION)
    check_access(page, *rules)
    page.locator(".card").first.click()
    expect(page.locator("#reader .hit")).to_be_visible()
    check_access(page, *rules)


def test_the_index_and_its_parts_are_seen(visit: Visit) -> None:
    page = visit("#/status")
    generation = page.locator(".generation")
    expect(generation).to_contain_text("fake/test-64")
    expect(generation).to_contain_text("Active")
    expect(page.locator("#view-status .row", has_text="Database")).to_contain_text("Healthy")
    expect(page.locator("#health-dot")).to_have_class(re.compile("healthy|degraded"))


def test_it_can_be_installed(site: Site) -> None:
    index = httpx.get(site.url).text
    [address] = re.findall(r'rel="manifest" href="([^"]+)"', index)
    manifest = httpx.get(site.url + address).json()
    assert manifest["start_url"] == manifest["scope"] == "/"
    assert manifest["display"] == "standalone"
    folder = address.rsplit("/", 1)[0]
    for icon in manifest["icons"]:
        answer = httpx.get(f"{site.url}{folder}/{icon['src']}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, icon["type"])
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}


def test_a_server_that_is_away_is_said_and_asked_again(visit: Visit) -> None:
    page = visit("#/search", excuse="ERR_")
    page.route("**/api/search*", lambda route: route.abort())
    page.locator("#q").fill("rollback")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.unroute("**/api/search*")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#view-search .card").first).to_be_visible()
