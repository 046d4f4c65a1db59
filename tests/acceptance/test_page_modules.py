"""Modules of the page by themselves, in a browser, without a server: its files are answered from memory."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route

from pipelines.serving.page import POLICY, load_page

pytestmark = pytest.mark.browser

ORIGIN = "http://page.test"


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A bare document under the page's own policy, with its two libraries."""
    context = browser.new_context(locale="en-GB")
    page = context.new_page()
    root = f"/static/{load_page().version}"
    bare = "".join(f'<script src="{root}/vendor/{name}.min.js"></script>' for name in ("markdown-it", "purify"))

    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path
        if path == "/":
            route.fulfill(body=bare, content_type="text/html", headers={"Content-Security-Policy": POLICY})
        elif path in load_page().assets:
            asset = load_page().assets[path]
            route.fulfill(body=asset.body, content_type=asset.media_type)
        else:
            route.abort()

    page.route("**/*", answer)
    page.goto(ORIGIN)
    yield page
    context.close()


def run(page: Page, module: str, code: str, argument: Any = None) -> Any:
    """The value of `code`, which knows the module as `m` and the argument as `given`."""
    address = f"/static/{load_page().version}/{module}.js"
    return page.evaluate(f"async (given) => {{ const m = await import('{address}'); {code} }}", argument)


def rendered(page: Page, text: str, citations: tuple[int, ...] = ()) -> str:
    """Markup of a Markdown text as the page shows it."""
    markup = run(
        page,
        "markdown",
        "const box = document.createElement('div');"
        "box.append(m.render(given.text, { citations: new Set(given.citations) })); return box.innerHTML;",
        {"text": text, "citations": list(citations)},
    )
    assert isinstance(markup, str)
    return markup


@pytest.mark.parametrize(
    "text",
    [
        "<script>bad()</script>",
        "<img src=x onerror=bad()>",
        "<svg><animate onbegin=bad() attributeName=x></svg>",
        "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=bad()&gt;'>",
        "[x](javascript:bad())",
        "[x](JaVaScRiPt&#58;bad())",
        "[x](&#x6A&#x61&#x76&#x61script:bad())",
        "[x](vbscript:bad())",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](<javascript:bad()>)",
        "![x](javascript:bad())",
        '![x](https://evil.example/x.png "onload=bad()")',
        '[x](https://ok.example "a\\" onmouseover=\\"bad()")',
        "<javascript:bad()>",
        "```html\n<script>bad()</script>\n```",
        '```"><script>bad()</script>\nx\n```',
        "| <b onclick=bad()> | b |\n|---|---|\n| <iframe src=//evil.example> | c |",
        "[1]: javascript:bad()\n\n[1]",
        "<form action=//evil.example><input name=x></form>",
        "<base href=//evil.example>",
        "<a href='//evil.example' target=_top>x</a>",
        '<div style="position:fixed;inset:0">x</div>',
        "`<script>bad()</script>`",
        "# <script>bad()</script>",
        '<button type="button" class="cite" data-cite="1">1</button>',
    ],
)
def test_markup_of_notes_is_text(page: Page, text: str) -> None:
    found = run(
        page,
        "markdown",
        """const box = document.createElement('div');
        box.append(m.render(given, { citations: new Set() }));
        const elements = [...box.querySelectorAll('*')].filter((one) => !one.closest('svg'));
        return {
          names: elements.map((one) => one.localName),
          attributes: elements.flatMap((one) => [...one.attributes].map(({ name, value }) => [name, value])),
          copies: box.querySelectorAll('.code-box > .icon-button').length,
          buttons: box.querySelectorAll('button').length,
        };""",
        text,
    )
    forbidden = {"script", "img", "iframe", "style", "form", "input", "base", "object", "math", "svg"}
    assert not forbidden & set(found["names"])
    assert found["buttons"] == found["copies"]  # ours
    for name, value in found["attributes"]:
        assert not name.startswith("on")
        assert name != "style"
        if name in ("href", "src"):
            assert value.startswith(("https:", "http:", "mailto:")), value


@pytest.mark.parametrize("text", ["<b>bold</b>", "<script>bad()</script>", "x <img src=x onerror=bad()> y"])
def test_and_it_is_read_as_it_was_written(page: Page, text: str) -> None:
    assert text.replace("<", "&lt;").replace(">", "&gt;") in rendered(page, text)


def test_markdown_of_notes_is_shown(page: Page) -> None:
    markup = rendered(
        page, "## Head\n\n- [x] done\n- [ ] open\n\n**bold** and ~~gone~~ <https://ok.example/a>\n\n| a |\n|---|\n| b |"
    )
    for piece in ("<h2", "☑ done", "☐ open", "<strong>bold</strong>", "<s>gone</s>", "<td", 'class="table-box"'):
        assert piece in markup
    assert 'rel="noopener noreferrer"' in markup
    assert 'target="_blank"' in markup


