"""Custom calls in StableHLO modules that JAX is lowering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def custom_call(
    target: str,
    result_types: Sequence[Any],
    operands: Sequence[Any],
    *,
    backend_config: str,
    has_side_effect: bool = False,
    api_version: int = 2,
    frontend_attributes: Mapping[str, str] | None = None,
) -> list[Any]:
    """Inserts a ``stablehlo.custom_call`` at the current insertion point.

    Args:
        target: value of attribute ``call_target_name``.
        result_types: MLIR types of the results.
        operands: MLIR values.
        backend_config: text that the importer of the call reads.
        has_side_effect: keeps compilers from removing, merging or reordering the call.
        api_version: number of the convention by which XLA would call the function.
        frontend_attributes: texts that XLA's passes read, by name.

    Returns:
        The results, as MLIR values.
    """
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    attributes: dict[str, Any] = {}
    if frontend_attributes:
        texts = {name: ir.StringAttr.get(text) for name, text in frontend_attributes.items()}
        attributes["mhlo.frontend_attributes"] = ir.DictAttr.get(texts)
    call: Any = stablehlo.CustomCallOp.build_generic(
        results=list(result_types),
        operands=list(operands),
        attributes={
            "call_target_name": ir.StringAttr.get(target),
            "has_side_effect": ir.BoolAttr.get(has_side_effect),
            "backend_config": ir.StringAttr.get(backend_config),
            "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), api_version),
            "called_computations": ir.ArrayAttr.get([]),
            **attributes,
        },
    )
    return list(call.results)
