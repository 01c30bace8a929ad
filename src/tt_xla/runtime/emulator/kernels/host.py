"""Ops that the host runs between ops of the card, in the element types that the program declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from tt_xla import callbacks, host
from tt_xla.errors import ExecutionError
from tt_xla.ir.element_types import ElementType
from tt_xla.ir.layout import DataType
from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.containers import DECLARED, INTEGER_RANGES, hold
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor

_BITS = {1: torch.uint8, 2: torch.int16}


@kernel("ttnn.host_call")
def host_call(
    ctx: Context,
    inputs: list[Tensor],
    module: str,
    ops: Sequence[str],
    input_types: Sequence[str],
    output_types: Sequence[str],
    effects: bool | None = None,
) -> Tensor | list[Tensor]:
    """Runs a module on the host. Inputs widen to the program's element types, results narrow to the device's.

    Args:
        effects: whether the module draws random numbers, for passes; each run draws others.
    """
    program = host.load(module)
    arrays = program([to_numpy(tensor, type_) for tensor, type_ in zip(inputs, input_types, strict=True)])
    results = [
        _narrowed(array, spec.layout.dtype, type_, ops)
        for array, type_, spec in zip(arrays, output_types, ctx.results, strict=True)
    ]
    return results[0] if len(results) == 1 else results


@kernel("ttnn.host_callback")
def host_callback(
    ctx: Context, inputs: list[Tensor], callback: str, input_types: Sequence[str], output_types: Sequence[str]
) -> Tensor | list[Tensor]:
    """Calls a Python function of the process on copies of the inputs, which it may keep and change."""
    copies = [to_numpy(tensor, type_).copy() for tensor, type_ in zip(inputs, input_types, strict=True)]
    arrays = callbacks.find(callback)(copies)
    results = [
        _narrowed(np.asarray(array), spec.layout.dtype, type_, ("a callback",))
        for array, type_, spec in zip(arrays, output_types, ctx.results, strict=True)
    ]
    return results[0] if len(results) == 1 else results


def to_numpy(tensor: Tensor, declared: str) -> np.ndarray[Any, Any]:
    """Converts a tensor, as the device holds it, to an array of a StableHLO element type."""
    dtype = ElementType(declared).numpy_dtype()
    tensor = tensor.detach().cpu()
    if declared == "i1":
        return tensor.ne(0).numpy()
    if not ElementType(declared).is_ml_dtype:
        return tensor.to(DECLARED[declared]).contiguous().numpy()
    container = tensor.to(DECLARED[declared]).contiguous()
    if declared in ("i2", "i4", "ui2", "ui4"):
        return container.numpy().astype(dtype)
    return container.view(_BITS[dtype.itemsize]).numpy().view(dtype)


def from_numpy(array: np.ndarray[Any, Any], declared: str) -> Tensor:
    """Converts an array to a tensor of the dtype that stands for its StableHLO element type."""
    container = DECLARED[declared]
    if declared in ("i2", "i4", "ui2", "ui4"):
        return torch.from_numpy(array.astype(np.uint8 if declared.startswith("u") else np.int8))
    if not ElementType(declared).is_ml_dtype:
        return torch.from_numpy(np.array(array))
    bits = np.array(array).view(f"i{array.dtype.itemsize}" if array.dtype.itemsize > 1 else "u1")
    return torch.from_numpy(bits).view(container)


def _narrowed(array: np.ndarray[Any, Any], dtype: DataType, declared: str, ops: Sequence[str]) -> Tensor:
    """Converts an array to the device's dtype.

    Raises:
        ExecutionError: an integer is outside the range of the device's dtype.
    """
    limits = INTEGER_RANGES.get(dtype)
    if limits is not None and array.size and declared in ("i64", "ui64"):
        for value in (int(array.min()), int(array.max())):
            if not limits[0] <= value <= limits[1]:
                raise ExecutionError(
                    f"{', '.join(ops)} on the host returned {value}, which is outside the range of {dtype}, the "
                    f"device's type for {declared}: {limits[0]} to {limits[1]}.",
                    hint="The chip computes in 32 bits. Scale the values, or keep the ops that use them on the host.",
                )
    return place.brought(hold(from_numpy(array, declared), dtype))