@pytest.mark.parametrize(
    ("text", "title"),
    [("> [!danger] Do *not*\n> restart it", "Do <em>not</em>"), ("> [!note]-\n> Words", "Note")],
)
def test_callouts_have_their_title(page: Page, text: str, title: str) -> None:
    markup = rendered(page, text)
    assert f"<strong>{title}</strong>" in markup
    assert 'class="callout' in markup
    assert "[!" not in markup


def test_only_numbers_of_sources_are_citations(page: Page) -> None:
    markup = rendered(page, "One [1], none [7], a list[0], code `[1]`, a link [1](https://ok.example).", (1,))
    assert markup.count('class="cite"') == 1
    assert "[7]" in markup
    assert "[0]" in markup
    assert "<code>[1]</code>" in markup


def test_blocks_know_their_lines(page: Page) -> None:
    markup = rendered(page, "# One\n\ntext\nmore\n\n- a\n- b\n\n```sh\nx\n```")
    for lines in ("0-1", "2-4", "5-6", "6-8", "8-11"):
        assert f'data-lines="{lines}"' in markup


TABLE = "| key | value |\n|---|---|\n| alpha | one |\n| omega | last |"
TEXT = f"# Title\n\nFirst paragraph of it.\n\n## Part\n\n{TABLE}\n\nEnd."


@pytest.mark.parametrize(
    ("passage", "found"),
    [
        ("First paragraph of it.", "First paragraph of it."),
        ("First paragraph of it.\n\n## Part", "First paragraph of it.\n\n## Part"),
        # the head of a table is repeated in front of its second piece, with shorter dashes
        ("| key | value |\n| --- | --- |\n| omega | last |", TABLE),
        ("nowhere in the whole document", None),
        ("short", None),
    ],
)
def test_a_passage_is_found_in_its_document(page: Page, passage: str, found: str | None) -> None:
    place = run(
        page, "locate", "return m.locate(given.text, { passage: given.passage });", {"text": TEXT, "passage": passage}
    )
    assert (None if place is None else TEXT[place[0] : place[1]]) == found


def test_lines_alone_are_found_from_the_heading_above(page: Page) -> None:
    # in the file, four lines of frontmatter stand before the text
    outline = [{"line": 5, "offset": 0}, {"line": 9, "offset": TEXT.index("## Part")}]
    place = run(
        page,
        "locate",
        "return m.locate(given.text, { lines: [11, 12], outline: given.outline });",
        {"text": TEXT, "outline": outline},
    )
    assert TEXT[place[0] : place[1]] == "| key | value |\n|---|---|"
    assert run(page, "locate", "return m.locate('abc', { lines: [1, 2], outline: [] });") is None
    assert run(page, "locate", "return m.lineAt('a\\nb\\nc', 4);") == 2


def test_a_snippet_shows_the_words_of_the_question(page: Page) -> None:
    text = "Nothing here. " * 40 + "La rotación del secreto tarda una hora. " + "Nothing there. " * 40
    pieces = run(page, "snippet", "return m.snippet(given, '¿Rotacion de SECRETO?');", text)
    assert [piece["text"] for piece in pieces if piece["hit"]] == ["rotación", "secreto"]
    whole = "".join(piece["text"] for piece in pieces)
    assert whole.startswith("… ")
    assert whole.endswith("…")
    assert len(whole) < 280


@pytest.mark.parametrize("text", ["", "# Only a heading", "a.*b (c) [d] \\e", "x" * 5_000, "İstanbul İİİ straße ﬁn"])
def test_any_text_has_a_snippet(page: Page, text: str) -> None:
    pieces = run(page, "snippet", "return m.snippet(given, 'straße (c) .* istanbul \\\\');", text)
    assert len("".join(piece["text"] for piece in pieces)) <= 300


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_events_arrive_whole_however_the_stream_is_cut(page: Page, size: int) -> None:
    stream = (
        ': keep-alive\n\nevent: text\ndata: {"text": "añadir ☂"}\n\n: keep-alive\n\n'
        'event: end\ndata: {"complete": true}\n\nevent: text\ndata: {"te'
    )
    events = run(
        page,
        "stream",
        """const bytes = new TextEncoder().encode(given.stream);
        const body = new ReadableStream({ start(controller) {
          for (let at = 0; at < bytes.length; at += given.size) controller.enqueue(bytes.slice(at, at + given.size));
          controller.close();
        } });
        const found = [];
        for await (const event of m.events({ body })) found.push([event.name, event.data]);
        return found;""",
        {"stream": stream, "size": size},
    )
    assert events == [["text", {"text": "añadir ☂"}], ["end", {"complete": True}]]


def test_words_take_values_and_numbers(page: Page) -> None:
    said = run(
        page,
        "language",
        """document.documentElement.lang = given;
        const some = [m.t('passages', { n: 1 }), m.t('passages', { n: 1234 })];
        return [...some, m.t('rename', { title: '<b>' }), m.t('unknown')];""",
        "en",
    )
    assert said == ["One passage", "1,234 passages", "Rename “<b>”", "unknown"]
