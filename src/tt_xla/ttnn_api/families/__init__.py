"""The rules of TT-NN's functions, one module for each family."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from tt_xla.ttnn_api.operation import OPERATIONS, Operation

FAMILIES = (
    "attention",
    "backward",
    "backward_of_several",
    "collective",
    "complex",
    "convolution",
    "core_grids",
    "creation",
    "data_movement",
    "delta_rules",
    "device_memory",
    "experts",
    "folding",
    "fused_products",
    "goldens",
    "graph",
    "group_exchanges",
    "group_norm",
    "heads",
    "images",
    "indexing",
    "kv_cache",
    "matmul",
    "memory",
    "memory_layouts",
    "meshes",
    "moreh",
    "norm_configs",
    "normalization",
    "pointwise",
    "pointwise_composites",
    "pointwise_functions",
    "pooling",
    "rearrangement",
    "reduction",
    "ring_attention",
    "sparse_attention",
    "spectra",
    "tensor_queries",
    "traces",
    "utilities",
    "video",
)


@functools.cache
def operations() -> Mapping[str, Operation]:
    """Returns every operation by its full name."""
    for family in FAMILIES:
        importlib.import_module(f"tt_xla.ttnn_api.families.{family}")
    return OPERATIONS


def graph_values() -> Mapping[str, Any]:
    """Returns the names of ``ttnn.graph`` that are no functions."""
    return importlib.import_module("tt_xla.ttnn_api.families.graph").values()
