"""Represents calls of TT-NN as plain data, from which Python and C++ source is printed."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
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
