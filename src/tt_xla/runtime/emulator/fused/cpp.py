"""Tensors in the C++ of fused kernels: how they lie in memory, and loops over their elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch

Shape = tuple[int, ...]

View = Callable[[torch.Tensor], torch.Tensor]
"""A view of torch."""

TYPES = {torch.bfloat16: "uint16_t", torch.float32: "float", torch.int32: "int32_t", torch.int64: "int64_t"}
"""C++ type of a tensor's elements, by torch dtype."""


@dataclass(frozen=True)
class Operand:
    """Shape, strides in elements and dtype of a tensor that a fused kernel reads or writes."""

    shape: Shape
    stride: Shape
    dtype: torch.dtype


@dataclass(frozen=True)
class Place:
    """The place of a tensor in memory: a C++ expression that points to its first element, and its strides."""

    pointer: str
    operand: Operand

    def at(self, *indices: str | int) -> str:
        """Returns the C++ of the element at these indices, which are C++ expressions."""
        steps = zip(indices, self.operand.shape, self.operand.stride, strict=True)
        offset = " + ".join(f"({index}) * {step}L" for index, size, step in steps if size != 1 and step)
        return f"{self.pointer}[{offset or 0}]"

    @property
    def c_type(self) -> str:
        """C++ type of an element."""
        return TYPES[self.operand.dtype]

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie side by side in order."""
        own = zip(self.operand.shape, self.operand.stride, contiguous(self.operand.shape), strict=True)
        return all(size == 1 or step == dense for size, step, dense in own)

    def viewed(self, view: View) -> Place | None:
        """Returns the place of a view of torch; None where that would need a copy."""
        operand = self.operand
        try:
            tensor = view(torch.empty_strided(operand.shape, operand.stride, dtype=operand.dtype, device="meta"))
        except RuntimeError:
            return None
        offset = tensor.storage_offset()
        pointer = f"({self.pointer} + {offset})" if offset else self.pointer
        return Place(pointer, Operand(tuple(tensor.shape), tensor.stride(), operand.dtype))


def contiguous(shape: Shape) -> Shape:
    """Returns the strides of a tensor whose elements lie side by side."""
    return tuple(math.prod(size or 1 for size in shape[dim + 1 :]) for dim in range(len(shape)))


def loops(names: Sequence[str], sizes: Iterable[int]) -> str:
    """Returns the heads of nested C++ loops over these sizes, outermost first."""
    return " ".join(
        f"for (long {name} = 0; {name} < {size}; ++{name})" for name, size in zip(names, sizes, strict=True)
    )


def copy(source: Place, target: Place, names: Sequence[str], target_indices: Sequence[str]) -> str:
    """Returns C++ that copies all elements of ``source``, indexed by ``names``, to ``target_indices`` of ``target``."""
    return f"{loops(names, source.operand.shape)} {target.at(*target_indices)} = {source.at(*names)};"
