"""Converter of collectives between the ranks of ``torch.distributed``."""

from __future__ import annotations

from typing import Any

import msgspec
from xdsl.ir import SSAValue

from tt_xla.compiler.locations import describe
from tt_xla.compiler.stablehlo.context import ImportContext
from tt_xla.errors import CompileError
from tt_xla.ir.ranks import TARGET, RankCollective
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttir.ranks import RankCollectiveOp


def is_rank_collective(op: Any) -> bool:
    """Whether an op exchanges tensors with other ranks; see :mod:`tt_xla.ir.ranks`."""
    return op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value == TARGET


def rank_collective(context: ImportContext, op: Any) -> SSAValue:
    """Emits ``ttir.rank_collective`` for a custom call, and returns its result.

    Raises:
        CompileError: the program is for several chips.
    """
    if context.module.mesh is not None:
        raise CompileError(
            "The program is for several chips and exchanges tensors with ranks of torch.distributed, which have one "
            "chip each.",
            location=describe(context.location),
            hint="Use either a process group or shardings over the chips of one process.",
        )
    call = msgspec.json.decode(op.attributes["backend_config"].value, type=RankCollective)
    optional: dict[str, Any] = {}
    if call.chips is not None:
        optional["chips"] = call.chips
    if call.reduction:
        optional["reduce_type"] = ReduceType(call.reduction)
    if call.kind == "broadcast":
        optional["root"] = call.root
    optional |= {name: sizes for name in ("sent", "received") if (sizes := getattr(call, name))}
    return context.emit(
        RankCollectiveOp,
        [context[op.operands[0]]],
        context.result_type(op),
        kind=call.kind,
        process_group=call.process_group,
        ranks=call.ranks,
        element_type=str(op.operands[0].type.element_type),
        **optional,
    )
