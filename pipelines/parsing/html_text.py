"""The words of a piece of HTML that stands in Markdown."""

import re
from html.parser import HTMLParser

_UNSEEN = frozenset(("script", "style", "template", "noscript", "iframe", "object", "head"))
_ALT = re.compile(r"""\balt\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self.unseen += 1
        if not self.unseen and (alt := dict(attrs).get("alt")):
            self.parts.append(alt)
        # a tag over several lines leaves its line ends, so that lines of the text stay lines of the file
        self.parts.append("\n" * (self.get_starttag_text() or "").count("\n"))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag in _UNSEEN:
            self.unseen -= 1

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN and self.unseen:
            self.unseen -= 1
        elif tag in ("td", "th"):
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        self.parts.append("\n" * data.count("\n") if self.unseen else data)


def html_words(html: str) -> str:
    """Text of HTML without comments, with alternative texts of images, and with as many line ends as the HTML has."""
    if "<" not in html and "&" not in html:
        return html
    words = _Words()
    words.feed(html)
    words.close()
    return "".join(words.parts)


def inline_html_words(html: str) -> str:
    """Text that stands for one tag within a paragraph: an image's alternative text, a space for a line break."""
    if html.startswith(("<!", "<?", "</")):
        return ""
    if html[1:4].lower() == "br>" or html[1:4].lower() in ("br/", "br "):
        return " "
    found = _ALT.search(html)
    return found.group(1).strip("\"'") if found else ""
