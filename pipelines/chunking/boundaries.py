"""Where chunks begin: decided by the text around a place, not by counting from the top.

A passage over the budget is cut at one place and its two halves are looked at again. The place is the one of the
lowest rank; among equals it is the one whose text has the smallest hash, as in content-defined chunking. So a cut
depends on the text within about one budget around it, and an edit moves the cuts near it and no other.
"""

import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from pipelines.chunking.options import ChunkOptions
from pipelines.chunking.ranks import Rank
from pipelines.chunking.units import Unit

Group = tuple[int, int]
"""Units `first` to `last - 1` that form one chunk."""

_ALWAYS = 2
"""Headings up to this level begin a chunk."""


class Grouping:
    """The units of one document, with what is needed to judge any run of them quickly."""

    def __init__(self, text: str, units: Sequence[Unit], options: ChunkOptions) -> None:
        self._units = units
        self._options = options
        self._ranks = [unit.rank for unit in units]
        self._hashes = [zlib.crc32(text[unit.start : unit.end].encode("utf-8", "surrogatepass")) for unit in units]
        self._before = [0, *accumulate(unit.tokens for unit in units)]

    def tokens(self, first: int, last: int) -> int:
        """Tokens of the embedded text of units `first` to `last - 1`."""
        opener, closer = self._units[first], self._units[last - 1]
        around = opener.lead.tokens + opener.opening.tokens + closer.closing.tokens
        return self._before[last] - self._before[first] + around

    def fits(self, first: int, last: int) -> bool:
        """Whether units `first` to `last - 1` are within the budget."""
        if self.tokens(first, last) > self._options.max_tokens:
            return False
        opener, closer = self._units[first], self._units[last - 1]
        around = len(opener.lead.text) + len(opener.opening.text) + len(closer.closing.text) + 4
        return closer.end - opener.start + around <= self._options.max_characters

    def structural(self) -> list[Group]:
        """Sections joined while they fit, cut at their best places where they do not."""
        groups: list[Group] = []
        for first, last in self._regions(_ALWAYS):
            groups += self._join_rests(self._cut(first, last))
        return self._join_last_headings(groups)

    def paragraphs(self) -> list[Group]:
        """Every block by itself, with the headings before it."""
        groups: list[Group] = []
        for first, last in self._regions(Rank.ATTACHED):
            groups += self._cut(first, last)
        return groups

    def _regions(self, strongest: int) -> list[Group]:
        """Runs of units that begin at a cut of rank `strongest` or lower, which is always made.

        So is a cut between two characters: without white space between, the tokens of two units do not add up.
        """
        starts = [
            number
            for number, rank in enumerate(self._ranks)
            if number == 0 or rank <= strongest or rank == Rank.CHARACTER
        ]
        return list(zip(starts, [*starts[1:], len(self._ranks)], strict=True))

    def _cut(self, first: int, last: int) -> list[Group]:
        groups: list[Group] = []
        waiting = [(first, last)]
        while waiting:
            first, last = waiting.pop()
            place = self._best_place(first, last)
            if place is None:
                groups.append((first, last))
            else:
                waiting += [(place, last), (first, place)]
        return groups

    def _best_place(self, first: int, last: int) -> int | None:
        """The unit before which a run is cut, or None if it stays whole."""
        if last - first < 2:
            return None
        lowest = min(self._ranks[first + 1 : last])
        if self.fits(first, last) and (
            lowest >= Rank.ATTACHED or self.tokens(first, last) <= self._options.target_tokens
        ):
            return None
        places = [number for number in range(first + 1, last) if self._ranks[number] == lowest]
        # A cut close to an end would leave a rest: it is taken only if its rank offers no other.
        margin = self._options.target_tokens // 3
        start, end = self._before[first], self._before[last]
        earliest = bisect_left(self._before, start + margin, first + 1, last)
        latest = bisect_right(self._before, end - margin, first + 1, last)
        inner = [number for number in places if earliest <= number < latest] or places
        middle = (start + end) / 2  # parts equal texts, whose hashes say nothing
        return min(inner, key=lambda number: (self._hashes[number], abs(self._before[number] - middle)))

    def _join_rests(self, groups: list[Group]) -> list[Group]:
        """Join groups below the minimum to the neighbour they are more weakly parted from, where that fits."""
        joined: list[Group] = []
        waiting = groups[::-1]
        while waiting:
            first, last = waiting.pop()
            if self._before[last] - self._before[first] < self._options.min_tokens:
                sides: list[tuple[int, Group]] = []
                if waiting and self.fits(first, waiting[-1][1]):
                    sides.append((self._ranks[last], (first, waiting[-1][1])))
                if joined and self.fits(joined[-1][0], last):
                    sides.append((self._ranks[first], (joined[-1][0], last)))
                if sides:
                    _, both = max(sides, key=lambda side: side[0])
                    if both[0] == first:
                        waiting[-1] = both
                    else:
                        joined[-1] = both
                    continue
            joined.append((first, last))
        return joined

    def _join_last_headings(self, groups: list[Group]) -> list[Group]:
        """Headings at the very end have no text to lead: they go with the text before them."""
        if len(groups) > 1 and all(unit.heading_level for unit in self._units[slice(*groups[-1])]):
            first, last = groups[-2][0], groups[-1][1]
            if self.fits(first, last):
                return [*groups[:-2], (first, last)]
        return groups
