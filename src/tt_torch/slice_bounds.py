"""Bounds of slices before the start of a dimension, which mean its start in torch."""

from __future__ import annotations

from typing import Any

import torch


def clamp_neg_slice_key(shape: torch.Size, key: Any) -> tuple[Any, bool]:
    """An index in which no slice begins or ends before ``-size`` of its dimension, and whether it differs.

    Args:
        key: what stands between the brackets of ``x[...]``; one with an ellipsis comes back as it is.
    """
    parts = key if isinstance(key, tuple) else (key,)
    if any(part is Ellipsis for part in parts):
        return key, False
    sizes = iter(shape)
    clamped = tuple(part if part is None else _clamped(part, next(sizes, None)) for part in parts)
    changed = any(new is not old for new, old in zip(clamped, parts, strict=True))
    return (clamped if isinstance(key, tuple) else clamped[0], True) if changed else (key, False)


def _clamped(part: Any, size: int | None) -> Any:
    if not isinstance(part, slice) or not isinstance(size, int):
        return part
    bounds = [-size if isinstance(bound, int) and bound < -size else bound for bound in (part.start, part.stop)]
    return part if bounds == [part.start, part.stop] else slice(*bounds, part.step)


__all__ = ["clamp_neg_slice_key"]
