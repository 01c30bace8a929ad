"""Complex numbers, which the chip has no elements for, as pairs of real tensors.

A pair begins where a program makes a complex tensor of two real ones, and ends where it takes the parts again; in
between, each op becomes ops on the parts. The complex tensor itself is made by the host at every step, in a call that
nothing uses and that is dropped, unless an op that has no expansion here needs it, such as a Fourier transform.

Rotary embeddings in complex form, as LLaMA's own code has them, run on the chip in this way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlib.mlir import ir
from xdsl.ir import BlockArgument, SSAValue

from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.stablehlo.context import ImportContext
from tt_xla.compiler.stablehlo.fallback import call_host
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
"""Ops that do to a complex tensor what they do to its real and to its imaginary part."""

_PRODUCTS = ("stablehlo.multiply", "stablehlo.dot_general")
_PARTS = ("stablehlo.real", "stablehlo.imag")

Pair = tuple[SSAValue, SSAValue]
"""The real and the imaginary part of a complex tensor, float32 on the chip."""


def expand(context: ImportContext, op: Any, convert: Callable[[ImportContext, Any], None]) -> Sequence[SSAValue] | None:
    """Emits an op on complex tensors as ops on their parts; what its result becomes.

    None where the op is not one of these, or where the host makes its operands anyway.

    Args:
        convert: converts an op of StableHLO, given the context.
    """
    name = op.operation.name
    if name == "stablehlo.complex" and _element(op.results[0]) == _COMPLEX:
        return [_joined(context, op, (context[op.operands[0]], context[op.operands[1]]))]
    if name not in (*_PART_BY_PART, *_PRODUCTS, *_PARTS) or not any(
        context[value] in context.module.complex_parts for value in op.operands
    ):
        return None
    numbers = [value for value in op.operands if _element(value) == _COMPLEX]
    if not all(_is_at_hand(context, value) for value in numbers):
        return None
    step = _Step(context, op, convert)
    pairs = {value: step.parts(value) for value in dict.fromkeys(numbers)}
    if name in _PARTS:
        return [pairs[op.operands[0]][_PARTS.index(name)]]
    if name in _PART_BY_PART:
        made = [step.emit([pairs[v][part] if v in pairs else context[v] for v in op.operands]) for part in (0, 1)]
        return [step.joined((made[0], made[1]))]
    (a, b), (c, d) = (pairs[value] for value in op.operands)
    real = step.emit([step.emit([a, c]), step.emit([b, d])], "stablehlo.subtract")
    imaginary = step.emit([step.emit([a, d]), step.emit([b, c])], "stablehlo.add")
    return [step.joined((real, imaginary))]


def _element(value: Any) -> str:
    return str(getattr(value.type, "element_type", ""))


def _is_at_hand(context: ImportContext, value: Any) -> bool:
    """Whether the parts of a complex tensor are known, or taking them costs nothing between calls or is due anyway."""
    made = context[value]
    return made in context.module.complex_parts or isinstance(made, BlockArgument) or is_constant(made)


def _joined(context: ImportContext, op: Any, pair: Pair) -> SSAValue:
    """The complex tensor of two parts, made by ``op`` on the host."""
    reason = UnsupportedOpError("the chip has no complex numbers")
    made = call_host(context, op, reason)[0]
    context.module.complex_parts[made] = pair
    return made


class _Step:
    """Ops of StableHLO that take the place of one, in a module that lives as long as the import."""

    def __init__(self, context: ImportContext, op: Any, convert: Callable[[ImportContext, Any], None]) -> None:
        self.context = context
        self.op = op.operation
        self.convert = convert
        module: Any = ir.Module.parse("func.func private @step() {\n  return\n}", op.context)
        context.module.kept_modules.append(module)
        self.block: Any = module.body.operations[0].regions[0].blocks[0]

    def parts(self, value: Any) -> Pair:
        """The parts of a complex tensor, which the host takes apart where nothing here has made it."""
        known = self.context.module.complex_parts.get(self.context[value])
        if known is not None:
            return known
        taken = [self._made(name, [(value.type, self.context[value])], _real(value.type)) for name in _PARTS]
        return taken[0], taken[1]

    def emit(self, operands: Sequence[SSAValue], name: str | None = None) -> SSAValue:
        """The op, or another one on results of it, on real tensors."""
        result = _real(self.op.results[0].type)
        if name is not None:
            return self._made(name, [(result, value) for value in operands], result)
        taken = self._arguments([(_real(old.type), new) for old, new in zip(self.op.operands, operands, strict=True)])
        clone = self.op.clone(ir.InsertionPoint.at_block_terminator(self.block)).operation
        for place, argument in enumerate(taken):
            clone.operands[place] = argument
        clone.results[0].set_type(result)
        return self._converted(clone)

    def joined(self, pair: Pair) -> SSAValue:
        result = self.op.results[0].type
        made = self._create("stablehlo.complex", [(_real(result), part) for part in pair], result)
        return _joined(self.context, made, pair)

    def _made(self, name: str, operands: Sequence[tuple[Any, SSAValue]], result: Any) -> SSAValue:
        return self._converted(self._create(name, operands, result))

    def _converted(self, made: Any) -> SSAValue:
        self.convert(self.context, made)
        return self.context[made.results[0]]

    def _create(self, name: str, operands: Sequence[tuple[Any, SSAValue]], result: Any) -> Any:
        taken = self._arguments(operands)
        with ir.InsertionPoint.at_block_terminator(self.block):
            return ir.Operation.create(name, results=[result], operands=taken, loc=self.op.location).opview

    def _arguments(self, operands: Sequence[tuple[Any, SSAValue]]) -> list[Any]:
        """Arguments of the block that stand for values of TTIR."""
        taken = [self.block.add_argument(type_, self.op.location) for type_, _ in operands]
        for argument, (_, value) in zip(taken, operands, strict=True):
            self.context.bind(argument, value)
        return taken


def _real(type_: Any) -> Any:
    """The type of the parts of a complex tensor; other types stay."""
    if str(type_.element_type) != _COMPLEX:
        return type_
    with ir.Location.unknown(type_.context):
        return ir.RankedTensorType.get(type_.shape, ir.F32Type.get(type_.context))
