"""Which torch dtype holds a device dtype, and how values get into one: rounding, quantising, wrapping.

Tile padding is not materialised: tensors have logical shapes.
"""

from __future__ import annotations

import torch

from tt_xla.ir.layout import DataType
from tt_xla.runtime.emulator.formats import quantize
from tt_xla.runtime.emulator.truth import as_float

CONTAINERS: dict[DataType, torch.dtype] = {
    DataType.F32: torch.float32,
    DataType.BF16: torch.bfloat16,
    DataType.BFP_BF8: torch.bfloat16,
    DataType.BFP_BF4: torch.bfloat16,
    DataType.U32: torch.int64,
    DataType.U16: torch.int32,
    DataType.U8: torch.uint8,
    DataType.SI32: torch.int32,
    DataType.COMPLEX64: torch.complex64,
    DataType.COMPLEX128: torch.complex128,
    DataType.F64: torch.float64,
    DataType.F16: torch.float16,
    DataType.SI64: torch.int64,
    DataType.U64: torch.uint64,
    DataType.SI4: torch.int8,
    DataType.SI2: torch.int8,
    DataType.F8E4M3FN: torch.float8_e4m3fn,
    DataType.F8E4M3FNUZ: torch.float8_e4m3fnuz,
    DataType.F8E5M2: torch.float8_e5m2,
    DataType.F8E5M2FNUZ: torch.float8_e5m2fnuz,
    DataType.F8E8M0FNU: torch.float8_e8m0fnu,
} | dict.fromkeys(
    (
        DataType.U4,
        DataType.U2,
        DataType.F8E3M4,
        DataType.F8E4M3,
        DataType.F8E4M3B11FNUZ,
        DataType.F4E2M1FN,
    ),
    torch.uint8,
)
"""A block float has at most 8 significant bits, so bfloat16 holds it; torch lacks most ops on uint16 and uint32.
Floats that torch has no dtype for are held as their bits, one to a byte."""

INTEGER_RANGES: dict[DataType, tuple[int, int]] = {
    DataType.U32: (0, 2**32 - 1),
    DataType.U16: (0, 2**16 - 1),
    DataType.U8: (0, 2**8 - 1),
    DataType.SI32: (-(2**31), 2**31 - 1),
}

DECLARED: dict[str, torch.dtype] = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i1": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "ui8": torch.uint8,
    "ui16": torch.uint16,
    "ui32": torch.uint32,
    "ui64": torch.uint64,
    "i4": torch.int8,
    "i2": torch.int8,
} | {
    label: CONTAINERS[DataType(label)]
    for label in (
        "complex<f32>",
        "complex<f64>",
        "ui4",
        "ui2",
        "f8E3M4",
        "f8E4M3",
        "f8E4M3B11FNUZ",
        "f8E4M3FN",
        "f8E4M3FNUZ",
        "f8E5M2",
        "f8E5M2FNUZ",
        "f8E8M0FNU",
        "f4E2M1FN",
    )
}
"""StableHLO element type to the torch dtype that an argument or result of it has."""

_WRAPS = {DataType.U32: 0xFFFFFFFF, DataType.U16: 0xFFFF}


def fills_container(dtype: DataType) -> bool:
    """Whether every value of the container is one of ``dtype``, so that a tensor in it needs no change."""
    return dtype.is_host_only or not (dtype.is_block_float or dtype in _WRAPS)


def hold(tensor: torch.Tensor, dtype: DataType) -> torch.Tensor:
    """``tensor`` with the values ``dtype`` can hold, in its container; the same tensor where nothing changes.

    Floats round to nearest even, a float becomes an integer by truncation toward zero within the integer's range (a
    NaN becomes 0), and integers wrap.
    """
    container = CONTAINERS[dtype]
    if dtype.is_host_only:
        return tensor.to(container)
    if dtype.is_block_float:
        return quantize(tensor, dtype.value).to(container)
    if tensor.dtype is container and dtype not in _WRAPS:
        return tensor
    if dtype.is_float:
        return as_float(tensor, container) if tensor.dtype is torch.bool else tensor.to(container)
    if tensor.is_floating_point():
        low, high = INTEGER_RANGES[dtype]
        # In float64, where both ends of every range are exact.
        return tensor.to(torch.float64).nan_to_num(0.0, high, low).trunc_().clamp_(low, high).to(container)
    mask = _WRAPS.get(dtype)
    return tensor.to(container) if mask is None else tensor.to(container).bitwise_and(mask)
