"""Functions of PyTorch that have private names: pytrees, decompositions and the setup of a Python device."""

from __future__ import annotations

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


__all__ = [
    "decomposition_table",
    "flex_math_attention",
    "profiling_all_threads",
    "setup_python_device",
    "tree_flatten",
    "treespec_dumps",
    "treespec_loads",
    "without_dispatch_modes",
]
