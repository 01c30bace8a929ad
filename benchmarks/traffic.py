"""Collectives of a program in TTNN text, of this compiler or of upstream's, and the bytes that they send over links."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

_OP = re.compile(
    r'"ttnn\.(all_gather|all_reduce|reduce_scatter|all_to_all|point_to_point)(?:_async)?"\([^)]*\) <\{(.*?)\}>'
    r" : \(tensor<([^,>]*)[^)]*?\)* ?-> tensor<([^,>]*)"
)
_MESH = re.compile(r'#ttcore\.meshes<\[<"[^"]*" = ([0-9x]+)>')
_ATTRIBUTES = {
    "cluster_axis": re.compile(r"cluster_axis = (\d+)"),
    "sender": re.compile(r"sender_coord = array<i64: ([0-9, ]+)>"),
    "receiver": re.compile(r"receiver_coord = array<i64: ([0-9, ]+)>"),
}


@dataclass(frozen=True)
class Traffic:
    """What a call of a program sends between chips; a loop counts as one round."""

    collectives: int
    bytes: float
    """Sum over all links of the bytes that cross them, if every mesh axis is a line."""


NO_TRAFFIC = Traffic(0, 0.0)


def traffic(text: str) -> Traffic:
    """Counts the collectives of a TTNN module, and the bytes over links from the shapes of their tensors."""
    mesh = _integers(_search(_MESH, text), "x")
    count, total = 0, 0.0
    for kind, attributes, sent, joined in _OP.findall(text):
        crossing = _crossing(kind, attributes, _bytes(sent), _bytes(joined), mesh)
        count += crossing > 0
        total += crossing
    return Traffic(count, total)


def _crossing(kind: str, attributes: str, sent: float, joined: float, mesh: tuple[int, ...]) -> float:
    if kind == "point_to_point":
        sender, receiver = (_integers(_search(_ATTRIBUTES[end], attributes), ",") for end in ("sender", "receiver"))
        return sent * sum(abs(first - second) for first, second in zip(sender, receiver, strict=True))
    chips = mesh[int(_search(_ATTRIBUTES["cluster_axis"], attributes))]
    return math.prod(mesh) // chips * _BY_KIND[kind](chips, sent, joined)


def _search(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    if match is None:
        raise ValueError(f"No {pattern.pattern} in {text[:300]}")
    return match[1]


def _integers(text: str, separator: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(separator))


def _all_to_all(chips: int, sent: float, _: float) -> float:
    """Every chip sends an equal part of its tensor to every chip."""
    return sent / chips * sum(abs(first - second) for first, second in itertools.product(range(chips), repeat=2))


_BY_KIND: dict[str, Callable[[int, float, float], float]] = {
    # Every chip's part crosses every link, away from the chip.
    "all_gather": lambda chips, sent, joined: (chips - 1) * joined,
    "reduce_scatter": lambda chips, sent, joined: (chips - 1) * sent,
    "all_reduce": lambda chips, sent, joined: 2 * (chips - 1) * sent,
    "all_to_all": _all_to_all,
}


def _bytes(type_: str) -> float:
    """Returns the bytes of a tensor whose type begins like ``512x256xf32``."""
    *sizes, element = type_.split("x")
    return math.prod(map(int, sizes)) * int(element.lstrip("bfsui")) / 8
