"""An instruction whose calls are checked, and how errors name its elements and operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from tt_xla.ir.layout import DataType
from tt_xla.ir.program import FunctionKind, Instruction, TensorSpec
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import find

_FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
"""Types whose elements are checked; torch adds and compares none of the 8-bit floats, which only the host holds."""

_ELEMENTWISE = ("elementwise", "gradients", "pointwise", "layout")
"""Families of kernels whose ops compute an element from the operands' elements at the same place."""

_MOVING = ("caches", "creation", "data_movement", "layout")
"""Families of kernels whose ops make no new numbers unless the result has another type."""

_CHOOSING = ("ttnn.bitcast_convert", "ttnn.where")
"""Ops of other families that make no new numbers: they read bits, or choose elements."""

_PLACES = {FunctionKind.CONST_EVAL: " in const-eval", FunctionKind.SUBPROGRAM: " in a loop or case"}

Element = tuple[int, ...]
"""Position of an element of a tensor."""


@dataclass(frozen=True)
class Site:
    """An instruction whose calls are checked."""

    context: Context
    instruction: Instruction
    kind: FunctionKind
    """Kind of the function that has it."""
    chip: int | None
    """Position in the mesh of the first chip that runs it; None in a program for one chip."""
    location: str
    """The user's line; that of the first op that uses the result where the compiler added the instruction."""
    weights: tuple[str, ...]
    """Names of the parameters and constants that operands are computed from."""

    @property
    def op(self) -> str:
        """Name of the op."""
        return self.context.op

    @property
    def where(self) -> str:
        """Weights, kind of function and chip, for the end of a phrase; empty for other ops on one chip."""
        weights = f" (of {', '.join(self.weights)})" if self.weights else ""
        return f"{weights}{_PLACES.get(self.kind, '')}{'' if self.chip is None else f' on chip {self.chip}'}"

    @cached_property
    def computes(self) -> bool:
        """Whether the op computes numbers, rather than moving or choosing those of its operands."""
        family = find(self.op).family
        if self.op in _CHOOSING:
            return False
        return family not in _MOVING or (family == "layout" and len(self._dtypes) > 1)

    @property
    def _dtypes(self) -> set[DataType]:
        return {spec.layout.dtype for spec in self.context.specs}

    @cached_property
    def float_results(self) -> tuple[int, ...]:
        """Positions of the results whose elements are floats."""
        results = enumerate(self.context.results)
        return tuple(index for index, spec in results if CONTAINERS[spec.layout.dtype] in _FLOATS)

    @cached_property
    def is_elementwise(self) -> bool:
        """Whether an element of the result depends on the operands' elements at the same place alone."""
        if find(self.op).family not in _ELEMENTWISE or len(self.context.results) != 1:
            return False
        sizes = self.context.result.shape
        return all(_spreads(spec.shape, sizes) for spec in self.context.specs)

    def result_text(self, index: int) -> str:
        """Returns the name of a result in messages: ``its result 4x8 bf16``."""
        results = self.context.results
        return f"its result{f' {index}' if len(results) > 1 else ''} {type_text(results[index])}"

    def operands_text(self, tensors: Sequence[torch.Tensor], element: Element) -> str:
        """Returns the operands' elements at a place of the result, or, of other ops, the ranges of operands."""
        names = self._operand_names()
        if not names:
            return "It has no operands"
        if self.is_elementwise:
            sizes = self.context.result.shape
            pairs = zip(names, tensors, strict=True)
            values = [f"{name} {number(tensor.broadcast_to(sizes)[element].item())}" for name, tensor in pairs]
            return f"There the operands are {', '.join(values)}"
        specs = self.context.specs
        triples = zip(names, specs, tensors, strict=False)
        return f"Its operands are {', '.join(f'{name} {type_text(spec)} {_range(x)}' for name, spec, x in triples)}"

    def _operand_names(self) -> list[str]:
        names: list[str] = []
        for name, specs in self.context.operands.items():
            names += [f"{name}[{index}]" for index in range(len(specs))] if isinstance(specs, tuple) else [name]
        return names


def first_of(chosen: torch.Tensor) -> tuple[Element, int]:
    """Returns the position of the first element for which a tensor is true, and the number of such elements."""
    flat = chosen.reshape(-1).nonzero()
    return element_at(int(flat[0]), chosen.shape), len(flat)


def element_at(index: int, sizes: Sequence[int]) -> Element:
    """Returns the position of the element that is at ``index`` in row-major order."""
    return tuple(map(int, np.unravel_index(index, tuple(sizes))))


def type_text(spec: TensorSpec) -> str:
    """Returns shape and format of a tensor: ``4x8 bf16``."""
    return f"{'x'.join(map(str, spec.shape)) or 'scalar'} {spec.layout.dtype.value}"


def number(value: float) -> str:
    """Returns a number as messages write it."""
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def _range(tensor: torch.Tensor) -> str:
    if not tensor.numel() or tensor.dtype.is_complex or tensor.element_size() == 1:
        return "without a range"
    if not tensor.is_floating_point():
        low, high = (bound.item() for bound in torch.aminmax(tensor))
        return f"from {low} to {high}"
    finite = tensor[tensor.isfinite()]
    beside = [name for name, has in (("NaN", tensor.isnan()), ("infinities", tensor.isinf())) if has.any()]
    low, high = (bound.item() for bound in torch.aminmax(finite)) if finite.numel() else (None, None)
    text = "without a finite number" if low is None or high is None else f"from {number(low)} to {number(high)}"
    return text + (f" with {' and '.join(beside)}" if beside else "")


def _spreads(sizes: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether a tensor broadcasts to a shape."""
    pairs = zip(reversed(sizes), reversed(wanted), strict=False)
    return len(sizes) <= len(wanted) and all(size in (1, other) for size, other in pairs)
