"""Custom calls in StableHLO modules that JAX is lowering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def custom_call(
    target: str,
    result_types: Sequence[Any],
    operands: Sequence[Any],
    *,
    backend_config: str,
    has_side_effect: bool = False,
) -> list[Any]:
    """Inserts a ``stablehlo.custom_call`` at the current insertion point.

    Args:
        target: value of attribute ``call_target_name``.
        result_types: MLIR types of the results.
        operands: MLIR values.
        backend_config: text that the importer of the call reads.
        has_side_effect: keeps compilers from removing, merging or reordering the call.

    Returns:
        The results, as MLIR values.
    """
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    call: Any = stablehlo.CustomCallOp.build_generic(
        results=list(result_types),
        operands=list(operands),
        attributes={
            "call_target_name": ir.StringAttr.get(target),
            "has_side_effect": ir.BoolAttr.get(has_side_effect),
            "backend_config": ir.StringAttr.get(backend_config),
            "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 2),
            "called_computations": ir.ArrayAttr.get([]),
        },
    )
    return list(call.results)
