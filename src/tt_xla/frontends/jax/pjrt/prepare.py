"""What a module from JAX says beside its computation: placements, and shardings over the one device."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from tt_xla.frontends.jax.parameters import MARK

_ANNOTATIONS = ("annotate_device_placement", "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", MARK)


def remove_annotations(module: ir.Module) -> None:
    """Replaces ops that say something about a value by the value.

    There is one device, which reaches both memories; what was marked becomes the role of the argument.
    """
    found: list[Any] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "sdy.sharding_constraint" or (op.name == "stablehlo.custom_call" and _target(op) in _ANNOTATIONS):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    _set_roles(module, [op for op in found if op.name == "stablehlo.custom_call" and _target(op) == MARK])
    for op in found:
        for result, operand in zip(op.results, op.operands, strict=True):
            result.replace_all_uses_with(operand)
        op.erase()


def _set_roles(module: ir.Module, marks: list[Any]) -> None:
    """Makes the marked arguments of ``main`` parameters, by the names that they were marked with."""
    main = next((op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == "main"), None)
    if main is None or not marks:
        return
    block = main.regions[0].blocks[0]
    names: dict[int, str] = {}
    for op in marks:
        operand = op.operands[0]
        if isinstance(operand.owner, ir.Block) and operand.owner == block:
            names[ir.BlockArgument(operand).arg_number] = str(op.attributes["backend_config"].value)
    module.context.allow_unregistered_dialects = True
    with module.context:
        given = list(main.arg_attrs) if "arg_attrs" in main.attributes else [ir.DictAttr.get()] * len(block.arguments)
        for number, name in names.items():
            attributes = {item.name: item.attr for item in given[number]}
            attributes["ttcore.argument_type"] = ir.StringAttr.get("parameter")
            attributes["ttir.name"] = ir.StringAttr.get(name)
            given[number] = ir.DictAttr.get(attributes)
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(given)


def _target(op: ir.Operation) -> str:
    return str(op.attributes["call_target_name"].value)
