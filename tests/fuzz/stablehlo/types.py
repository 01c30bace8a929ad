"""Element types of StableHLO in groups, and text of types, constants and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from tt_xla.ir.element_types import ElementType

BOOL = ("i1",)
SIGNED = ("i8", "i16", "i32", "i64", "i4", "i2")
UNSIGNED = ("ui8", "ui16", "ui32", "ui64", "ui4", "ui2")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("f32", "bf16", "f16", "f64")
NARROW_FLOATS = tuple(element.value for element in ElementType if element.value.startswith(("f8", "f4")))
COMPLEX = ("complex<f32>", "complex<f64>")
REAL = BOOL + INTEGERS + FLOATS
EVERY = tuple(element.value for element in ElementType)

WEIGHTS = {"f32": 8, "bf16": 6, "i32": 5, "i1": 3, "i8": 4, "ui8": 3, "i64": 3, "ui32": 3, "f16": 2, "i16": 2, "f64": 2}
"""How often element types are drawn beside one another; 1 where a type is not named."""


@dataclass(frozen=True)
class Value:
    """A tensor of a drawn program."""

    name: str
    shape: tuple[int, ...]
    element: str

    @property
    def type(self) -> str:
        return type_text(self.shape, self.element)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))


def type_text(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def is_float(element: str) -> bool:
    """Whether an element type is one of real floating-point numbers."""
    return element.startswith(("f", "bf"))


def is_integer(element: str) -> bool:
    return element in INTEGERS


def bits(element: str) -> int:
    """Returns the bits of an element."""
    on_host = ElementType(element).on_host
    if element == "i1":
        return 1
    if on_host is not None:
        return on_host.bits
    return 8 * numpy_type(element).itemsize


def numpy_type(element: str) -> np.dtype:
    return ElementType(element).numpy_dtype()


def limits(element: str) -> tuple[int, int]:
    """Returns the least and the greatest integer of a type."""
    info = ml_dtypes.iinfo(numpy_type(element))
    return int(info.min), int(info.max)


def constant_text(array: np.ndarray, element: str) -> str:
    """Returns the text of a constant's elements: ``dense<[1.0, 2.0]> : tensor<2xf32>``."""
    if (
        array.size
        and array.size > 1
        and all(_number(x, element) == _number(array.flat[0], element) for x in array.flat)
    ):
        content = _number(array.flat[0], element)
    elif array.size > 64 and array.dtype.itemsize * 8 == bits(element) and element not in COMPLEX:
        content = f'"0x{np.ascontiguousarray(array).tobytes().hex().upper()}"'
    elif not array.size:
        content = ""
    else:
        content = _nested(array, element)
    return f"dense<{content}> : {type_text(array.shape, element)}"


def _nested(array: np.ndarray, element: str) -> str:
    if array.ndim == 0:
        return _number(array[()], element)
    return f"[{', '.join(_nested(part, element) for part in array)}]"


def _number(value: object, element: str) -> str:
    """Returns the text of an element: decimal, or the bits of what has no decimal form."""
    if element == "i1":
        return str(bool(value)).lower()
    if element in COMPLEX:
        part = "f32" if element == "complex<f32>" else "f64"
        number = np.asarray(value)
        return f"({_number(number.real[()], part)}, {_number(number.imag[()], part)})"
    if not is_float(element):
        return str(int(value))  # pyright: ignore[reportArgumentType]
    number = np.asarray(value)
    if np.isfinite(number.astype(np.float64)):
        return f"{float(number):.17e}" if element == "f64" else f"{float(number):.9e}"
    return f"0x{int.from_bytes(number.tobytes(), 'little'):0{2 * number.dtype.itemsize}X}"


def longs(numbers: Sequence[int]) -> str:
    """Returns the text of an attribute of 64-bit integers."""
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def flags(truths: Sequence[bool]) -> str:
    """Returns the text of an attribute of truths."""
    return f"array<i1: {', '.join(str(bool(truth)).lower() for truth in truths)}>" if truths else "array<i1>"


def pairs(rows: Sequence[Sequence[int]]) -> str:
    """Returns the text of a padding: a row of low and high for each dimension."""
    return constant_text(np.array(rows, np.int64).reshape(len(rows), 2), "i64")
