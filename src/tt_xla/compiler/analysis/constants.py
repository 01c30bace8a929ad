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


def is_float_type(element: Attribute) -> bool:
    """Returns whether an element type is one of the chip's floats."""
    return element in (bf16, f32)


def wrapped(value: int, element: Attribute) -> int:
    """Returns an integer as an integer type of the chip holds it: modulo 2^bits, with the type's sign.

    Raises:
        KeyError: The chip has no such element type.
    """
    limits = np.iinfo(numpy_dtype(element))
    return (value - int(limits.min)) % 2**limits.bits + int(limits.min)


def converted(value: float | int, source: Attribute, target: Attribute) -> float | int:
    """Returns a number of one element type as another one holds it, as the chip converts it.

    Integers wrap. A float becomes an integer by truncation towards zero within the integer's range; NaN becomes 0.

    Raises:
        KeyError: The chip has no such target type.
    """
    if is_float_type(target):
        return float(value)
    if not is_float_type(source):
        return wrapped(int(value), target)
    limits = np.iinfo(numpy_dtype(target))
    return 0 if np.isnan(value) else int(min(max(value, float(limits.min)), float(limits.max)))


def is_held(element: Attribute) -> bool:
    """Returns whether the chip holds an element type; tensors of the others stay on the host."""
    return element in _NUMPY


def splat_of(value: float, type_: Tensor, location: Attribute | None) -> ConstantOp:
    """A constant of one value everywhere."""
    return ConstantOp.make([], [type_], location, value=elements(value, type_))
