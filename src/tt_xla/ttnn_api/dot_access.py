"""``ttnn.dot_access``: dictionaries whose values are attributes too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["DotAccessDict", "make_dot_access_dict"]


class DotAccessDict(dict[Any, Any]):
    """A dictionary whose values are attributes too."""

    __getattr__ = dict[Any, Any].__getitem__
    __delattr__ = dict[Any, Any].__delitem__


def make_dot_access_dict(
    dictionary: Mapping[Any, Any], *, ignore_types: type | tuple[type, ...] | None = None
) -> Mapping[Any, Any]:
    """Returns a dictionary, and those in it, with attributes; values of ``ignore_types`` stay as they are."""
    if isinstance(dictionary, DotAccessDict) or (ignore_types is not None and isinstance(dictionary, ignore_types)):
        return dictionary
    return DotAccessDict(
        {
            key: make_dot_access_dict(value, ignore_types=ignore_types) if isinstance(value, dict) else value  # pyright: ignore[reportUnknownArgumentType]
            for key, value in dictionary.items()
        }
    )
