"""Decomposition of elementwise TTIR ops that TT-NN lacks.

StableHLO has none of them; they occur in TTIR from other sources.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import Pattern, insert_before
from tt_xla.ir import ttir
from tt_xla.ir.base import Tensor, TTOp, tensor, tensor_type
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.creation import FullOp
from tt_xla.ir.ttir.structure import TypecastOp, WhereOp

_FLOATS = (bf16, f32)


class _Builder:
    """Inserts ops before the replaced one. Results have the type of its operand unless another is given."""

    def __init__(self, op: Operation, rewriter: PatternRewriter) -> None:
        self.op, self.rewriter = op, rewriter
        self.type: Tensor = tensor_type(op.operands[0])

    @property
    def is_float(self) -> bool:
        """Whether the replaced op's operand is a float."""
        return self.type.element_type in _FLOATS

    def make(self, name: str, *operands: SSAValue, type_: Tensor | None = None) -> SSAValue:
        """Inserts the elementwise op called ``name``."""
        return self._insert(ttir.ELEMENTWISE_OPS[name], operands, type_ or self.type)

    def full(self, value: float, type_: Tensor | None = None) -> SSAValue:
        """Inserts a tensor of one value."""
        type_ = type_ or self.type
        typed = float(value) if type_.element_type in _FLOATS else int(value)
        return self._insert(FullOp, (), type_, shape=type_.get_shape(), fill_value=typed)

    def where(self, truth: SSAValue, chosen: SSAValue, other: SSAValue) -> SSAValue:
        """Inserts a choice between two values."""
        return self._insert(WhereOp, (truth, chosen, other), self.type)

    def cast(self, value: SSAValue, type_: Tensor) -> SSAValue:
        """Inserts a typecast unless the value has the type."""
        return value if tensor_type(value) == type_ else self._insert(TypecastOp, (value,), type_)

    def negative(self, value: SSAValue) -> SSAValue:
        """Inserts a test whether a value is less than 0, in bfloat16."""
        type_ = tensor_type(value)
        return self.make("lt", value, self.full(0, type_), type_=tensor(type_.get_shape(), bf16))

    def _insert(self, kind: type[TTOp], operands: Any, type_: Tensor, **values: Any) -> SSAValue:
        """Inserts an op and returns its result."""
        return insert_before(self.rewriter, self.op, kind, list(operands), type_, **values)


def _exp2(to: _Builder, x: SSAValue) -> SSAValue:
    """exp2(x) is 2 ** x."""
    return to.make("pow", to.full(2), x)


def _trunc(to: _Builder, x: SSAValue) -> SSAValue:
    """trunc(x) is ceil(x) below zero and floor(x) elsewhere."""
    if not to.is_float:
        return x
    return to.where(to.negative(x), to.make("ceil", x), to.make("floor", x))


def _frac(to: _Builder, x: SSAValue) -> SSAValue:
    """frac(x) is x - trunc(x)."""
    return to.make("subtract", x, _trunc(to, x))


def _signbit(to: _Builder, x: SSAValue) -> SSAValue:
    """signbit(x) of floats tests the bits, since -0 and some NaN have the sign bit set too."""
    bits = tensor(to.type.get_shape(), si32)
    if to.is_float:
        x = to.make("bitcast_convert", to.cast(x, tensor(to.type.get_shape(), f32)), type_=bits)
    return to.negative(x)


def _softsign(to: _Builder, x: SSAValue) -> SSAValue:
    """softsign(x) is x / (abs(x) + 1)."""
    return to.make("div", x, to.make("add", to.make("abs", x), to.full(1)))


def _square(to: _Builder, x: SSAValue) -> SSAValue:
    """square(x) is x * x."""
    return to.make("multiply", x, x)


def _right_shift(to: _Builder, x: SSAValue, by: SSAValue) -> SSAValue:
    """Arithmetic shift: of a negative number, the complement is shifted, whose high bits are 0."""
    if to.type.element_type != si32:
        return to.make("logical_right_shift", x, by)
    negative = to.negative(x)
    magnitude = to.where(negative, to.make("bitwise_not", x), x)
    moved = to.make("logical_right_shift", magnitude, by)
    return to.where(negative, to.make("bitwise_not", moved), moved)


_FORMS: dict[str, Callable[..., SSAValue]] = {
    "exp2": _exp2,
    "frac": _frac,
    "right_shift": _right_shift,
    "signbit": _signbit,
    "softsign": _softsign,
    "square": _square,
    "trunc": _trunc,
}
"""Decomposition by op name."""


def elementwise(op: TTOp, rewriter: PatternRewriter) -> None:
    """Replaces an op by its decomposition, in the type of its result."""
    to = _Builder(op, rewriter)
    decomposed = _FORMS[op.name.removeprefix("ttir.")](to, *op.operands)
    rewriter.replace(op, [], [to.cast(decomposed, tensor_type(op.results[0]))])


ELEMENTWISE = Pattern(tuple(ttir.ELEMENTWISE_OPS[name] for name in _FORMS), elementwise)
"""The pattern that decomposes all these ops."""
