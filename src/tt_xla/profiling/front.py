"""The Pareto front of a search, as a list and as a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from tt_xla.profiling import svg

Result = TypeVar("Result")


def front_of(
    results: Iterable[Result], cost: Callable[[Result], float], accuracy: Callable[[Result], float | None]
) -> list[Result]:
    """Returns the results that are more accurate than every cheaper one, cheapest first.

    Args:
        results: Results of trials.
        cost: Cost of a result, such as its time.
        accuracy: Accuracy of a result, of which more is better; None if it is unknown, which leaves the result out.
    """
    known = [(cost(result), value, result) for result in results if (value := accuracy(result)) is not None]
    front: list[Result] = []
    best = float("-inf")
    for _, value, result in sorted(known, key=lambda item: (item[0], -item[1])):
        if value > best:
            front.append(result)
            best = value
    return front


class Dot(NamedTuple):
    """A result in the chart."""

    x: float
    accuracy: float
    title: str
    kind: str
    """Key of :data:`svg.COLOURS`."""
    is_chosen: bool


def chart(dots: Sequence[Dot], front: Sequence[tuple[float, float]], x_label: str, y_label: str) -> str:
    """Returns a chart of at least one result, and of the front as pairs of both values."""
    low, high = min(dot.accuracy for dot in dots), max(dot.accuracy for dot in dots)
    margin = 0.05 * (high - low) or 0.001
    x = svg.x_scale(0.0, 1.1 * max(dot.x for dot in dots))
    y = svg.y_scale(low - margin, high + margin)
    parts = svg.axes(x, y, x_label, y_label)
    parts.append(svg.line(x, y, front, "#98a3af", "the Pareto front", steps=False))
    for dot in dots:
        radius = 9.0 if dot.is_chosen else 5.0
        parts.append(svg.dot(x(dot.x), y(dot.accuracy), radius, svg.COLOURS[dot.kind], dot.title))
    return svg.frame(parts)
