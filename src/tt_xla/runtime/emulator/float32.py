"""Instructions of TTNN computed in float32, to compare the emulated card's results with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import torch

from tt_xla.ir.layout import DataType
from tt_xla.ir.program import HOST_OPS, Instruction, TensorSpec
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.context import Call, Context, Specs, Weighted

_WITHOUT_FLOAT32 = ("ttnn.constant", "ttnn.bitcast_convert", *HOST_OPS)
"""Instructions that depend on the bits or types of their operands, so that they have no meaning in float32."""


def float32_call_of(context: Context, instruction: Instruction) -> Call | None:
    """Returns the kernel of an instruction with float32 operands and results; None if it has no meaning in float32."""
    if instruction.op in _WITHOUT_FLOAT32:
        return None
    operands = {name: _float32_specs(specs) for name, specs in context.operands.items()}
    results = tuple(map(_float32_spec, context.results))
    kernel = bind(Context(context.op, "exact", operands, results), instruction.attributes, instruction.location)
    return kernel.call if isinstance(kernel, Weighted) else kernel


def _float32_specs(specs: Specs) -> Specs:
    return tuple(map(_float32_spec, specs)) if isinstance(specs, tuple) else _float32_spec(specs)


def _float32_spec(spec: TensorSpec) -> TensorSpec:
    """Returns the spec with type float32 if its type is a float, and unchanged otherwise."""
    if not spec.layout.dtype.is_float:
        return spec
    return msgspec.structs.replace(spec, layout=spec.layout.retyped(DataType.F32))


def as_float32(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy, in float32 if the tensor is a float. Instructions that write to their operands need a copy."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor.clone()


def try_call(call: Call | None, tensors: Sequence[torch.Tensor]) -> Any:
    """Returns results in float32; None without a call.

    Kernels and torch refuse float32 with errors of several types; None is returned for those as well.
    """
    if call is None:
        return None
    try:
        return call(*tensors)
    except (RuntimeError, TypeError, ValueError):
        return None


__all__ = ["as_float32", "float32_call_of", "try_call"]
