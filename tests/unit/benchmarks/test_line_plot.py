"""The plot is well-formed and shows every line, in order, inside its frame."""

from itertools import pairwise
from xml.etree import ElementTree

from benchmarks.line_plot import draw

SVG = "{http://www.w3.org/2000/svg}"
LINES = {"no-op & tick": [(500, 0.5), (12_000, 0.6)], "cold": [(500, 20.0), (2_000, 60.0), (12_000, 300.0)], "none": []}


def test_every_line_is_drawn_named_and_inside() -> None:
    root = ElementTree.fromstring(draw(LINES, x="notes", y="seconds"))
    drawn = root.findall(f"{SVG}polyline")
    assert [len(line.attrib["points"].split()) for line in drawn] == [2, 3]
    for line in drawn:
        points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
        assert points == sorted(points)
        assert all(0 <= x <= 760 and 0 <= y <= 440 for x, y in points)
    words = [text.text for text in root.findall(f"{SVG}text")]
    assert {"notes", "seconds", "500", "12,000", "no-op & tick: 0.6", "cold: 300"} <= set(words)


def test_labels_do_not_cover_each_other() -> None:
    close = {f"line {number}": [(1, 1.0), (10, 1.0 + number / 1000)] for number in range(6)}
    root = ElementTree.fromstring(draw(close, x="x", y="y"))
    heights = sorted(
        float(text.attrib["y"]) for text in root.findall(f"{SVG}text") if (text.text or "").startswith("line")
    )
    assert all(later - earlier >= 14 for earlier, later in pairwise(heights))


def test_larger_numbers_are_higher() -> None:
    root = ElementTree.fromstring(draw({"grows": [(1, 1.0), (10, 100.0)]}, x="x", y="y"))
    first, last = root.findall(f"{SVG}polyline")[0].attrib["points"].split()
    assert float(first.split(",")[1]) > float(last.split(",")[1])
