"""TTIR constants: converting numbers between element types, encoding elements, and building splat constants."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, bf16, f32
from xdsl.ir import Attribute

from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.base import DATA_TYPES, Tensor
from tt_xla.ir.ttir.creation import ConstantOp


def numpy_dtype(element: Attribute) -> Any:
    """Returns the NumPy dtype of an element type that the chip holds.

    Raises:
        KeyError: The chip has no such element type.
    """
    dtype = DATA_TYPES[element]
    if dtype.is_host_only:
        raise KeyError(element)
    return dtype.numpy_dtype()


def elements(values: Any, type_: Tensor) -> DenseIntOrFPElementsAttr[Any]:
    """Returns the dense elements attribute of a TTIR constant.

    Args:
        values: A scalar, which fills the tensor, or an array of the type's shape.
        type_: The constant's type.

    Raises:
        UnsupportedOpError: An integer does not fit in the element type.
    """
    if not isinstance(values, (int, float)):
        return _elements(values, type_)
    key = (id(type_), repr(values))
    attribute = _SCALARS.get(key)
    if attribute is None:
        if len(_SCALARS) >= _MOST_SCALARS:
            _SCALARS.clear()
        attribute = _SCALARS[key] = _elements(values, type_)
    return attribute


_SCALARS: dict[tuple[int, str], DenseIntOrFPElementsAttr[Any]] = {}
"""Cached attributes of splat constants by the identity of their type and the text of their value."""
_MOST_SCALARS = 4096
"""Number of cached attributes after which the cache is cleared."""


def _elements(values: Any, type_: Tensor) -> DenseIntOrFPElementsAttr[Any]:
    """Returns a new dense elements attribute, see :func:`elements`."""
    element = type_.element_type
    array = np.asarray(values)
    if array.dtype.kind in "iu" and element not in (bf16, f32):
        limits = np.iinfo(numpy_dtype(element))
        if array.size and (array.min() < limits.min or array.max() > limits.max):
            raise UnsupportedOpError(
                f"A constant has values from {array.min()} to {array.max()}; its type on the chip, {element}, holds "
                f"{limits.min} to {limits.max}."
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


def converted(value: float | int, source: Attribute, target: Attribute) -> float | int | None:
    """Returns a number of one element type as another one holds it: integers wrap, floats lose their fraction, and
    numbers that a float type does not have are rounded.

    Returns:
        None for NaN and floats outside the range of an integer type, which are left to the chip.

    Raises:
        KeyError: The chip has no such target type.
    """
    if is_float_type(target):
        with np.errstate(over="ignore"):
            return float(np.asarray(value).astype(numpy_dtype(target)))
    if not is_float_type(source):
        return wrapped(int(value), target)
    limits = np.iinfo(numpy_dtype(target))
    return int(value) if limits.min - 1 < value < limits.max + 1 else None


def is_held(element: Attribute) -> bool:
    """Returns whether the chip holds an element type; tensors of the others stay on the host."""
    dtype = DATA_TYPES.get(element)
    return dtype is not None and not dtype.is_host_only


def makes_unordinary(result: float, numbers: Iterable[float]) -> bool:
    """Returns whether an op makes a NaN or an infinity of numbers none of which is one.

    Such an op stays in the program, where option ``trap`` finds it.
    """
    if math.isfinite(result):
        return False
    same_kind = math.isnan if math.isnan(result) else math.isinf
    return not any(map(same_kind, numbers))


def splat_of(value: float, type_: Tensor, location: Attribute | None) -> ConstantOp:
    """Returns a new constant op that holds ``value`` in every element."""
    return ConstantOp.make([], [type_], location, value=elements(value, type_))
