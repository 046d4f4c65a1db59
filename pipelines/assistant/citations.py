"""Checks an answer while it is streamed: what it cites, where its links lead, what could pass for structure.

A model's text is Markdown that nobody has checked. Citations are `[1]`, `[1, 2]`, `[1-3]`, `[^1]` or `【1】` outside
of code: those of a passage of this turn go on as `[1]`, the others are taken out and counted. Links and images can
carry what was read to another site: images go, and links stay only where a passage of this turn holds their address.
A tag becomes text. Code is left as it is. Text whose meaning the next characters decide is kept back until they come.
"""

import re
import string
from collections.abc import Callable

LONGEST = 2_000
"""Characters that are kept back at most for a link or code to be closed; then its opening was just a character."""

_MOST_IN_ONE = 20
"""Citations of one pair of brackets, as in `[1-9]`."""

_NUMBERS = r"[ \t]*\^?[ \t]*c?\d{1,4}(?:[ \t]*[,;–—-][ \t]*\^?c?\d{1,4})*[ \t]*"
_CITATION = re.compile(rf"\[({_NUMBERS})\]|\\\[({_NUMBERS})\\?\]|【({_NUMBERS})(?:†[^】]{{0,200}})?】")
_CITATION_BEGINS = re.compile(r"(?:\\\[|【)[ \t^c\d,;–—-]*(?:\\|†[^】]{0,200})?$")
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]{1,20}://|www\.)[^\s<>\"'`\]|]*", re.IGNORECASE)
_ADDRESS_BEGINS = re.compile(r"(?<![a-z0-9])(?:[a-z][a-z0-9+.-]{1,20}:/{0,2}|w{1,3}\.?)$", re.IGNORECASE)
_WORD = re.compile(r"[a-z][a-z0-9+.-]*", re.IGNORECASE)
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})([^\n]*)\n?")
_FENCE_BEGINS = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)]?)[ \t]*)?[`~]*$")
_DEFINITION_BEGINS = re.compile(r"[ ]{0,3}\[[^\]\n]{0,200}\]?$")
_DEFINITION = re.compile(r"[ ]{0,3}\[([^\]\n]{1,200})\]:[^\n]*\n?")
_PUNCTUATION = frozenset(string.punctuation)
_SPECIAL = re.compile(r"[\[\\!`<【\n ]|(?<![A-Za-z0-9])[A-Za-z](?=[A-Za-z0-9+.-]{0,20}(?:://|\.|:|/|$))")


class Checker:
    """Feed it a text in pieces; what it gives back, joined, does not depend on how the text was cut."""

    def __init__(self, known: Callable[[int], bool], may_link: Callable[[str], bool], *, quoting: bool = False) -> None:
        """With `quoting`, what looks like a citation stays as text that is none."""
        self._known = known
        self._may_link = may_link
        self._quoting = quoting
        self._before = ""
        self._kept = ""
        self._fence: str | None = None
        self._line_begins = True
        self._space = ""
        self.cited: list[int] = []
        self.removed = 0

    def feed(self, piece: str) -> str:
        """What can be shown after one more piece."""
        self._kept += piece.replace("\r\n", "\n").replace("\r", "\n")
        return self._consume(last=False)

    def finish(self) -> str:
        """What was kept back, decided; a fence that is still open is closed."""
        text = self._consume(last=True) + self._space
        self._space = ""
        if self._fence is not None:
            text += ("" if self._line_begins else "\n") + self._fence
            self._fence = None
        return text

    def _consume(self, *, last: bool) -> str:
        shown: list[str] = []
        text, place = self._before + self._kept, len(self._before)  # what a word begins after decides what it is
        while place < len(text):
            step = self._step(text, place, last=last)
            if step is None:
                break
            part, after = step
            self._line_begins = text[after - 1] == "\n"
            place = after
            self._append(shown, part)
        self._before, self._kept = text[:place][-1:], text[place:]
        return "".join(shown)

    def _append(self, shown: list[str], part: str | None) -> None:
        """Blanks wait for what follows them: a citation that is taken out takes the blank before it along."""
        if part is None:
            self._space = ""
        elif part == " " and self._fence is None:
            self._space += part
        elif part:
            shown += (self._space, part)
            self._space = ""

    def _step(self, text: str, place: int, *, last: bool) -> tuple[str | None, int] | None:
        """(what is shown of it, where the next step begins), or None if more text has to come first."""
        if self._fence is not None:
            return self._in_fence(text, place, last=last)
        if self._line_begins:
            begun = self._line(text, place, last=last)
            if begun is not NOTHING:
                return begun  # type: ignore[return-value]
        found = _SPECIAL.search(text, place)
        if found is None:
            return text[place:], len(text)
        if found.start() > place:
            return text[place : found.start()], found.start()
        char = text[place]
        if char in " \n":
            return char, place + 1
        if char == "`":
            return self._code(text, place, last=last)
        if char == "<":
            if place + 1 == len(text) and not last:
                return None
            tag = place + 1 < len(text) and (text[place + 1].isalpha() or text[place + 1] in "/!?")
            return "&lt;" if tag else "<", place + 1
        if char in "[【\\!":
            return self._bracket(text, place, last=last)
        return self._address(text, place, last=last)

    def _in_fence(self, text: str, place: int, *, last: bool) -> tuple[str, int] | None:
        end = text.find("\n", place)
        if end < 0 and not last:
            return None if self._line_begins and len(text) - place < LONGEST else (text[place:], len(text))
        end = len(text) if end < 0 else end + 1
        line = text[place:end]
        assert self._fence is not None
        closing = line.strip(" \t>\n")
        if self._line_begins and len(closing) >= len(self._fence) and set(closing) == {self._fence[0]}:
            self._fence = None
        return line, end

    def _line(self, text: str, place: int, *, last: bool) -> object:
        """The beginning of a line: a fence, or the definition of a link; NOTHING if it is neither."""
        if not last and (_FENCE_BEGINS.match(text, place) or _DEFINITION_BEGINS.match(text, place)):
            return None
        fence = _FENCE.match(text, place)
        if fence is not None and not (fence[1][0] == "`" and "`" in fence[2]):
            if not fence[0].endswith("\n") and not last:
                return None if len(fence[0]) < LONGEST else NOTHING
            self._fence = fence[1]
            return fence[0], fence.end()
        definition = _DEFINITION.match(text, place)
        if definition is not None and not re.fullmatch(_NUMBERS, definition[1]):
            return None if not definition[0].endswith("\n") and not last else ("", definition.end())
        return NOTHING

    def _code(self, text: str, place: int, *, last: bool) -> tuple[str, int] | None:
        run = re.compile("`+").match(text, place)
        assert run is not None
        if run.end() == len(text) and not last:
            return None
        for closing in re.compile("`+|\n[ \t]*\n").finditer(text, run.end()):
            if closing[0][0] == "\n":
                break
            if closing.end() == len(text) and not last:
                return None
            if closing[0] == run[0]:
                return text[place : closing.end()], closing.end()
        else:
            if not last and len(text) - place < LONGEST:
                return None
        return "\\`" * len(run[0]), run.end()  # never closed: a character, so that what follows is no code either

    def _bracket(self, text: str, place: int, *, last: bool) -> tuple[str | None, int] | None:
        if text[place] == "\\" and text[place : place + 2] != "\\[":
            escaped = text[place + 1 : place + 2] in _PUNCTUATION  # a letter behind it may begin an address
            end = min(place + 1 + escaped, len(text))
            return None if place + 1 == len(text) and not last else (text[place:end], end)
        image = text[place] == "!"
        if image and text[place + 1 : place + 2] != "[":
            return None if place + 1 == len(text) and not last else ("!", place + 1)
        cited = _CITATION.match(text, place)
        if cited is not None:
            return self._cited(text, cited, last=last)
        if text[place] in "\\【":
            if not last and _CITATION_BEGINS.match(text, place):
                return None
            return ("【", place + 1) if text[place] == "【" else ("\\[", place + 2)
        begin = place + image
        end = _closing(text, begin, "[", "]")
        if end < 0:
            if not last and len(text) - place < LONGEST and "\n\n" not in text[place:]:
                return None
            return ("\\!", begin) if image else ("[", begin + 1)
        if end + 1 == len(text) and not last:
            return None
        if text[end + 1 : end + 2] == "(":
            stop = _closing(text, end + 1, "(", ")")
            if stop >= 0:
                return self._link(text[begin + 1 : end], text[end + 2 : stop], image=image), stop + 1
            if not last and len(text) - place < LONGEST:
                return None
            return ("\\!", begin) if image else ("[", begin + 1)
        return ("!", begin) if image else ("[", begin + 1)

    def _cited(self, text: str, cited: re.Match[str], *, last: bool) -> tuple[str | None, int] | None:
        after = cited.end()
        if after == len(text) and not last:
            return None
        shown = self._numbers(next(part for part in cited.groups() if part is not None))
        if text[after : after + 1] == "(":  # a link with a number for its text: no citation has an address
            stop = _closing(text, after, "(", ")")
            if stop < 0 and not last and len(text) - after < LONGEST:
                self._forget(shown)
                return None
            after = after if stop < 0 else stop + 1
        elif text[after : after + 1] == ":" and self._line_begins:
            return shown, after + 1  # would be the definition of a link, which is not shown
        return shown, after

    def _numbers(self, listed: str) -> str | None:
        self._undo = (len(self.cited), self.removed)
        if self._quoting:
            return f"\\[{listed.strip()}\\]"
        shown = []
        for part in re.split(r"[,;]", listed):
            numbers = [int(number) for number in re.findall(r"\d+", part)]
            if len(numbers) == 2 and numbers[0] < numbers[1] < numbers[0] + _MOST_IN_ONE:
                numbers = list(range(numbers[0], numbers[1] + 1))
            for number in numbers:
                if self._known(number):
                    shown.append(f"[{number}]")
                    self.cited.append(number)
                else:
                    self.removed += 1
        return "".join(dict.fromkeys(shown)) or None

    def _forget(self, shown: str | None) -> None:
        kept, self.removed = self._undo
        del self.cited[kept:]

    def _link(self, label: str, target: str, *, image: bool) -> str | None:
        inner = Checker(self._known, self._may_link, quoting=self._quoting)
        inner._line_begins = False
        words = inner.feed(label) + inner.finish()
        self.cited += inner.cited
        self.removed += inner.removed
        address = target.split()[0].strip("<>") if target.split() else ""
        if not image and re.match(r"https?://", address, re.IGNORECASE) and self._may_link(address):
            return f"[{words}]({address})"
        return words or None

    def _address(self, text: str, place: int, *, last: bool) -> tuple[str, int] | None:
        found = _ADDRESS.match(text, place)
        if found is None:
            word = _WORD.match(text, place)
            assert word is not None
            if not last and (word.end() == len(text) or _ADDRESS_BEGINS.search(text, place)):
                return None if len(text) - place < 30 else (word[0], word.end())
            return word[0], word.end()
        if found.end() == len(text) and not last and len(found[0]) < LONGEST:
            return None
        address = found[0].rstrip(".,;:!?)*_")
        after = place + len(address)
        if re.match(r"https?://", address, re.IGNORECASE) and self._may_link(address):
            return address, after
        return "(…)", after


NOTHING = object()


def _closing(text: str, begin: int, opening: str, closing: str) -> int:
    """Where a bracket is closed in its paragraph, or -1. One that is escaped is no bracket."""
    depth, place = 0, begin
    while place < len(text):
        char = text[place]
        if char == "\\":
            place += 1
        elif text.startswith("\n\n", place):
            return -1
        elif char == opening:
            depth += 1
        elif char == closing:
            depth -= 1
            if depth == 0:
                return place
        place += 1
    return -1
