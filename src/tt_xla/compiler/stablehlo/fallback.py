"""Calls of the host, for ops that TTIR cannot express, and calls of Python functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from xdsl.ir import SSAValue

from tt_xla import callbacks
from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.locations import describe
from tt_xla.compiler.mlir_context import module_text
from tt_xla.compiler.stablehlo import outline
from tt_xla.compiler.stablehlo.annotations import check_group_sizes
from tt_xla.compiler.stablehlo.context import ImportContext, on_host
from tt_xla.compiler.stablehlo.replica_groups import COLLECTIVES, POSITIONS
from tt_xla.compiler.stablehlo.types import TOKEN, convert_type, host_type
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.base import DATA_TYPES, Tensor, tensor, tensor_type
from tt_xla.ir.layout import DataType
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.creation import ConstantOp
from tt_xla.ir.ttir.host import HostCallbackOp, HostCallOp

DRAW = "stablehlo.rng"
"""Op that draws other random numbers each time it runs."""

_64_BIT_TYPES = (DataType.SI64, DataType.U64, DataType.F64, DataType.COMPLEX128)

_64_BIT_PRODUCERS = (
    "stablehlo.bitcast_convert",
    "stablehlo.constant",
    "stablehlo.rng_bit_generator",
    "stablehlo.shift_left",
    "stablehlo.shift_right_logical",
)
"""Ops whose 64-bit results keep 64 bits on the host: programs use them bit by bit, or chose the width on purpose."""


def call_host(context: ImportContext, op: Any, reason: UnsupportedOpError) -> Sequence[SSAValue]:
    """Emits ``ttir.host_call`` for an op, and returns its results.

    Args:
        context: the context of the op.
        op: the StableHLO op.
        reason: why the chip cannot run the op.

    Raises:
        UnsupportedOpError: the options forbid host ops, or the host cannot run the op either. The message is that of
            ``reason`` or says why the host cannot.
        CompileError: the op communicates between several devices.
    """
    if not context.host_fallback or not _host_can_run(op) or _is_between_chips(context, op):
        if "failed to legalize" not in reason.message:
            raise context.reject(op, reason.message.rstrip(".")) from reason
        raise reason
    bits_of_f64 = op.operation.name == "stablehlo.bitcast_convert" and "f64" in str(op.operands[0].type)
    if bits_of_f64 and not on_host(context[op.operands[0]]):
        raise context.reject(op, "the chip holds f64 as f32, which has other bits")
    if op.operation.name in ("stablehlo.maximum", "stablehlo.minimum") and "complex" in str(op.operands[0].type):
        raise context.reject(op, "XLA's order of complex numbers differs from StableHLO's")
    module, captured = outline.outline(op, context.module.functions)
    for inner in outline.walk(module.operation):
        if _is_between_chips(context, inner):
            raise context.reject(op, f"it contains a {inner.operation.name}, which the host cannot run for the chips")
        check_group_sizes(inner)
        if _ends_the_process(inner):
            raise context.reject(op, f"XLA's CPU client ends the process at {inner.operation.name} of such elements")
    if unknown := _unregistered(module):
        raise context.reject(op, f"'{unknown}' is an op of no known dialect")
    operands = [context[value] for value in captured]
    keeps_64_bits = (
        op.operation.name in _64_BIT_PRODUCERS
        or _widens(op)
        or any(
            DATA_TYPES[tensor_type(context[value]).element_type] in _64_BIT_TYPES for value in (*op.operands, *captured)
        )
    )
    draws = any(inner.operation.name == DRAW for inner in outline.walk(module.operation))
    location = describe(context.location)
    host_call = HostCallOp.make(
        [operands],
        [_result_type(result.type, keeps_64_bits=keeps_64_bits) for result in op.results],
        context.location,
        module=module_text(module),
        ops=(f"{op.operation.name} at {location}" if location else op.operation.name,),
        input_types=tuple(str(value.type.element_type) for value in captured),
        output_types=tuple(str(result.type.element_type) for result in op.results),
        effects=draws or None,
    )
    context.block.add_op(host_call)
    return host_call.results


def _is_between_chips(context: ImportContext, op: Any) -> bool:
    """Whether an op is one that several chips of the mesh compute together, or that differs between them."""
    return context.module.mesh is not None and op.operation.name in (*COLLECTIVES, *POSITIONS)


def _ends_the_process(op: Any) -> bool:
    """Whether XLA's CPU client writes beside its memory, or has no code, so that the process would end."""
    types = [str(value.type) for value in op.operands]
    if op.operation.name == "stablehlo.remainder":
        return "complex" in types[0]
    if op.operation.name in COLLECTIVES:
        return any(text.endswith(("i2>", "i4>")) for text in types)
    return op.operation.name in ("stablehlo.sort", "chlo.top_k") and any(text.endswith("i2>") for text in types)


def is_callback(op: Any) -> bool:
    """Whether an op calls a Python function of this process; see :mod:`tt_xla.callbacks`."""
    return op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value == callbacks.TARGET


def call_back(context: ImportContext, op: Any) -> Sequence[SSAValue]:
    """Emits ``ttir.host_callback`` for a call of a Python function, and returns its results.

    Token operands are left out, and each token result is a new one, because tokens carry no data.
    """
    operands = [value for value in op.operands if str(value.type) != TOKEN]
    results = [value for value in op.results if str(value.type) != TOKEN]
    callback_op = HostCallbackOp.make(
        [[context[value] for value in operands]],
        [convert_type(value.type) for value in results],
        context.location,
        callback=op.attributes["backend_config"].value,
        input_types=tuple(str(value.type.element_type) for value in operands),
        output_types=tuple(str(value.type.element_type) for value in results),
    )
    context.block.add_op(callback_op)
    context.values.all_on_chip &= not any(on_host(value) for value in callback_op.results)
    values = iter(callback_op.results)
    return [new_token(context) if str(value.type) == TOKEN else next(values) for value in op.results]


def new_token(context: ImportContext) -> SSAValue:
    """Emits the integer scalar that a token becomes."""
    type_ = tensor((), si32)
    return context.emit(ConstantOp, [], type_, value=elements(0, type_))


def _widens(op: Any) -> bool:
    """Whether an op converts from ui32, which needs all 32 bits, so that a 64-bit result must keep its width."""
    return op.operation.name == "stablehlo.convert" and str(op.operands[0].type.element_type) == "ui32"


def _host_can_run(op: Any) -> bool:
    """Whether an op has results, and all operands and results are tensors of static shape."""
    values = [*op.operands, *op.results]
    return all(getattr(value.type, "has_static_shape", False) for value in values) and bool(len(op.results))


def _unregistered(module: Any) -> str:
    """Returns the name of an op that no dialect registers, or an empty string.

    The parser accepts such ops, because modules may contain attributes and ops of unknown dialects.
    """
    names: list[str] = []

    def visit(op: Any) -> ir.WalkResult:
        if not module.context.is_registered_operation(op.name):
            names.append(op.name)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return "".join(names)


def _result_type(type_: Any, *, keeps_64_bits: bool) -> Tensor:
    """Returns the TTIR type of a host call's result: 64-bit elements keep their width, or take the chip's type."""
    return host_type(type_) if keeps_64_bits else convert_type(type_)
