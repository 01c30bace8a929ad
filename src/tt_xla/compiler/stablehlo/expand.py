"""Converters of ops that jaxlib's own passes turn into simpler ones, and of custom calls with a known meaning."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.passmanager import PassManager
from xdsl.ir import SSAValue

from tt_xla import callbacks
from tt_xla.compiler.mlir_context import copy_of
from tt_xla.compiler.stablehlo.annotations import check_sharding
from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.conversion import inline
from tt_xla.compiler.stablehlo.fallback import call_back
from tt_xla.compiler.stablehlo.outline import outline
from tt_xla.compiler.stablehlo.rank_collectives import is_rank_collective, rank_collective
from tt_xla.compiler.stablehlo.types import chip_type
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.program import ARGUMENT_MARK

_DYNAMIC = (
    "stablehlo.dynamic_broadcast_in_dim",
    "stablehlo.dynamic_conv",
    "stablehlo.dynamic_gather",
    "stablehlo.dynamic_iota",
    "stablehlo.dynamic_pad",
    "stablehlo.dynamic_reshape",
    "stablehlo.real_dynamic_slice",
)
_CHLO = (
    "chlo.bessel_i1e",
    "chlo.broadcast_add",
    "chlo.broadcast_and",
    "chlo.broadcast_atan2",
    "chlo.broadcast_compare",
    "chlo.broadcast_divide",
    "chlo.broadcast_maximum",
    "chlo.broadcast_minimum",
    "chlo.broadcast_multiply",
    "chlo.broadcast_next_after",
    "chlo.broadcast_or",
    "chlo.broadcast_polygamma",
    "chlo.broadcast_power",
    "chlo.broadcast_remainder",
    "chlo.broadcast_select",
    "chlo.broadcast_shift_left",
    "chlo.broadcast_shift_right_arithmetic",
    "chlo.broadcast_shift_right_logical",
    "chlo.broadcast_subtract",
    "chlo.broadcast_xor",
    "chlo.broadcast_zeta",
    "chlo.conj",
    "chlo.constant",
    "chlo.constant_like",
    "chlo.digamma",
    "chlo.erf_inv",
    "chlo.is_inf",
    "chlo.is_neg_inf",
    "chlo.is_pos_inf",
    "chlo.lgamma",
    "chlo.next_after",
    "chlo.polygamma",
    "chlo.zeta",
)
IDENTITIES = (
    "LayoutConstraint",
    "MoveToDevice",
    "MoveToHost",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "Sharding",
    ARGUMENT_MARK,
    "dce_sink",
    "tt.shard_alike",
    "tt.sharding_constraint",
    "annotate_device_placement",
    "xla.sdy.FuncResultSharding",
    "xla.sdy.GlobalToLocalShape",
    "xla.sdy.LocalToGlobalShape",
)
"""Targets of custom calls that return their operands: they only annotate where a tensor should be, that it should be
computed, or that it is a parameter."""


@cache
def register_passes() -> None:
    """Registers StableHLO's passes with MLIR, once in a process."""
    stablehlo.register_stablehlo_passes()


@converts(*_CHLO, *_DYNAMIC)
def expand(context: ImportContext, op: Any) -> Sequence[SSAValue]:
    """Replaces an op by the simpler ops that jaxlib's passes turn it into, and converts those in place."""
    for index in range(len(op.results)):
        chip_type(op.results[index].type)
    module, captured = outline(op, context.module.functions)
    register_passes()
    with module.context:
        PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo,stablehlo-canonicalize-dynamism))").run(
            module.operation
        )
    main = next(function for function in module.body.operations if function.name.value == "main")
    name = op.operation.name
    if any(inner.operation.name == name for inner in main.entry_block.operations):
        raise context.reject(op, "jaxlib has no simpler form for it")
    context.module.kept_modules.append(module)
    ir.SymbolTable.set_symbol_name(main, f"{name} {len(context.module.kept_modules)}")
    return inline(context, main, [context[value] for value in captured])


def refine(module: Any) -> Any:
    """Returns a copy of a module in which every shape that follows from the arguments' shapes is static.

    Raises:
        MalformedModuleError: the shapes contradict each other.
    """
    register_passes()
    with module.context, ir.Location.unknown():
        copy = copy_of(module)
        try:
            PassManager.parse(
                "builtin.module(inline,func.func(chlo-legalize-to-stablehlo),stablehlo-refine-shapes,"
                "func.func(stablehlo-canonicalize-dynamism))"
            ).run(copy.operation)
        except ir.MLIRError as error:
            raise MalformedModuleError(f"The shapes of the module cannot be inferred: {error}.") from error
    return copy


@converts("stablehlo.custom_call")
def custom_call(context: ImportContext, op: Any) -> Sequence[SSAValue]:
    target = op.attributes["call_target_name"].value
    if target in IDENTITIES:
        check_sharding(op)
        return context.operands(op)[: len(op.results)]
    if target == callbacks.TARGET:
        return call_back(context, op)
    if is_rank_collective(op.operation):
        return [rank_collective(context, op)]
    raise context.reject(op, f"tt-xla does not know its target '{target}'")


@converts("sdy.sharding_constraint")
def sharding_constraint(context: ImportContext, op: Any) -> Sequence[SSAValue]:
    """Drops the constraint, which keeps the tensor on the one device."""
    check_sharding(op)
    return context.operands(op)


@converts("sdy.sharding_group")
def sharding_group(context: ImportContext, op: Any) -> Sequence[SSAValue]:
    """Drops the request that tensors are split alike, as the one device has all of each."""
    return []
