"""Sizes of the windows of convolutions and poolings."""

from __future__ import annotations

from collections.abc import Sequence


def borders(padding: Sequence[int]) -> tuple[int, int, int, int]:
    """Returns a padding of two or four numbers as top, bottom, left, right."""
    if len(padding) == 2:
        return padding[0], padding[0], padding[1], padding[1]
    top, bottom, left, right = padding
    return top, bottom, left, right
