"""Draws charts as SVG text. Elements have a ``<title>``, which browsers show when the mouse is over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tt_xla.markup import escape

WIDTH, HEIGHT = 1080, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 14, 40

COLOURS = {
    "Compute": "#2f7ed8",
    "TM": "#e08a1e",
    "DM": "#8a5fbf",
    "CCL": "#1b9e77",
    "Host": "#d62728",
    "Other": "#7f8c8d",
    "gap": "#d5d8dc",
}
PALETTE = ("#2f7ed8", "#e08a1e", "#1b9e77", "#d62728", "#8a5fbf", "#8c564b", "#e377c2", "#7f8c8d", "#bcbd22", "#17becf")


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic map from values [low, high] to pixels [first, last]."""

    low: float
    high: float
    first: float
    last: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self._of(self.low), self._of(self.high)
        return self.first + (self._of(value) - low) / ((high - low) or 1.0) * (self.last - self.first)

    def _of(self, value: float) -> float:
        return math.log10(max(value, 1e-12)) if self.log else value

    def ticks(self) -> list[float]:
        """Returns about five to eight round values of the scale; powers of ten on a logarithmic one."""
        if self.log:
            return [10.0**power for power in range(math.ceil(self._of(self.low)), math.floor(self._of(self.high)) + 1)]
        span = (self.high - self.low) or 1.0
        step = 10.0 ** math.floor(math.log10(span / 5))
        step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= 8)
        first = math.ceil(self.low / step)
        return [round(number * step, 12) for number in range(first, int(self.high / step) + 1)]


def number(value: float) -> str:
    """Returns a number with three significant digits and k, M, G or T."""
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


def frame(body: Iterable[str], height: int = HEIGHT, kind: str = "") -> str:
    """Returns a chart of SVG elements, as wide as the page; ``kind`` has CSS classes, such as ``zoom``."""
    return (
        f'<svg class="chart {kind}" viewBox="0 0 {WIDTH} {height}" preserveAspectRatio="none" '
        f'style="height:{height}px" role="img">{"".join(body)}</svg>'
    )


def axes(x: Scale, y: Scale, x_label: str, y_label: str, height: int = HEIGHT) -> list[str]:
    """Returns the elements of both axes, with grid and labels."""
    bottom = height - BOTTOM
    parts = [f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}"/>']
    for tick in x.ticks():
        parts.append(
            f'<path class="grid" d="M{x(tick):.1f} {TOP}V{bottom}"/>'
            f'<text x="{x(tick):.1f}" y="{bottom + 15}" text-anchor="middle">{number(tick)}</text>'
        )
    for tick in y.ticks():
        parts.append(
            f'<path class="grid" d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}"/>'
            f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{number(tick)}</text>'
        )
    parts.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{height - 6}" text-anchor="middle">{escape(x_label)}</text>')
    parts.append(
        f'<text transform="translate(13 {height / 2}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>'
    )
    return parts


def x_scale(low: float, high: float, *, log: bool = False) -> Scale:
    """Returns a scale over the width of a chart."""
    return Scale(low, high, LEFT, WIDTH - RIGHT, log)


def y_scale(low: float, high: float, height: int = HEIGHT, *, log: bool = False) -> Scale:
    """Returns a scale over the height of a chart, from bottom to top."""
    return Scale(low, high, height - BOTTOM, TOP, log)


def bar(label: str, parts: Sequence[tuple[str, float, str]]) -> str:
    """Returns a horizontal stacked bar with a text above it, of parts with name, microseconds and colour."""
    total = sum(value for _, value, _ in parts) or 1.0
    elements, left = [f'<text x="0" y="12">{escape(label)}</text>'], 0.0
    for name, value, colour in parts:
        width = value / total * WIDTH
        percent = 100 * value / total
        elements.append(
            f'<rect x="{left:.2f}" y="18" width="{max(width, 0.3):.2f}" height="30" fill="{colour}">'
            f"<title>{escape(name)}: {number(value)} us, {percent:.1f} %</title></rect>"
        )
        if width > 7 * len(name) + 40:
            ink = "" if colour == COLOURS["gap"] else "on"
            elements.append(f'<text class="{ink}" x="{left + 6:.1f}" y="37">{escape(name)} {percent:.0f} %</text>')
        left += width
    return frame(elements, 54, "bar")


def line(x: Scale, y: Scale, points: Sequence[tuple[float, float]], colour: str, title: str, *, steps: bool) -> str:
    """Returns a line through points; with ``steps``, the value changes in steps at each point."""
    if not points:
        return ""
    path = f"M{x(points[0][0]):.1f} {y(points[0][1]):.1f}"
    for position, value in points[1:]:
        path += f"H{x(position):.1f}V{y(value):.1f}" if steps else f"L{x(position):.1f} {y(value):.1f}"
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.6"><title>{escape(title)}</title></path>'


def dot(x: float, y: float, radius: float, colour: str, title: str, link: str = "") -> str:
    circle = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" fill-opacity="0.75" stroke="#fff">'
        f"<title>{escape(title)}</title></circle>"
    )
    return f'<a href="{escape(link)}">{circle}</a>' if link else circle


def rectangles(
    spans: Iterable[tuple[float, float, str, str]], x: Callable[[float], float], top: float, height: float
) -> list[str]:
    """Returns a rectangle for each span of time, given as start, end, colour and title."""
    return [
        f'<rect x="{x(start):.2f}" y="{top}" width="{max(x(end) - x(start), 0.25):.2f}" height="{height}" '
        f'fill="{colour}"><title>{escape(title)}</title></rect>'
        for start, end, colour, title in spans
    ]


def legend(names: Iterable[tuple[str, str]]) -> str:
    """Returns a legend of names and colours."""
    items = (f'<span><i style="background:{colour}"></i>{escape(name)}</span>' for name, colour in names)
    return f'<p class="legend">{"".join(items)}</p>'
