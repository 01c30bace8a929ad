"""Conversion of StableHLO ops to TTIR: in place, one converter an op, with the host as the fallback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue

from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.locations import convert_location, describe
from tt_xla.compiler.stablehlo import complex_pairs, scalars
from tt_xla.compiler.stablehlo.by_chip import fold_by_chip
from tt_xla.compiler.stablehlo.context import (
    CONVERTERS,
    EMPTY_OPERAND_CONVERTERS,
    Converter,
    ImportContext,
    converts,
    on_host,
)
from tt_xla.compiler.stablehlo.fallback import call_host, is_callback
from tt_xla.compiler.stablehlo.types import DynamicShapeError, NoElementsError, convert_type, is_empty
from tt_xla.compiler.stablehlo.widths import wrapped
from tt_xla.errors import InternalCompilerError, MalformedModuleError, TTXLAError, UnsupportedOpError
from tt_xla.ir.base import shape, tensor_type
from tt_xla.ir.ttir.creation import ConstantOp, splat

_SHRINKING = ("stablehlo.convert", "stablehlo.reshape", "stablehlo.slice", "stablehlo.transpose")
"""Ops that run on the host when the host made their operand, unless more elements would then cross to the device."""

_STRUCTURAL = (
    "func.call",
    "stablehlo.concatenate",
    "stablehlo.composite",
    "stablehlo.get_tuple_element",
    "stablehlo.optimization_barrier",
    "stablehlo.tuple",
)
"""Ops that pass operands on to other ops, or whose converters check themselves which operands the chip holds."""


def inline(context: ImportContext, function: Any, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """Converts the body of a StableHLO function in place, and returns its results.

    Raises:
        MalformedModuleError: the function calls itself, or has several blocks.
    """
    name = function.name.value
    if name in context.callers:
        raise MalformedModuleError(f"Function @{name} calls itself: {' -> '.join([*context.callers, name])}.")
    blocks = function.regions[0].blocks
    if len(blocks) != 1:
        raise MalformedModuleError(f"Function @{name} has {len(blocks)} blocks, expected one without jumps.")
    block = blocks[0]
    for argument, value in zip(block.arguments, arguments, strict=True):
        context.bind(argument, value)
    return convert_block(context.replace(callers=(*context.callers, name)), block)


@converts("func.call")
def call(context: ImportContext, op: Any) -> list[SSAValue]:
    """Converts the called function in place."""
    function = context.module.functions[op.attributes["callee"].value]
    return inline(context.replace(calls=(*context.calls, op)), function, context.operands(op))


def convert_block(context: ImportContext, block: Any) -> list[SSAValue]:
    """Converts the ops of a StableHLO block in place, and returns the operands of its terminator."""
    returned: list[SSAValue] = []
    for op in block.operations:
        if op.operation.name in ("func.return", "stablehlo.return"):
            returned = context.operands(op)
        else:
            convert_op(context, op)
    return returned


def convert_op(context: ImportContext, op: Any) -> None:
    """Converts one op, and records what its results became.

    An op without a place in a file has that of the call or of the loop around it.

    Raises:
        UnsupportedOpError: neither the chip nor the host can run the op.
        InternalCompilerError: the converter of the op has a bug. No fallback catches this error.
    """
    location = convert_location(str(op.location))
    if not isinstance(location, UnknownLoc):  # an op of a library's function has the place of the call
        context = context.at(location)
    try:
        if (context.folds_scalars and fold_scalar(context, op)) or fold_by_chip(context, op):
            return
        values = _convert_with_fallbacks(context, op)
        if values is not None:
            _bind_results(context, op, values)
    except TTXLAError:
        raise
    except Exception as error:
        raise InternalCompilerError(
            f"The converter of '{op.operation.name}' failed with {type(error).__name__}: {error}.",
            location=describe(context.location),
            hint="This is a fault of tt-xla; please report it with the module.",
        ) from error


def _convert_with_fallbacks(context: ImportContext, op: Any) -> Sequence[SSAValue] | None:
    """Returns the values of the results of an op: on the chip, without elements, or made by the host.

    Raises:
        UnsupportedOpError: neither the chip nor the host can run the op.
    """
    subprograms = context.module.subprograms
    last_op, known_subprograms = context.block.last_op, len(subprograms)
    try:
        values = _convert_on_chip(context, op)
    except DynamicShapeError:
        raise
    except UnsupportedOpError as error:
        error.location = error.location or describe(context.location)
        _erase_after(context.block, last_op)
        for name in list(subprograms)[known_subprograms:]:
            del subprograms[name]
        if isinstance(error, NoElementsError) and all(is_empty(convert_type(result.type)) for result in op.results):
            context.values.all_on_chip = False
            return [_empty_tensor(context, result.type) for result in op.results]
        values = complex_pairs.expand(context, op, convert_op) or call_host(context, op, error)
        context.values.all_on_chip &= not any(on_host(value) for value in values)
    return (values,) if isinstance(values, SSAValue) else values


def _convert_on_chip(context: ImportContext, op: Any) -> SSAValue | Sequence[SSAValue] | None:
    """Returns the results of the op's converter.

    Raises:
        UnsupportedOpError: the op has no converter, or the chip cannot run it.
    """
    name, off_chip = op.operation.name, context.values.off_chip
    converter = CONVERTERS.get(name)
    if converter is None:
        raise context.reject(op, "tt-xla has no lowering for it")
    if off_chip and not _takes_any_tensor(op) and not off_chip.isdisjoint(op.operands):
        _check_has_elements(op)
        converter = _converter_of_empty_operands(context, op)
        if converter is None:
            raise context.reject(op, "it works on a tensor that the chip cannot hold")
    if name in _SHRINKING and context.follows_host(op):
        raise context.reject(op, "the host made its operand, and its result is smaller, so the host runs it too")
    return converter(context, op)


def _bind_results(context: ImportContext, op: Any, values: Sequence[SSAValue]) -> None:
    """Records what the results of an op became. Integers that may lie outside their declared type are wrapped.

    Raises:
        ValueError: a value has another shape than its result, or there are more or fewer values than results.
    """
    for result, value in zip(op.results, values, strict=True):
        expected = convert_type(result.type).get_shape()
        if shape(value) != expected:
            raise ValueError(f"its lowering has shape {shape(value)}, expected {expected}")
        context.bind(result, wrapped(context, op, value, result.type))


def _takes_any_tensor(op: Any) -> bool:
    """Whether an op takes tensors that the chip cannot hold."""
    return op.operation.name in _STRUCTURAL or is_callback(op.operation)


def _check_has_elements(op: Any) -> None:
    """Checks that an op has an effect or a result with elements.

    Raises:
        NoElementsError: no result has elements, and the op is not a custom call, which may have effects.
    """
    results = [convert_type(result.type) for result in op.results]
    if op.operation.name != "stablehlo.custom_call" and results and all(is_empty(result) for result in results):
        raise NoElementsError(f"{op.operation.name} has no result with elements")


def _converter_of_empty_operands(context: ImportContext, op: Any) -> Converter | None:
    """Returns the converter for an op that reads a tensor without elements; None if there is no such operand or
    converter."""
    has_empty_operand = any(is_empty(tensor_type(value)) for value in context.operands(op))
    return EMPTY_OPERAND_CONVERTERS.get(op.operation.name) if has_empty_operand else None


def fold_scalar(context: ImportContext, op: Any) -> bool:
    """Computes an integer scalar whose operands are known, and records it as a constant.

    Returns:
        Whether the op is such a scalar and was computed.
    """
    if len(op.results) != 1 or not len(op.operands) or not scalars.is_integer_scalar(op.results[0].type):
        return False
    operands: list[int] = []
    for operand in op.operands:
        known = splat(context[operand]) if scalars.is_integer_scalar(operand.type) else None
        if known is None:
            return False
        operands.append(scalars.wrap(int(known), str(operand.type.element_type)))
    value = scalars.compute(op, operands)
    if value is None or not -(2**31) <= value < 2**31:
        return False
    type_ = context.result_type(op)
    context.bind(op.results[0], context.emit(ConstantOp, [], type_, value=elements(value, type_)))
    return True


def _empty_tensor(context: ImportContext, type_: Any) -> SSAValue:
    """Emits a constant without elements."""
    tensor = convert_type(type_)
    data = DenseIntOrFPElementsAttr(cast(Any, tensor), BytesAttr(b""))
    return context.emit(ConstantOp, [], tensor, value=data)


def _erase_after(block: Block, last_op: Operation | None) -> None:
    """Erases the ops that a converter emitted before it gave up."""
    while block.last_op is not None and block.last_op is not last_op:
        block.erase_op(block.last_op)
