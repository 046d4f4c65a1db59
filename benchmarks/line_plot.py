"""A line plot on two logarithmic axes as SVG: one picture is no reason to depend on a plotting library."""

import math
from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 190, 20, 50
_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2")
_LABEL_HEIGHT = 15


def draw(lines: Mapping[str, Points], *, x: str, y: str) -> str:
    """Lines by name as an SVG document, named at their right end. Every number must be above 0."""
    drawn = {name: points for name, points in lines.items() if points}
    xs = sorted({point[0] for points in drawn.values() for point in points})
    ys = [point[1] for points in drawn.values() for point in points]
    low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def across(value: float) -> float:
        share = (math.log(value) - math.log(xs[0])) / (math.log(xs[-1]) - math.log(xs[0]) or 1)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    def down(value: float) -> float:
        share = (math.log10(value) - low) / (high - low or 1)
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    for power in range(low, high + 1):
        at = down(10**power)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at}" y2="{at}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4}" text-anchor="end">{10.0**power:g}</text>')
    for value in xs:
        at = across(value)
        parts.append(f'<text x="{at}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{value:,.0f}</text>')
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 10}" text-anchor="middle">{escape(x)}</text>'
    )
    parts.append(f'<text x="14" y="{_TOP + 4}">{escape(y)}</text>')
    labels = _apart({name: down(points[-1][1]) for name, points in drawn.items()})
    for (name, points), colour in zip(drawn.items(), _COLOURS, strict=False):
        path = " ".join(f"{across(a)},{down(b)}" for a, b in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{across(a)}" cy="{down(b)}" r="3" fill="{colour}"/>' for a, b in points]
        last = points[-1][1]
        text = f"{escape(name)}: {last:.3g}"
        parts.append(f'<text x="{_WIDTH - _RIGHT + 10}" y="{labels[name] + 4}" fill="{colour}">{text}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _apart(wanted: Mapping[str, float]) -> dict[str, float]:
    """Places of labels near those wanted, none on another."""
    places: dict[str, float] = {}
    last = -math.inf
    for name, at in sorted(wanted.items(), key=lambda item: item[1]):
        last = places[name] = max(at, last + _LABEL_HEIGHT)
    return places
