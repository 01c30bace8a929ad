"""The table of element types: what programs declare, what chip and host hold, and every name that others give them.

Two enumerations, because the chip does not hold every type that a program declares:

- :class:`ElementType` is an element type of StableHLO, as an argument or a result declares it: ``i64``, ``f8E4M3FN``.
- :class:`DataType` is an element type of a tensor in TTIR and TTNN. Tensors of some data types stay on the host.

Nothing here imports NumPy, torch or xDSL; torch dtypes are given by name, ``getattr(torch, dtype.torch)``.
"""

from __future__ import annotations

import enum
from functools import cache
from typing import Any

TILE = 32
"""Rows and columns of a tile, in elements."""

FACE = 16
"""Rows and columns of a face, in elements; a tile holds 2 x 2 faces."""


class DataType(enum.StrEnum):
    """An element type of a tensor, by its label in TTIR and TTNN.

    The first eight are those that a chip holds; tensors of the others stay in system memory.
    """

    bits: int
    """Bits of an element; of a block float, without its share of the exponent."""
    numpy: str
    """Name of the NumPy or ml_dtypes type; of a block float, that of the bfloat16 values that it is made from."""
    torch: str
    """Name of the torch dtype that holds the elements in the emulator.

    bfloat16 holds every block float, which has at most 8 significant bits. Torch lacks most ops on uint16 and uint32,
    so the next signed type holds them. uint8 holds the bits of floats that torch has no dtype for, one to a byte.
    """
    ttnn: str
    """Name in TT-NN, ``ttnn.bfloat8_b``; empty for a type that no chip holds."""
    ttnn_code: int
    """Value in TT-NN's C++ enumeration ``DataType``, as its files store it; -1 for a type that no chip holds."""

    def __new__(cls, label: str, bits: int, numpy: str, torch: str, ttnn: str = "", ttnn_code: int = -1) -> DataType:
        member = str.__new__(cls, label)
        member._value_ = label
        member.bits, member.numpy, member.torch, member.ttnn, member.ttnn_code = bits, numpy, torch, ttnn, ttnn_code
        return member

    F32 = "f32", 32, "float32", "float32", "float32", 1
    BF16 = "bf16", 16, "bfloat16", "bfloat16", "bfloat16", 0
    BFP_BF8 = "bfp_bf8", 8, "bfloat16", "bfloat16", "bfloat8_b", 3
    BFP_BF4 = "bfp_bf4", 4, "bfloat16", "bfloat16", "bfloat4_b", 4
    U32 = "u32", 32, "uint32", "int64", "uint32", 2
    U16 = "u16", 16, "uint16", "int32", "uint16", 6
    U8 = "u8", 8, "uint8", "uint8", "uint8", 5
    SI32 = "si32", 32, "int32", "int32", "int32", 7

    COMPLEX64 = "complex<f32>", 64, "complex64", "complex64"
    COMPLEX128 = "complex<f64>", 128, "complex128", "complex128"
    F64 = "f64", 64, "float64", "float64"
    F16 = "f16", 16, "float16", "float16"
    SI64 = "si64", 64, "int64", "int64"
    U64 = "ui64", 64, "uint64", "uint64"
    SI8 = "si8", 8, "int8", "int8"
    SI4 = "si4", 4, "int4", "int8"
    U4 = "ui4", 4, "uint4", "uint8"
    SI2 = "si2", 2, "int2", "int8"
    U2 = "ui2", 2, "uint2", "uint8"
    F8E3M4 = "f8E3M4", 8, "float8_e3m4", "uint8"
    F8E4M3 = "f8E4M3", 8, "float8_e4m3", "uint8"
    F8E4M3B11FNUZ = "f8E4M3B11FNUZ", 8, "float8_e4m3b11fnuz", "uint8"
    F8E4M3FN = "f8E4M3FN", 8, "float8_e4m3fn", "float8_e4m3fn"
    F8E4M3FNUZ = "f8E4M3FNUZ", 8, "float8_e4m3fnuz", "float8_e4m3fnuz"
    F8E5M2 = "f8E5M2", 8, "float8_e5m2", "float8_e5m2"
    F8E5M2FNUZ = "f8E5M2FNUZ", 8, "float8_e5m2fnuz", "float8_e5m2fnuz"
    F8E8M0FNU = "f8E8M0FNU", 8, "float8_e8m0fnu", "float8_e8m0fnu"
    F4E2M1FN = "f4E2M1FN", 4, "float4_e2m1fn", "uint8"

    @property
    def is_host_only(self) -> bool:
        """Whether no chip holds the type, so that its tensors stay in system memory."""
        return not self.ttnn

    @property
    def is_block_float(self) -> bool:
        """Whether 16 elements of a face row share one exponent; such types exist in tiles only."""
        return self is DataType.BFP_BF8 or self is DataType.BFP_BF4

    @property
    def is_float(self) -> bool:
        """Whether the type is one of the chip's floating-point types."""
        return self in (DataType.F32, DataType.BF16, DataType.BFP_BF8, DataType.BFP_BF4)

    @property
    def significant_bits(self) -> int:
        """Significant bits of one of the chip's floats: a number of them is off by up to ``2**-significant_bits``.

        The exponent has 8 bits; the leading 1 takes the place of the sign, but in block floats, which store it.
        """
        return self.bits - (1 if self.is_block_float else 8)

    @property
    def element_bytes(self) -> int:
        """Bytes of one element outside a tile; a type of fewer than 8 bits takes a byte on the host.

        Raises:
            ValueError: for block-float types, which have no size below a tile.
        """
        if self.is_block_float:
            raise ValueError(f"{self} has no element size; use tile_bytes")
        return max(1, self.bits // 8)

    @property
    def tile_bytes(self) -> int:
        """Bytes of a 32 x 32 tile, shared exponents included (1088 for bfp_bf8, 576 for bfp_bf4)."""
        exponents = TILE * TILE // FACE if self.is_block_float else 0
        return TILE * TILE * (self.bits if self.is_block_float else 8 * self.element_bytes) // 8 + exponents

    @property
    def little_endian(self) -> str:
        """NumPy code of the elements' little-endian bytes, ``<f4``; ``<i2`` for the bits of bfloat16 elements.

        Raises:
            ValueError: no chip holds the type.
        """
        if self.is_host_only:
            raise ValueError(f"{self} has no code; it stays on the host")
        if self.numpy == "bfloat16":
            return "<i2"
        return f"<{self.numpy[0]}{self.element_bytes}"

    def numpy_dtype(self) -> Any:
        """Returns the ``numpy.dtype`` of :attr:`numpy`."""
        return numpy_dtype(self.numpy)


class ElementType(enum.StrEnum):
    """An element type of StableHLO, by its name in MLIR."""

    pjrt: str
    """Name in PJRT's enumeration ``PJRT_Buffer_Type``."""
    numpy: str
    """Name of the NumPy or ml_dtypes type."""
    torch: str
    """Name of the torch dtype that holds one element each on the host.

    uint8 holds the bits of floats that torch has no dtype for, and int8 and uint8 hold integers of 2 and 4 bits.
    """
    on_chip: DataType | None
    """Data type that the chip holds the elements in, which may be narrower; None where tensors stay on the host."""
    on_host: DataType | None
    """Data type of tensors that stay on the host; None where tensors of the type never do."""

    def __new__(
        cls, name: str, pjrt: str, numpy: str, torch: str, on_chip: DataType | None, on_host: DataType | None
    ) -> ElementType:
        member = str.__new__(cls, name)
        member._value_ = name
        member.pjrt, member.numpy, member.torch, member.on_chip, member.on_host = pjrt, numpy, torch, on_chip, on_host
        return member

    I1 = "i1", "PRED", "bool", "bool", DataType.BF16, None
    I2 = "i2", "S2", "int2", "int8", None, DataType.SI2
    I4 = "i4", "S4", "int4", "int8", None, DataType.SI4
    I8 = "i8", "S8", "int8", "int8", DataType.SI32, None
    I16 = "i16", "S16", "int16", "int16", DataType.SI32, None
    I32 = "i32", "S32", "int32", "int32", DataType.SI32, None
    I64 = "i64", "S64", "int64", "int64", DataType.SI32, DataType.SI64
    UI2 = "ui2", "U2", "uint2", "uint8", None, DataType.U2
    UI4 = "ui4", "U4", "uint4", "uint8", None, DataType.U4
    UI8 = "ui8", "U8", "uint8", "uint8", DataType.U8, None
    UI16 = "ui16", "U16", "uint16", "uint16", DataType.U16, None
    UI32 = "ui32", "U32", "uint32", "uint32", DataType.U32, None
    UI64 = "ui64", "U64", "uint64", "uint64", None, DataType.U64
    BF16 = "bf16", "BF16", "bfloat16", "bfloat16", DataType.BF16, None
    F16 = "f16", "F16", "float16", "float16", DataType.F32, None
    F32 = "f32", "F32", "float32", "float32", DataType.F32, None
    F64 = "f64", "F64", "float64", "float64", DataType.F32, DataType.F64
    COMPLEX64 = "complex<f32>", "C64", "complex64", "complex64", None, DataType.COMPLEX64
    COMPLEX128 = "complex<f64>", "C128", "complex128", "complex128", None, DataType.COMPLEX128
    F8E3M4 = "f8E3M4", "F8E3M4", "float8_e3m4", "uint8", None, DataType.F8E3M4
    F8E4M3 = "f8E4M3", "F8E4M3", "float8_e4m3", "uint8", None, DataType.F8E4M3
    F8E4M3B11FNUZ = "f8E4M3B11FNUZ", "F8E4M3B11FNUZ", "float8_e4m3b11fnuz", "uint8", None, DataType.F8E4M3B11FNUZ
    F8E4M3FN = "f8E4M3FN", "F8E4M3FN", "float8_e4m3fn", "float8_e4m3fn", None, DataType.F8E4M3FN
    F8E4M3FNUZ = "f8E4M3FNUZ", "F8E4M3FNUZ", "float8_e4m3fnuz", "float8_e4m3fnuz", None, DataType.F8E4M3FNUZ
    F8E5M2 = "f8E5M2", "F8E5M2", "float8_e5m2", "float8_e5m2", None, DataType.F8E5M2
    F8E5M2FNUZ = "f8E5M2FNUZ", "F8E5M2FNUZ", "float8_e5m2fnuz", "float8_e5m2fnuz", None, DataType.F8E5M2FNUZ
    F8E8M0FNU = "f8E8M0FNU", "F8E8M0FNU", "float8_e8m0fnu", "float8_e8m0fnu", None, DataType.F8E8M0FNU
    F4E2M1FN = "f4E2M1FN", "F4E2M1FN", "float4_e2m1fn", "uint8", None, DataType.F4E2M1FN

    @property
    def is_unsigned(self) -> bool:
        """Whether the type is an unsigned integer."""
        return self.startswith("ui")

    @property
    def is_ml_dtype(self) -> bool:
        """Whether NumPy knows the type by way of ml_dtypes only."""
        return self.numpy not in _NUMPY_TYPES

    @property
    def torch_arithmetic(self) -> str:
        """Name of the torch dtype to compute in: torch lacks most ops on its unsigned types of 16 bits and more."""
        return _TORCH_WIDENED.get(self.torch, self.torch)

    def numpy_dtype(self) -> Any:
        """Returns the ``numpy.dtype`` of :attr:`numpy`."""
        return numpy_dtype(self.numpy)


_NUMPY_TYPES = {
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
}
_TORCH_WIDENED = {"uint16": "int32", "uint32": "int64", "uint64": "int64"}


@cache
def numpy_dtype(name: str) -> Any:
    """Returns the ``numpy.dtype`` of a type that NumPy or ml_dtypes has under this name.

    Raises:
        AttributeError: neither has such a type.
    """
    import numpy as np

    if name in _NUMPY_TYPES:
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))
