"""How a packaged model is called: its arguments with fixed or symbolic sizes, and the bounds of the symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import torch

Shape = tuple[int, ...]


class Symbol(msgspec.Struct, frozen=True):
    """Bounds of a symbolic size, both included; no upper bound if ``high`` is None."""

    low: int
    high: int | None

    def __str__(self) -> str:
        return f"at least {self.low}" if self.high is None else f"{self.low} to {self.high}"


class Size(msgspec.Struct, frozen=True, omit_defaults=True):
    """A size that is ``times`` the symbol plus ``plus``."""

    symbol: str
    times: int = 1
    plus: int = 0

    def __str__(self) -> str:
        times = "" if self.times == 1 else f"{self.times}*"
        return f"{times}{self.symbol}{f'{self.plus:+d}' if self.plus else ''}"


class Argument(msgspec.Struct, frozen=True, omit_defaults=True):
    """An argument of a package's programs.

    Attributes:
        name: its name in the model: that of the input, of the parameter or of the buffer.
        dtype: name of its torch dtype, such as ``bfloat16``.
        shape: its sizes.
        position: number of the leaf among the caller's arguments; None for a weight.
        weight: name of the weight's contents in the package; None for an input.
    """

    name: str
    dtype: str
    shape: tuple[int | Size, ...]
    position: int | None = None
    weight: str | None = None

    @property
    def symbolic_sizes(self) -> list[Size]:
        """Sizes that are not fixed."""
        return [size for size in self.shape if not isinstance(size, int)]

    def __str__(self) -> str:
        return f"{self.dtype} of shape {described(self.shape)}"


def described(shape: Iterable[int | Size]) -> str:
    """Returns a shape as it is written in messages."""
    return f"[{', '.join(map(str, shape))}]"


def check(arguments: Sequence[Argument], tensors: Sequence[torch.Tensor], symbols: Mapping[str, Symbol]) -> None:
    """Checks the tensors of a call.

    Args:
        arguments: the inputs among the arguments.
        tensors: the tensor of each.
        symbols: bounds of the symbolic sizes.

    Raises:
        ValueError: a tensor has another dtype, another rank, or a size that is not allowed.
    """
    known: dict[str, tuple[int, str]] = {}
    for argument, tensor in zip(arguments, tensors, strict=True):
        got = f"{str(tensor.dtype).removeprefix('torch.')} of shape {described(tensor.shape)}"
        refusal = f"Input '{argument.name}' is {got}; the model was exported with {argument}"
        if str(tensor.dtype) != f"torch.{argument.dtype}" or tensor.dim() != len(argument.shape):
            raise ValueError(f"{refusal}. Convert it, or export the model for such inputs.")
        for dim, (size, expected) in enumerate(zip(tensor.shape, argument.shape, strict=True)):
            if isinstance(expected, int):
                if size != expected:
                    raise ValueError(
                        f"{refusal}. Export the model with dynamic_shapes for dimension {dim}, or pad the input."
                    )
                continue
            value, rest = divmod(size - expected.plus, expected.times)
            bounds = symbols[expected.symbol]
            if rest or value < bounds.low or (bounds.high is not None and value > bounds.high):
                raise ValueError(
                    f"{refusal}, where {expected.symbol} is {bounds}. Dimension {dim} is out of these bounds: split or "
                    "pad the input, or export the model with others."
                )
            seen, where = known.setdefault(expected.symbol, (value, f"dimension {dim} of '{argument.name}'"))
            if seen != value:
                raise ValueError(f"{refusal}, where {expected.symbol} is {seen} by {where}. Give both the same size.")


__all__ = ["Argument", "Shape", "Size", "Symbol", "check", "described"]
