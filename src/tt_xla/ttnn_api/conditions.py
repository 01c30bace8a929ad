"""Conditions on shapes and numbers that rules of several families share, in TT-NN's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt_xla.ttnn_api import signatures
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.shapes import out_of_range

if TYPE_CHECKING:
    from tt_xla.ttnn_api.plan import Operand


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
        raise out_of_range(operand.rank, operand.rank, operand.shape, f"make it {wanted} with ttnn.reshape")


def check_on_device(words: str, *operands: Operand) -> None:
    """Refuses tensors on the host, in TT-NN's words."""
    if not all(each.type.on_device for each in operands):
        raise TTFatal(words, hint="Move the tensor with ttnn.to_device.")


def check_interleaved(words: str, operand: Operand) -> None:
    """Refuses a sharded tensor, in TT-NN's words."""
    if operand.memory.is_sharded():
        raise TTFatal(words, hint="Move the tensor with ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG).")


_OUT_OF_RANGE = "Dimension out of range (expected to be in range of [{low},{high}], but got {dim})"


def place_of(dim: int, rank: int, words: str = _OUT_OF_RANGE, shape: object = None) -> int:
    """Returns a dimension counted from the front.

    Args:
        dim: the dimension, also counted from the end.
        rank: how many there are.
        words: TT-NN's words about a dimension that is none of them, which may show ``dim``, ``rank``, ``low`` and
            ``high``.
        shape: the shape of the tensor that has the dimensions; None for what is no tensor yet.

    Raises:
        TTFatal: there is no such dimension.
    """
    if not -rank <= dim < rank:
        shown = words.format(dim=dim, rank=rank, low=-rank, high=rank - 1)
        advice = f"Choose one from {-rank} to {rank - 1}."
        raise TTFatal(
            shown, hint=advice if shape is None else f"The tensor has shape {shape}; choose one of its dimensions."
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
