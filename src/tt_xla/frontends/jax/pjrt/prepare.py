"""What a module from JAX says beside its computation: placements, and shardings over the one device."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

_ANNOTATIONS = ("annotate_device_placement", "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape")


def remove_annotations(module: ir.Module) -> None:
    """Replaces ops that say where a value stands by the value: there is one device, which reaches both memories."""
    found: list[Any] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "sdy.sharding_constraint" or (op.name == "stablehlo.custom_call" and _target(op) in _ANNOTATIONS):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for op in found:
        for result, operand in zip(op.results, op.operands, strict=True):
            result.replace_all_uses_with(operand)
        op.erase()


def _target(op: ir.Operation) -> str:
    return str(op.attributes["call_target_name"].value)
