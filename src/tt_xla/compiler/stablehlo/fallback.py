"""What TTIR cannot express becomes a call of the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from xdsl.ir import SSAValue

from tt_xla import callbacks
from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.locations import describe
from tt_xla.compiler.stablehlo import outline
from tt_xla.compiler.stablehlo.annotations import check_group_sizes
from tt_xla.compiler.stablehlo.context import ImportContext, on_host
from tt_xla.compiler.stablehlo.types import TOKEN, convert_type, host_type
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.base import DATA_TYPES, Tensor, tensor, tensor_type
from tt_xla.ir.layout import DataType
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.creation import ConstantOp
from tt_xla.ir.ttir.host import HostCallbackOp, HostCallOp

_WIDE = (DataType.SI64, DataType.U64, DataType.F64, DataType.COMPLEX128)

_OF_BITS = (
    "stablehlo.bitcast_convert",
    "stablehlo.constant",
    "stablehlo.rng_bit_generator",
    "stablehlo.shift_left",
    "stablehlo.shift_right_logical",
)
"""Ops whose 64-bit results are used bit by bit, or are 64 bits wide for a reason."""


def call_host(context: ImportContext, op: Any, reason: UnsupportedOpError) -> Sequence[SSAValue]:
    """Emits ``ttir.host_call`` for an op.

    Raises:
        UnsupportedOpError: ``reason``, where the options forbid host ops or the host cannot do it either.
    """
    if not context.host_fallback or not _callable(op):
        if "failed to legalize" not in reason.message:
            raise context.reject(op, reason.message.rstrip(".")) from reason
        raise reason
    bits_of_f64 = op.operation.name == "stablehlo.bitcast_convert" and "f64" in str(op.operands[0].type)
    if bits_of_f64 and not on_host(context[op.operands[0]]):
        raise context.reject(op, "the chip holds f64 as f32, whose bits are others")
    if op.operation.name in ("stablehlo.maximum", "stablehlo.minimum") and "complex" in str(op.operands[0].type):
        raise context.reject(op, "XLA orders complex numbers in another way than StableHLO")
    module, captured = outline.outline(op, context.module.functions)
    for inner in outline.walk(module.operation):
        check_group_sizes(inner)
    if unknown := _unregistered(module):
        raise context.reject(op, f"no dialect has an op '{unknown}'")
    operands = [context[value] for value in captured]
    wide = (
        op.operation.name in _OF_BITS
        or _widens(op)
        or any(DATA_TYPES[tensor_type(context[value]).element_type] in _WIDE for value in (*op.operands, *captured))
    )
    where = describe(context.location)
    made = HostCallOp.make(
        [operands],
        [_result_type(result.type, wide=wide) for result in op.results],
        context.location,
        module=module.operation.get_asm(),
        ops=(f"{op.operation.name} at {where}" if where else op.operation.name,),
        input_types=tuple(str(value.type.element_type) for value in captured),
        output_types=tuple(str(result.type.element_type) for result in op.results),
    )
    context.block.add_op(made)
    return made.results


def is_callback(op: Any) -> bool:
    """Whether an op stands for a Python function of the process."""
    return op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value == callbacks.TARGET


def call_back(context: ImportContext, op: Any) -> Sequence[SSAValue]:
    """Emits ``ttir.host_callback``. Tokens, operands or results, carry nothing."""
    operands = [value for value in op.operands if str(value.type) != TOKEN]
    results = [value for value in op.results if str(value.type) != TOKEN]
    made = HostCallbackOp.make(
        [[context[value] for value in operands]],
        [convert_type(value.type) for value in results],
        context.location,
        callback=op.attributes["backend_config"].value,
        input_types=tuple(str(value.type.element_type) for value in operands),
        output_types=tuple(str(value.type.element_type) for value in results),
    )
    context.block.add_op(made)
    context.values.all_on_chip &= not any(on_host(value) for value in made.results)
    found = iter(made.results)
    return [new_token(context) if str(value.type) == TOKEN else next(found) for value in op.results]


def new_token(context: ImportContext) -> SSAValue:
    type_ = tensor((), si32)
    return context.emit(ConstantOp, [], type_, value=elements(0, type_))


def _widens(op: Any) -> bool:
    """Whether values with all 32 bits in use become 64-bit ones."""
    return op.operation.name == "stablehlo.convert" and str(op.operands[0].type.element_type) == "ui32"


def _callable(op: Any) -> bool:
    """Whether all that goes in and out are tensors of static shape."""
    values = [*op.operands, *op.results]
    return all(getattr(value.type, "has_static_shape", False) for value in values) and bool(len(op.results))


def _unregistered(module: Any) -> str:
    """The name of an op that no dialect knows, which MLIR lets stand in what it reads, or nothing."""
    found: list[str] = []

    def visit(op: Any) -> ir.WalkResult:
        if not module.context.is_registered_operation(op.name):
            found.append(op.name)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return "".join(found)


def _result_type(type_: Any, *, wide: bool) -> Tensor:
    """64-bit results of 64-bit values on the host stay there as they are; others take the chip's type."""
    return host_type(type_) if wide else convert_type(type_)
