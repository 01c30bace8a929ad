"""Nested arguments and results as plain data: tuples, lists and dicts around numbered leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

import msgspec


class Structure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Nested tuples, lists and dicts.

    Attributes:
        kind: whether it is a tuple, a list, a dict, None, or a leaf.
        leaf: number of the leaf.
        keys: keys of a dict, in order.
        items: the parts of a tuple or list, or the values of a dict in the order of its keys.
    """

    kind: Literal["tuple", "list", "dict", "none", "leaf"]
    leaf: int = 0
    keys: tuple[str | int, ...] = ()
    items: tuple[Structure, ...] = ()

    def __post_init__(self) -> None:
        if self.kind == "dict" and len(self.keys) != len(self.items):
            raise ValueError(f"a dict has {len(self.keys)} keys and {len(self.items)} values")

    def __str__(self) -> str:
        texts = [str(item) for item in self.items]
        if self.kind == "dict":
            parts = [f"{key!r}: {text}" for key, text in zip(self.keys, texts, strict=True)]
            return f"{{{', '.join(parts)}}}"
        if self.kind == "list":
            return f"[{', '.join(texts)}]"
        if self.kind == "tuple":
            return f"({', '.join(texts)}{',' * (len(texts) == 1)})"
        return "None" if self.kind == "none" else "*"

    def leaves(self) -> Iterator[int]:
        """Yields the numbers of the leaves."""
        if self.kind == "leaf":
            yield self.leaf
        for item in self.items:
            yield from item.leaves()

    def fill(self, leaves: Sequence[Any]) -> Any:
        """Returns tuples, lists and dicts of this structure with the leaves at their places."""
        if self.kind == "leaf":
            return leaves[self.leaf]
        items = [item.fill(leaves) for item in self.items]
        if self.kind == "dict":
            return dict(zip(self.keys, items, strict=True))
        return {"tuple": tuple(items), "list": items, "none": None}[self.kind]

    def flatten(self, value: Any) -> dict[int, Any] | None:
        """Returns the leaves of a value by number, or None if the value has another structure."""
        if self.kind == "leaf":
            return {self.leaf: value}
        if self.kind == "none":
            return {} if value is None else None
        if self.kind == "dict":
            if not isinstance(value, Mapping) or set(cast("Mapping[Any, Any]", value)) != set(self.keys):
                return None
            parts = [value[key] for key in self.keys]
        else:
            if not isinstance(value, tuple if self.kind == "tuple" else list):
                return None
            parts = list(cast("Sequence[Any]", value))
        if len(parts) != len(self.items):
            return None
        leaves: dict[int, Any] = {}
        for item, part in zip(self.items, parts, strict=True):
            found = item.flatten(part)
            if found is None:
                return None
            leaves |= found
        return leaves


def structure_of(value: Any) -> Structure:
    """Returns the structure of nested tuples, lists and mappings whose leaves are numbers of leaves, and None.

    A named tuple counts as a tuple, and any mapping as a dict.

    Raises:
        TypeError: the value has a part of another class, or a key that is neither text nor an integer.
    """
    if value is None:
        return Structure("none")
    if isinstance(value, int):
        return Structure("leaf", leaf=value)
    if isinstance(value, Mapping):
        mapping = cast("Mapping[Any, Any]", value)
        if not all(isinstance(key, str | int) for key in mapping):
            raise TypeError(f"a dict with the keys {list(mapping)}")
        return Structure("dict", keys=tuple(mapping), items=tuple(map(structure_of, mapping.values())))
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return Structure(kind, items=tuple(map(structure_of, cast("Sequence[Any]", value))))
    raise TypeError(f"an object of class {type(value).__name__}")


__all__ = ["Structure", "structure_of"]
