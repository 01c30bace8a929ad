"""Upstream's names for the torch frontend; importing this registers the dynamo backend and the device ``tt``."""

from typing import Any

from tt_torch import custom_ops  # defines torch.ops.tt
from tt_torch.codegen import codegen_cpp, codegen_py, load_codegen_py
from tt_torch.explore import explore
from tt_torch.serialization import parse_compiled_artifacts_from_cache, parse_compiled_artifacts_from_cache_to_disk
from tt_torch.sharding import sharding_constraint_hook, sharding_constraint_tensor
from tt_torch.sparse_mlp import A2aSparseMLP, SparseMLP, enable_sparse_mlp
from tt_torch.tools import mark_module_user_inputs
from tt_torch.tt_lang import tt_lang_operation
from tt_torch.weight_dtype import apply_weight_dtype_overrides, dump_weight_names, remove_weight_dtype_overrides
from tt_xla.frontends.torch import register
from tt_xla.frontends.torch.lanes import show_chips_in_profiler
from ttxla_tools import save_system_descriptor_to_disk

register()

_MOE_BACKEND = (
    *("TT_DENSE_EXPERTS_BACKEND_NAME", "TT_MOE_BACKEND_NAME", "get_tt_moe_shard_specs", "register_tt_moe_backend"),
    *("tt_dense_experts_forward", "tt_experts_forward"),
)
"""Names of :mod:`tt_torch.moe_backend`, which imports transformers."""


def __getattr__(name: str) -> Any:
    if name not in _MOE_BACKEND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tt_torch import moe_backend

    return getattr(moe_backend, name)


__all__ = [
    "A2aSparseMLP",
    "SparseMLP",
    "apply_weight_dtype_overrides",
    "codegen_cpp",
    "codegen_py",
    "custom_ops",
    "dump_weight_names",
    "enable_sparse_mlp",
    "explore",
    "load_codegen_py",
    "mark_module_user_inputs",
    "parse_compiled_artifacts_from_cache",
    "parse_compiled_artifacts_from_cache_to_disk",
    "remove_weight_dtype_overrides",
    "save_system_descriptor_to_disk",
    "sharding_constraint_hook",
    "sharding_constraint_tensor",
    "show_chips_in_profiler",
    "tt_lang_operation",
]
