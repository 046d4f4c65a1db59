"""How readily a text is cut at a place."""

from enum import IntEnum


class Rank(IntEnum):
    """Of all places in a passage that is too long, those of the lowest rank are cut first. 1 to 6 are headings."""

    BLOCK = 7
    ATTACHED = 8
    """A block that a line ending in a colon announces."""
    ITEM = 9
    NESTED_ITEM = 10
    LINE = 11
    SENTENCE = 12
    WRAPPED_LINE = 13
    CLAUSE = 14
    WORD = 15
    CHARACTER = 16
    GLUED = 17
    """What follows a heading, a table's header or a fence's first line: cut if there is no other way."""
