"""Slice bounds before the start of a dimension, which torch treats as its start."""

from __future__ import annotations

from typing import Any

import torch


def clamp_neg_slice_key(shape: torch.Size, key: Any) -> tuple[Any, bool]:
    """Clamps slice bounds to ``-size`` of their dimension.

    Args:
        shape: shape of the tensor.
        key: index between the brackets of ``x[...]``; an index with an ellipsis is returned unchanged.

    Returns:
        The clamped index, and whether it differs from ``key``.
    """
    items = key if isinstance(key, tuple) else (key,)
    if any(item is Ellipsis for item in items):
        return key, False
    sizes = iter(shape)
    clamped = tuple(item if item is None else _clamped(item, next(sizes, None)) for item in items)
    changed = any(new is not old for new, old in zip(clamped, items, strict=True))
    return (clamped if isinstance(key, tuple) else clamped[0], True) if changed else (key, False)


def _clamped(item: Any, size: int | None) -> Any:
    """Returns one item of an index with its slice bounds clamped; the same object if nothing changes."""
    if not isinstance(item, slice) or not isinstance(size, int):
        return item
    bounds = [-size if isinstance(bound, int) and bound < -size else bound for bound in (item.start, item.stop)]
    return item if bounds == [item.start, item.stop] else slice(*bounds, item.step)


__all__ = ["clamp_neg_slice_key"]
