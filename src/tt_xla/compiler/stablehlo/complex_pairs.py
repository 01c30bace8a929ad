"""Complex tensors as pairs of real tensors, since the chip has no complex elements.

A pair begins where a program makes a complex tensor from two real ones, and ends where the program takes the real or
the imaginary part. Between the two, each op becomes ops on the parts. At every step a host call also makes the complex
tensor itself. That call is dead and is dropped, unless an op without such an expansion uses its result, for example a
Fourier transform.

Rotary embeddings in complex form, as in LLaMA's own code, run on the chip in this way. Chips exchange both parts
of a complex tensor, which the host separates if need be, as the host cannot run an exchange.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from jaxlib.mlir import ir
from xdsl.ir import BlockArgument, SSAValue

from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.stablehlo.context import ImportContext
from tt_xla.compiler.stablehlo.fallback import call_host
from tt_xla.compiler.stablehlo.reduction import body_op
from tt_xla.compiler.stablehlo.replica_groups import COLLECTIVES
from tt_xla.errors import UnsupportedOpError

_COMPLEX = "complex<f32>"

_PART_BY_PART = (
    "stablehlo.add",
    "stablehlo.broadcast_in_dim",
    "stablehlo.concatenate",
    "stablehlo.dynamic_slice",
    "stablehlo.gather",
    "stablehlo.negate",
    "stablehlo.reshape",
    "stablehlo.reverse",
    "stablehlo.select",
    "stablehlo.slice",
    "stablehlo.subtract",
    "stablehlo.transpose",
)
"""Ops that act on the real and on the imaginary part of a complex tensor alike."""

_PRODUCTS = ("stablehlo.multiply", "stablehlo.dot_general")
_PARTS = ("stablehlo.real", "stablehlo.imag")

Pair = tuple[SSAValue, SSAValue]
"""Real and imaginary part of a complex tensor, as float32 tensors on the chip."""


def expand(context: ImportContext, op: Any, convert: Callable[[ImportContext, Any], None]) -> Sequence[SSAValue] | None:
    """Converts an op on complex tensors to ops on their parts.

    Args:
        context: the context of the op.
        op: any StableHLO op.
        convert: converts a StableHLO op in a context.

    Returns:
        The value that replaces the op's result, or None if the op has no expansion or the host computes its
        operands anyway.
    """
    name = op.operation.name
    if name == "stablehlo.complex" and _element(op.results[0]) == _COMPLEX:
        return [_joined(context, op, (context[op.operands[0]], context[op.operands[1]]))]
    if name in COLLECTIVES:
        return _exchanged(context, op, convert)
    if name not in (*_PART_BY_PART, *_PRODUCTS, *_PARTS) or not any(
        context[value] in context.module.complex_parts for value in op.operands
    ):
        return None
    complex_operands = [value for value in op.operands if _element(value) == _COMPLEX]
    if not all(_is_at_hand(context, value) for value in complex_operands):
        return None
    expansion = _Expansion(context, op, convert)
    pairs = {value: expansion.parts(value) for value in dict.fromkeys(complex_operands)}
    if name in _PARTS:
        return [pairs[op.operands[0]][_PARTS.index(name)]]
    if name in _PART_BY_PART:
        parts = [expansion.emit([pairs[v][part] if v in pairs else context[v] for v in op.operands]) for part in (0, 1)]
        return [expansion.joined((parts[0], parts[1]))]
    (a, b), (c, d) = (pairs[value] for value in op.operands)
    real = expansion.emit([expansion.emit([a, c]), expansion.emit([b, d])], "stablehlo.subtract")
    imaginary = expansion.emit([expansion.emit([a, d]), expansion.emit([b, c])], "stablehlo.add")
    return [expansion.joined((real, imaginary))]


def _exchanged(
    context: ImportContext, op: Any, convert: Callable[[ImportContext, Any], None]
) -> Sequence[SSAValue] | None:
    """Converts an exchange of a complex tensor between chips; None for any other op, and for sums by another op."""
    if [_element(value) for value in op.operands] != [_COMPLEX]:
        return None
    if len(op.regions) and body_op(op) != "stablehlo.add":
        return None
    expansion = _Expansion(context, op, convert)
    real, imaginary = (expansion.emit([part]) for part in expansion.parts(op.operands[0]))
    return [expansion.joined((real, imaginary))]


def _element(value: Any) -> str:
    return str(getattr(value.type, "element_type", ""))


def _is_at_hand(context: ImportContext, value: Any) -> bool:
    """Whether the parts of a complex tensor are known or cheap to take.

    The host takes the parts of an argument on its way to the chip, and those of a constant once.
    """
    converted = context[value]
    return converted in context.module.complex_parts or isinstance(converted, BlockArgument) or is_constant(converted)


def _joined(context: ImportContext, op: Any, pair: Pair) -> SSAValue:
    """Emits a host call of ``op`` that joins two parts to a complex tensor, and records the parts of its result."""
    reason = UnsupportedOpError("the chip has no complex numbers")
    (joined,) = call_host(context, op, reason)
    context.module.complex_parts[joined] = pair
    return joined


class _Expansion:
    """The expansion of one complex op: creates StableHLO ops on real tensors, and converts each at once.

    The created ops live in a module that is kept until the end of the import.
    """

    def __init__(self, context: ImportContext, op: Any, convert: Callable[[ImportContext, Any], None]) -> None:
        self.context = context
        self.op = op.operation
        self.convert = convert
        module: Any = ir.Module.parse("func.func private @step() {\n  return\n}", op.context)
        context.module.kept_modules.append(module)
        self.block: Any = module.body.operations[0].regions[0].blocks[0]

    def parts(self, value: Any) -> Pair:
        """Returns the parts of a complex tensor. The host separates them if no expansion recorded them."""
        known = self.context.module.complex_parts.get(self.context[value])
        if known is not None:
            return known
        operand = (value.type, self.context[value])
        real, imaginary = (self._emit_op(name, [operand], _real(value.type)) for name in _PARTS)
        return real, imaginary

    def emit(self, operands: Sequence[SSAValue], name: str | None = None) -> SSAValue:
        """Emits the expanded op, or the op ``name``, on real operands, and returns its real result."""
        result = _real(self.op.results[0].type)
        if name is not None:
            return self._emit_op(name, [(result, value) for value in operands], result)
        types = [_real(operand.type) for operand in self.op.operands]
        arguments = self._arguments(list(zip(types, operands, strict=True)))
        clone = self.op.clone(ir.InsertionPoint.at_block_terminator(self.block)).operation
        for index, argument in enumerate(arguments):
            clone.operands[index] = argument
        clone.results[0].set_type(result)
        for block in itertools.chain.from_iterable(clone.regions):
            for value in (*block.arguments, *itertools.chain.from_iterable(inner.results for inner in block)):
                value.set_type(_real(value.type))
        return self._converted(clone)

    def joined(self, pair: Pair) -> SSAValue:
        """Returns the complex result of the expanded op, given its parts."""
        result = self.op.results[0].type
        joining_op = self._create("stablehlo.complex", [(_real(result), part) for part in pair], result)
        return _joined(self.context, joining_op, pair)

    def _emit_op(self, name: str, operands: Sequence[tuple[Any, SSAValue]], result: Any) -> SSAValue:
        """Creates and converts an op.

        Args:
            name: full name of the op.
            operands: StableHLO type and TTIR value of each operand.
            result: StableHLO type of the result.
        """
        return self._converted(self._create(name, operands, result))

    def _converted(self, op: Any) -> SSAValue:
        self.convert(self.context, op)
        return self.context[op.results[0]]

    def _create(self, name: str, operands: Sequence[tuple[Any, SSAValue]], result: Any) -> Any:
        arguments = self._arguments(operands)
        with ir.InsertionPoint.at_block_terminator(self.block):
            return ir.Operation.create(name, results=[result], operands=arguments, loc=self.op.location).opview

    def _arguments(self, operands: Sequence[tuple[Any, SSAValue]]) -> list[Any]:
        """Adds block arguments that stand for TTIR values, and returns them."""
        arguments = [self.block.add_argument(type_, self.op.location) for type_, _ in operands]
        for argument, (_, value) in zip(arguments, operands, strict=True):
            self.context.bind(argument, value)
        return arguments


def _real(type_: Any) -> Any:
    """Returns the type of a complex tensor's parts; returns any other type unchanged."""
    if str(type_.element_type) != _COMPLEX:
        return type_
    with ir.Location.unknown(type_.context):
        return ir.RankedTensorType.get(type_.shape, ir.F32Type.get(type_.context))
