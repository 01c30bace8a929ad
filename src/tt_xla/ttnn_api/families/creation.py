"""Functions that create tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api import signatures
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.pointwise import as_taken, required
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.layouts import type_of
from tt_xla.ttnn_api.operation import OPERATIONS, Rule, define, operation
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.tensor import Tensor


def _filled(value: int | None) -> Rule:
    """Returns the rule that creates a tensor of equal elements: of a value, or of the call's ``fill_value``."""

    def rule(
        shape: Sequence[int],
        fill_value: float,
        dtype: DataType | None,
        layout: Layout | None,
        device: MeshDevice | None,
        memory_config: MemoryConfig | None,
        optional_tensor: Operand | None,
    ) -> Step:
        from tt_xla.ttnn_api.conversion import fill_of  # imports torch

        if optional_tensor is not None:
            result = required(optional_tensor, "ttnn.full").type  # TT-NN reads neither its own shape nor type then
        else:
            dtype = dtype or DataType.BFLOAT16
            layout = layout or (Layout.TILE if dtype.element.is_block_float else Layout.ROW_MAJOR)
            result = type_of(shape, dtype, layout, memory_config, on_device=device is not None)
        fill = fill_of(fill_value if value is None else value, result.dtype)
        attributes = {"fill_value": fill, "shape": list(result.shape)}
        return Step("ttnn.full", {}, [result], attributes, device=device, into=optional_tensor)

    rule.__doc__ = "Creates a tensor of equal elements."
    return rule


for _name, _value in {"full": None, "zeros": 0, "ones": 1}.items():
    define(f"ttnn.{_name}", _filled(_value))


@operation("ttnn.empty")
def empty(
    shape: Sequence[int], dtype: DataType, layout: Layout, device: MeshDevice, memory_config: MemoryConfig | None
) -> Step:
    """Creates a tensor, of zeros on the emulated card."""
    if not isinstance(device, MeshDevice):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise signatures.refused("ttnn.empty", [shape], {})
    result = type_of(shape, dtype, layout, memory_config)
    return Step("ttnn.empty", {}, [result], {"shape": list(shape)}, device=device)


def _like(value: float | None) -> Rule:
    def rule(
        tensor: Operand,
        fill_value: float | None,
        dtype: DataType | None,
        layout: Layout | None,
        memory_config: MemoryConfig | None,
        optional_tensor: Operand | None,
    ) -> Step:
        own = tensor.type.with_(dtype=dtype, layout=layout, memory=memory_config)
        chosen = value if value is not None else fill_value or 0
        target = (dtype or tensor.dtype) if optional_tensor is None else optional_tensor.dtype
        fill = as_taken("ttnn.full", float(chosen), target) if target.element.is_float else int(chosen)
        return Step("ttnn.full", {}, [own], {"fill_value": fill, "shape": list(own.shape)}, into=optional_tensor)

    rule.__doc__ = "Creates a tensor of equal elements with the type of another one."
    return rule


for _name, _value in {"zeros_like": 0, "ones_like": 1, "full_like": None}.items():
    define(f"ttnn.{_name}", _like(_value))


@operation("ttnn.arange")
def arange(
    start: int | None,
    end: int,
    step: int | None,
    dtype: DataType,
    device: MeshDevice | None,
    memory_config: MemoryConfig | None,
    layout: Layout,
) -> Step:
    """Creates a vector of numbers at equal distances."""
    bounds: dict[str, Any] = {"start": start or 0, "end": end, "step": 1 if step is None else step}
    if not bounds["step"]:
        raise TTFatal("Step must be nonzero", hint="Pass a step above or below 0.")
    count = max(0, -(-(end - bounds["start"]) // bounds["step"]))
    result = type_of((count,), dtype or DataType.BFLOAT16, layout, memory_config, on_device=device is not None)
    return Step("ttnn.arange", {}, [result], bounds, device=device)


@operation("ttnn.from_buffer", composite=True)
def from_buffer(
    buffer: Sequence[float],
    shape: Sequence[int],
    dtype: DataType,
    device: MeshDevice | None,
    layout: Layout | None,
    memory_config: MemoryConfig | None,
) -> Tensor:
    """Creates a tensor of the numbers of a list.

    Raises:
        TTFatal: the list has another number of elements than the shape, or the data type is a block format.
    """
    import torch

    from tt_xla.ttnn_api.conversion import integer_range

    if len(buffer) != math.prod(shape):
        raise TTFatal(
            f"Buffer size {len(buffer)} differs from shape volume {math.prod(shape)}", hint="Pass an element for each."
        )
    if dtype.element.is_block_float:
        raise TTFatal("Unreachable", hint="Create the tensor in bfloat16, and convert it with ttnn.typecast.")
    kind = torch.float32 if dtype.element.is_float else torch.int64
    if not dtype.element.is_float:
        low, high = integer_range(dtype)
        if not all(isinstance(each, int) and low <= each <= high for each in buffer):
            raise RuntimeError(f"std::bad_cast: a tensor of {dtype} takes whole numbers from {low} to {high}")
    values = torch.tensor(list(buffer), dtype=kind).reshape(list(shape))
    options = {"dtype": dtype, "layout": layout or Layout.ROW_MAJOR, "device": device, "memory_config": memory_config}
    return OPERATIONS["ttnn.from_torch"](values, **options)
