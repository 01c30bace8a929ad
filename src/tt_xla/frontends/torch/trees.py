"""Trees of Python containers, by PyTorch's pytrees. Dynamo traces these functions where a model calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_xla.frontends.torch.private.functions import tree_flatten


def tree_unflatten(leaves: list[Any], structure: Any) -> Any:
    """Returns the tree of a structure, which :func:`tree_flatten` returned, with other leaves."""
    return structure.unflatten(leaves)


def tree_leaves(tree: Any) -> list[Any]:
    """Returns the leaves of a tree."""
    return tree_flatten(tree)[0]


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """Returns a tree where ``function`` has replaced each leaf."""
    return tree_map_only(object, function, tree)


def tree_map_only(kind: type | tuple[type, ...], function: Callable[[Any], Any], tree: Any) -> Any:
    """Returns a tree where ``function`` has replaced each leaf of the classes ``kind``."""
    leaves, structure = tree_flatten(tree)
    return tree_unflatten([function(leaf) if isinstance(leaf, kind) else leaf for leaf in leaves], structure)


__all__ = ["tree_flatten", "tree_leaves", "tree_map", "tree_map_only", "tree_unflatten"]
