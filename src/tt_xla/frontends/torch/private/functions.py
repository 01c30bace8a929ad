"""Functions of PyTorch that have private names: pytrees, decompositions and the setup of a Python device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_xla.frontends.torch.private.names import names_of

with names_of("functions"):
    from torch._decomp import decomposition_table
    from torch._higher_order_ops.flex_attention import math_attention as flex_math_attention
    from torch.profiler import _ExperimentalConfig as ExperimentalConfig
    from torch.utils._python_dispatch import _disable_current_modes as without_dispatch_modes
    from torch.utils._pytree import tree_flatten, treespec_dumps, treespec_loads
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend as setup_python_device


def profiling_all_threads() -> Any:
    """Returns settings by which PyTorch's profiler also sees threads other than the one that starts it."""
    return ExperimentalConfig(profile_all_threads=True)


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


__all__ = [
    "decomposition_table",
    "flex_math_attention",
    "profiling_all_threads",
    "setup_python_device",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "without_dispatch_modes",
]
