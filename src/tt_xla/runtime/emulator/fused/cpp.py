"""Tensors in the C++ of fused kernels: how they lie in memory, and loops over their elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

GRAIN = 1 << 15
"""Elements up to which one thread is enough, as in torch."""

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


def copied(source: Place, target: Place) -> Iterator[str]:
    """Writes a copy of all elements, which threads share where there are many.

    Where the innermost dimensions are exchanged, the copy goes through both in blocks.
    """
    shape = source.operand.shape
    names = [f"i{dim}" for dim in range(len(shape))]
    moving = [dim for dim, size in enumerate(shape) if size > 1]
    fast = [dim for dim in moving if source.operand.stride[dim] == 1]
    several = math.prod(shape) > GRAIN
    if len(moving) > 1 and fast and fast[-1] != moving[-1] and target.operand.stride[moving[-1]] == 1:
        rows, columns = fast[-1], moving[-1]
        outer = [dim for dim in moving if dim not in (rows, columns)]
        at = [names[dim] if dim in (*outer, rows) else "0" for dim in range(len(shape))]
        together = -(-shape[rows] // 8) if several and not outer else shape[rows]
        height = f"std::min({together}L, {shape[rows]} - {names[rows]})"
        if several:
            yield f"#pragma omp parallel for collapse({len(outer) + 1})"
        yield loops([names[dim] for dim in outer], [shape[dim] for dim in outer])
        yield f"for (long {names[rows]} = 0; {names[rows]} < {shape[rows]}; {names[rows]} += {together})"
        sizes = f"{height}, {shape[columns]}, {source.operand.stride[columns]}L, {target.operand.stride[rows]}L"
        yield f"transposed(&{source.at(*at)}, &{target.at(*at)}, {sizes});"
        return
    order = sorted(range(len(shape)), key=lambda dim: -target.operand.stride[dim])
    apart = [dim for dim in order if shape[dim] > 1][:-1]
    if several and apart:
        order = [*apart, *(dim for dim in order if dim not in apart)]
        yield f"#pragma omp parallel for collapse({len(apart)})"
    heads = loops([names[dim] for dim in order], [shape[dim] for dim in order])
    yield f"{heads} {target.at(*names)} = {source.at(*names)};"
