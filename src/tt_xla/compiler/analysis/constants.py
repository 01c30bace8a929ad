"""Constants of TTIR: their elements, and ops that hold one value everywhere."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, bf16, f32
from xdsl.ir import Attribute

from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.base import Tensor
from tt_xla.ir.properties import si32, ui8, ui16, ui32
from tt_xla.ir.ttir.creation import ConstantOp

_NUMPY: dict[Attribute, str] = {
    bf16: "bfloat16",
    f32: "float32",
    si32: "int32",
    ui8: "uint8",
    ui16: "uint16",
    ui32: "uint32",
}


def numpy_dtype(element: Attribute) -> Any:
    """The NumPy dtype of an element type on the chip."""
    name = _NUMPY[element]
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def elements(values: Any, type_: Tensor) -> DenseIntOrFPElementsAttr[Any]:
    """Dense elements of a TTIR type from a scalar, for all elements, or an array of the type's shape.

    Raises:
        UnsupportedOpError: an integer does not fit in the chip's 32 bits.
    """
    if not isinstance(values, (int, float)):
        return _elements(values, type_)
    key = (id(type_), repr(values))
    found = _SCALARS.get(key)
    if found is None:
        if len(_SCALARS) >= _MOST_SCALARS:
            _SCALARS.clear()
        found = _SCALARS[key] = _elements(values, type_)
    return found


_SCALARS: dict[tuple[int, str], DenseIntOrFPElementsAttr[Any]] = {}
"""Elements by the identity of their type, which they keep alive, and the text of their one value."""
_MOST_SCALARS = 4096


def _elements(values: Any, type_: Tensor) -> DenseIntOrFPElementsAttr[Any]:
    element = type_.element_type
    array = np.asarray(values)
    if array.dtype.kind in "iu" and element not in (bf16, f32):
        limits = np.iinfo(numpy_dtype(element))
        if array.size and (array.min() < limits.min or array.max() > limits.max):
            raise UnsupportedOpError(
                f"A constant holds {array.min()} to {array.max()}; integers on the chip hold {limits.min} to "
                f"{limits.max}."
            )
    data = array.astype(numpy_dtype(element)).tobytes()
    return DenseIntOrFPElementsAttr(cast(Any, type_), BytesAttr(data))


def splat_of(value: float, type_: Tensor, location: Attribute | None) -> ConstantOp:
    """A constant of one value everywhere."""
    return ConstantOp.make([], [type_], location, value=elements(value, type_))
