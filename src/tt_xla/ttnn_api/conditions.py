"""Conditions on shapes and numbers that rules of several families share, in TT-NN's words."""

from __future__ import annotations

from typing import Any

from tt_xla.ttnn_api import signatures
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.plan import Operand
from tt_xla.ttnn_api.shapes import SHOWN_DIMS


def check_rank(operand: Operand, rank: int, wanted: str) -> None:
    """Refuses a tensor with fewer dimensions than a function reads.

    Args:
        operand: the tensor.
        rank: dimensions that the function reads.
        wanted: what they are, such as ``[N, H, W, C]``.

    Raises:
        TTFatal: the tensor has fewer.
    """
    if operand.rank < rank:
        raise TTFatal(
            f"ShapeBase[] index out of range. {operand.rank} not in [-{SHOWN_DIMS}, {operand.rank})",
            hint=f"The tensor has shape {operand.shape}; make it {wanted} with ttnn.reshape.",
        )


def place_of(dim: int, rank: int) -> int:
    """Returns a dimension counted from the front.

    Args:
        dim: the dimension, also counted from the end.
        rank: how many there are.

    Raises:
        TTFatal: there is no such dimension.
    """
    if not -rank <= dim < rank:
        raise TTFatal(
            f"Dimension out of range (expected to be in range of [{-rank},{rank - 1}], but got {dim})",
            hint="Choose a dimension in this range.",
        )
    return dim % rank


def check_unsigned(function: str, name: str, value: Any) -> None:
    """Refuses numbers below zero where TT-NN's binding takes none.

    Args:
        function: full name of the function.
        name: its parameter.
        value: a number, or nested sequences of them.

    Raises:
        TypeError: a number is negative.
    """
    numbers = value if isinstance(value, (list, tuple)) else [value]
    for number in numbers:
        if isinstance(number, (list, tuple)):
            check_unsigned(function, name, number)
        elif number < 0:
            raise signatures.unfit(function, f"{name} must not be negative, got {value!r}")
