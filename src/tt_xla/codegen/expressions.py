"""Calls of TT-NN as plain data: what a generator of Python or C++ prints, and what a worker process evaluates."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Union

from tt_xla.ir.program import TensorSpec

_LARGEST = 3.4028234663852886e38
"""The largest float32."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor of the function, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class Name:
    """A name that TT-NN defines, ``ttnn.bfloat16``."""

    text: str


@dataclass(frozen=True, slots=True)
class Device:
    """The device that the program runs on."""


@dataclass(frozen=True, slots=True)
class Data:
    """Elements given with the program, as a host tensor of ``spec``.

    ``elements`` are little-endian in the spec's data type; one element alone stands for all.
    """

    elements: bytes
    spec: TensorSpec


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function or a constructor."""

    function: str
    arguments: tuple[Expression, ...] = ()
    keywords: Mapping[str, Expression] = field(default_factory=lambda: {})


Expression = Union[
    None, bool, int, float, str, Value, Name, Device, Data, Call, "tuple[Expression, ...]", "set[Expression]"
]
"""A tuple is a sequence of values; a set has at most one element of each value."""


@dataclass(frozen=True)
class Names:
    """How a piece of Python source names what is not in the expression itself."""

    value: Callable[[int], str]
    device: str = "device"
    data: Callable[[Data], str] = field(default=lambda data: f"data({len(data.elements)})")


def python(expression: Expression, names: Names) -> str:
    """Python source of an expression."""
    match expression:
        case Value(number):
            return names.value(number)
        case Name(text):
            return text
        case Device():
            return names.device
        case Data():
            return names.data(expression)
        case Call(function, arguments, keywords):
            positional = [python(item, names) for item in arguments]
            named = [f"{name}={python(item, names)}" for name, item in keywords.items()]
            return f"{function}({', '.join(positional + named)})"
        case tuple():
            return f"[{', '.join(python(item, names) for item in expression)}]"
        case set():
            return f"{{{', '.join(sorted(python(item, names) for item in expression))}}}"
        case float():
            return repr(expression) if math.isfinite(expression) else f'float("{expression}")'
        case _:
            return repr(expression)


def shortest(value: float) -> float:
    """The shortest decimal that is the same float32 as ``value``, where that is one: 1e-06 of 9.999999974752427e-07."""
    if not math.isfinite(value) or struct.unpack("f", struct.pack("f", value))[0] != value:
        return value
    for digits in range(1, 10):
        found = float(f"{value:.{digits}g}")
        if abs(found) <= _LARGEST and struct.unpack("f", struct.pack("f", found))[0] == value:
            return found
    return value


def values_of(expression: Expression) -> list[int]:
    """Numbers of the values that an expression reads, each once, in order."""
    match expression:
        case Value(number):
            return [number]
        case Call(_, arguments, keywords):
            inner: list[Expression] = [*arguments, *keywords.values()]
        case tuple():
            inner = list(expression)
        case _:
            return []
    return list(dict.fromkeys(number for item in inner for number in values_of(item)))
