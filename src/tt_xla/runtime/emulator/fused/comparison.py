"""The rows on which a fused kernel of many rows is compared with its steps, so that comparing takes little memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import msgspec

from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator.context import Specs
from tt_xla.runtime.emulator.fused.cpp import Operand, Shape

COMPARED_BYTES = 1 << 24
"""Bytes of all operands and results on which a fused kernel is compared, at most, if it has more than one row."""


class Part:
    """The first rows of a fused kernel's shape, along each dimension but the last.

    Args:
        domain: the shape.
        operands: inputs and outputs of the fused kernel as C++ sees them.
        whole: dimensions that stay whole.
    """

    def __init__(self, domain: Shape, operands: Sequence[Operand], whole: Collection[int] = ()) -> None:
        self._domain = domain
        self.rows = list(domain[:-1])
        """Number of rows along each dimension."""
        while sum(map(self._bytes, operands)) > COMPARED_BYTES:
            dims = [dim for dim, rows in enumerate(self.rows) if rows > 1 and dim not in whole]
            if not dims:
                break
            longest = max(dims, key=self.rows.__getitem__)
            self.rows[longest] = -(-self.rows[longest] // 2)

    def operand(self, operand: Operand) -> Operand:
        """Returns the part of an operand that belongs to the rows; it keeps the strides of the whole."""
        return replace(operand, shape=self._shape(operand.shape))

    def step(self, step: Step) -> Step:
        """Returns a step that computes the rows alone."""
        assert step.context is not None
        operands = {name: self._specs(specs) for name, specs in step.context.operands.items()}
        results = tuple(map(self._spec, step.context.results))
        instruction = step.instruction
        if instruction.op == "ttnn.reshape":
            instruction = msgspec.structs.replace(instruction, attributes={"shape": results[0].shape})
        context = replace(step.context, operands=operands, results=results)
        return replace(step, context=context, instruction=instruction)

    def _specs(self, specs: Specs) -> Specs:
        return tuple(map(self._spec, specs)) if isinstance(specs, tuple) else self._spec(specs)

    def _spec(self, spec: TensorSpec) -> TensorSpec:
        return msgspec.structs.replace(spec, shape=self._shape(spec.shape))

    def _shape(self, shape: Shape) -> Shape:
        first = len(self._domain) - len(shape)
        return tuple(self._size(first + dim, size) for dim, size in enumerate(shape))

    def _size(self, dim: int, size: int) -> int:
        is_row = 0 <= dim < len(self.rows) and size == self._domain[dim]
        return self.rows[dim] if is_row else size

    def _bytes(self, operand: Operand) -> int:
        pairs = zip(self._shape(operand.shape), operand.stride, strict=True)
        return (1 + sum((size - 1) * step for size, step in pairs)) * operand.dtype.itemsize


__all__ = ["COMPARED_BYTES", "Part"]
