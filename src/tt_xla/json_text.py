"""JSON that every reader takes, in output and in pages: numbers that JSON lacks are the strings of protobuf's JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, cast


def to_json(value: object, *, indent: int | None = None) -> str:
    """Writes plain data as JSON. NaN and infinities become ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``.

    Args:
        value: mappings, sequences, texts, numbers, booleans and None; anything else is written as its ``str``.
        indent: spaces of each level; None for one line.
    """
    try:
        return json.dumps(value, indent=indent, allow_nan=False, default=str)
    except ValueError:  # of NaN and infinities, which are rare
        return json.dumps(_finite(value), indent=indent, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {_finite(key): _finite(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in cast("list[Any]", value)]
    return value


__all__ = ["to_json"]
