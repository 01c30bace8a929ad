"""Represents calls of TT-NN as plain data, from which Python and C++ source is printed."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Union

from tt_xla.ir.program import TensorSpec

_LARGEST = 3.4028234663852886e38
"""Largest finite float32."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor of the function, by its value number."""

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
    """A constant of the program as a host tensor."""

    elements: bytes
    """Little-endian elements in the spec's data type; a single element fills the whole tensor."""
    spec: TensorSpec
    """Shape and layout of the tensor."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function or a constructor."""

    function: str
    arguments: tuple[Expression, ...] = ()
    keywords: Mapping[str, Expression] = field(default_factory=lambda: {})


Expression = Union[
    None, bool, int, float, str, Value, Name, Device, Data, Call, "tuple[Expression, ...]", "set[Expression]"
]
"""An expression of generated source. A tuple becomes a list, a set becomes a set."""


@dataclass(frozen=True)
class Names:
    """The names that Python source uses for tensors, the device and constants."""

    value: Callable[[int], str]
    device: str = "device"
    data: Callable[[Data], str] = field(default=lambda data: f"data({len(data.elements)})")


def python(expression: Expression, names: Names) -> str:
    """Returns the Python source of an expression."""
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
    """Returns the shortest decimal that rounds to the same float32, such as 1e-06 for 9.999999974752427e-07.

    A value that is not exactly a float32 is returned as it is.
    """
    if not math.isfinite(value) or struct.unpack("f", struct.pack("f", value))[0] != value:
        return value
    for digits in range(1, 10):
        candidate = float(f"{value:.{digits}g}")
        if abs(candidate) <= _LARGEST and struct.unpack("f", struct.pack("f", candidate))[0] == value:
            return candidate
    return value


def values_of(expression: Expression) -> list[int]:
    """Returns the numbers of the values that an expression reads, each once, in order."""
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
