"""The classes of operators, and which of them are defined outside of PyTorch and this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
else:  # the classes have private names; their instances do not
    OpOverload = type(torch.ops.aten.add.Tensor)
    OpOverloadPacket = type(torch.ops.aten.add)
    HigherOrderOperator = type(torch.ops.higher_order.cond).__base__

_NAMESPACES = frozenset(
    {
        *("aten", "quantized", "_quantized", "mkldnn", "inductor", "profiler", "_c10d_functional_autograd"),
        *("prims", "rngprims", "debugprims", "flex_lib", "streams", "export", "onnx", "onnx_symbolic", "_native"),
        *("c10d_functional", "_c10d_functional", "symm_mem", "fsdp", "_dtensor", "debug_mode_ops"),
        *("tt", "tt_xla"),
    }
)
"""Namespaces of PyTorch and this package, whose versions are part of every key."""


def is_foreign(target: Any) -> bool:
    """Returns whether the user or another library defines an op, whose kernels may be traced into a graph."""
    if not isinstance(target, OpOverload | OpOverloadPacket):
        return False
    name = (target.overloadpacket if isinstance(target, OpOverload) else target)._qualified_op_name
    return name.partition("::")[0] not in _NAMESPACES


__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "is_foreign"]
