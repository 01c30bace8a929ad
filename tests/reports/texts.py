"""Plain data as lines of text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def rounded(value: Any) -> Any:
    """Returns plain data whose numbers have nine digits."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def lines_of(data: Any, prefix: str = "") -> Iterator[str]:
    """Yields plain data as one line for each value, with its path."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from lines_of(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(data, list) and any(isinstance(value, (dict, list)) for value in data):
        for index, value in enumerate(data):
            yield from lines_of(value, f"{prefix}[{index}]")
    else:
        yield f"{prefix} = {json.dumps(rounded(data))}"
