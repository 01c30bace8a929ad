"""Tensors from arrays and torch tensors, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.runtime.emulator.containers import CONTAINERS, INTEGER_RANGES, hold
from tt_xla.runtime.observation import CALLS
from tt_xla.ttnn_api.distribution import DistributedHostBuffer
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import IncompatibleArguments, TTFatal
from tt_xla.ttnn_api.layouts import type_of
from tt_xla.ttnn_api.tensor import Contents, Tensor

_FROM_TORCH = {
    torch.bfloat16: DataType.BFLOAT16,
    torch.float32: DataType.FLOAT32,
    torch.float16: DataType.BFLOAT16,
    torch.int32: DataType.INT32,
    torch.int64: DataType.UINT32,
    torch.uint32: DataType.UINT32,
    torch.int16: DataType.UINT16,
    torch.int8: DataType.INT8,
    torch.uint16: DataType.UINT16,
    torch.uint8: DataType.UINT8,
    torch.bool: DataType.UINT8,
}
"""Data type that a torch tensor becomes without an explicit one."""

_TO_TORCH = {
    DataType.UINT32: torch.uint32,
    DataType.UINT16: torch.uint16,
    DataType.BFLOAT8_B: torch.float32,
    DataType.BFLOAT4_B: torch.float32,
}
"""Torch dtype of a data type's elements where it is not the dtype that holds them in the emulator."""


def tensor_of(data: Any, shape: Sequence[int] | None, dtype: DataType | None, layout: Layout | None) -> Tensor:
    """Returns a host tensor.

    Args:
        data: an array, a torch tensor, a flat sequence of numbers with ``shape``, or a tensor of TT-NN.
        shape: shape of a sequence of numbers.
        dtype: the data type; by default that of ``data``.
        layout: tiles or rows, rows by default; block floats exist in tiles only.

    Raises:
        TypeError: the data type or the layout is none of TT-NN's.
        TTFatal: TT-NN has no data type for the elements.
    """
    _check_kind("dtype", dtype, DataType, "bfloat16")
    _check_kind("layout", layout, Layout, "TILE_LAYOUT")
    if isinstance(data, Tensor):
        return Tensor.of(data.type, data.contents, data.device(), data.topology)
    source = data.detach() if isinstance(data, torch.Tensor) else torch.as_tensor(_numbers(data))
    if shape is not None:
        source = source.reshape(tuple(shape))
    if dtype is None:
        dtype = _FROM_TORCH.get(source.dtype)
    if dtype is None:
        raise TTFatal(
            f"get_dtype_from_ttnn_datatype: got INVALID or unhandled DataType, for elements of {source.dtype}",
            hint="Convert the tensor, or pass dtype.",
        )
    if layout is None:
        layout = Layout.TILE if dtype.element.is_block_float else Layout.ROW_MAJOR
    if source.dtype in (torch.uint16, torch.uint32, torch.uint64):
        source = source.to(torch.int64)
    elements = held(source, dtype)
    if elements.untyped_storage().data_ptr() == source.untyped_storage().data_ptr():
        elements = elements.clone(memory_format=torch.contiguous_format)
    return Tensor.of(type_of(elements.shape, dtype, layout, on_device=False), Contents([elements], None), None)


def held(source: torch.Tensor, dtype: DataType) -> torch.Tensor:
    """Returns elements as a data type holds them. The host makes 0x7FC0 of a NaN that becomes bfloat16; a conversion
    of torch makes 0xFFFF of it in all but the last elements."""
    if source.is_floating_point() and not dtype.element.is_float:
        source = whole_numbers(source, dtype)
    made = hold(source, dtype.element)
    if made.dtype is source.dtype or made.dtype is not torch.bfloat16 or not bool(made.sum().isnan()):
        return made
    return torch.where(made.isnan(), torch.nan, made)


_LANES = {DataType.UINT16: 4}
"""Elements that the host converts together, by data type; 8 for the others."""


def whole_numbers(source: torch.Tensor, dtype: DataType) -> torch.Tensor:
    """Returns floats as TT-NN's host code converts them to a data type of integers, before they are cut to its bits.

    A number outside of the range of int32 becomes its least number. Unsigned integers are limited to their range where
    several are converted together; the rest of a tensor, and a lone number, keep the low bits of a 64-bit integer.
    """
    flat = source.detach().to(torch.float64).flatten().trunc()
    narrow = _limited(flat, 31)
    if dtype is DataType.INT32:
        return narrow.reshape(source.shape)
    together = flat.numel() - flat.numel() % _LANES.get(dtype, 8)
    if dtype is DataType.UINT32:
        narrow = torch.where((flat >= 2.0**31) & (flat < 2.0**32), _limited(flat, 63), narrow)
    else:
        narrow = narrow.clamp(*integer_range(dtype))
    return torch.cat([narrow[:together], _limited(flat[together:], 63)]).reshape(source.shape)


def integer_range(dtype: DataType) -> tuple[int, int]:
    """Returns the least and the greatest number of a data type of integers."""
    return (-128, 127) if dtype is DataType.INT8 else INTEGER_RANGES[dtype.element]


def _limited(numbers: torch.Tensor, bits: int) -> torch.Tensor:
    """Returns numbers as signed integers; those outside of their range, and NaN, become the least one."""
    inside = (numbers >= -(2.0**bits)) & (numbers < 2.0**bits)
    return torch.where(inside, numbers, -(2.0**bits)).to(torch.int64)


def fill_of(value: float, dtype: DataType) -> float:
    """Returns a number as an element of a tensor of a data type."""
    if dtype.element.is_float:
        return float(value)
    return int(hold(whole_numbers(torch.tensor([float(value)], dtype=torch.float64), dtype), dtype.element).item())


def _check_kind(name: str, value: object, kind: type, example: str) -> None:
    if value is not None and not isinstance(value, kind):
        raise IncompatibleArguments(
            f"ttnn.Tensor(): incompatible function arguments: {name} must be a ttnn.{kind.__name__} such as "
            f"ttnn.{example}, got {value!r}"
        )


def _numbers(data: Any) -> Any:
    """Returns an array as an array that torch takes."""
    import numpy as np

    array = np.asarray(data)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def to_torch(tensor: Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Returns the elements of a tensor of one chip.

    Raises:
        TTFatal: several chips hold the tensor.
    """
    shards = tensor.contents.shards
    for observer in CALLS:
        observer.read_back(shards)
    if len(shards) > 1:
        box = DistributedHostBuffer(tensor).shape()
        raise TTFatal(
            f"Can't convert a tensor distributed on {box} mesh to row-major logical tensor. Supply a mesh composer to "
            "concatenate multi-device shards.",
            hint="Pass mesh_composer=ttnn.ConcatMeshToTensor(device, dim=0), or convert one of "
            "ttnn.get_device_tensors(tensor).",
        )
    return elements(shards[0], tensor.dtype, dtype)


def elements(shard: torch.Tensor, own: DataType, dtype: torch.dtype | None) -> torch.Tensor:
    """Returns a copy of elements in the torch dtype that TT-NN gives them, or in ``dtype``."""
    wanted = dtype or _TO_TORCH.get(own, shard.dtype)
    return shard.to(wanted, memory_format=torch.contiguous_format, copy=True)


def torch_dtype(own: DataType) -> torch.dtype:
    """Returns the torch dtype that TT-NN gives elements of a data type."""
    return _TO_TORCH.get(own, CONTAINERS[own.element])
