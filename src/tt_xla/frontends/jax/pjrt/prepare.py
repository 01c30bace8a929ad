"""What a module from JAX says beside its computation: placements, and shardings over the one device."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from tt_xla.frontends.jax.parameters import MARK

TOKEN = "!stablehlo.token"
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


def replace_tokens(module: ir.Module) -> None:
    """Makes tokens that ``main`` takes and returns arrays of no elements, as which JAX passes them."""
    main: Any = _main(module)
    if main is None or not any(str(type_) == TOKEN for type_ in (*main.type.inputs, *main.type.results)):
        return
    block = main.regions[0].blocks[0]
    with module.context, ir.Location.unknown():
        dummy = ir.RankedTensorType.get([0], ir.IntegerType.get_signless(1))
        with ir.InsertionPoint.at_block_begin(block):
            for argument in block.arguments:
                if str(argument.type) == TOKEN:
                    argument.replace_all_uses_with(stablehlo.create_token())
                    argument.set_type(dummy)
        end = list(block.operations)[-1].operation
        with ir.InsertionPoint(end):
            for index, value in enumerate(end.operands):
                if str(value.type) == TOKEN:
                    empty = ir.Attribute.parse(f"dense<> : {dummy}")
                    end.operands[index] = stablehlo.constant(empty)
        types = [dummy if str(type_) == TOKEN else type_ for type_ in main.type.results]
        main.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get([argument.type for argument in block.arguments], types)
        )


def _main(module: ir.Module) -> Any:
    functions = module.body.operations
    return next((op for op in functions if ir.StringAttr(op.attributes["sym_name"]).value == "main"), None)


def _set_roles(module: ir.Module, marks: list[Any]) -> None:
    """Makes the marked arguments of ``main`` parameters, by the names that they were marked with."""
    main: Any = _main(module)
    if main is None or not marks:
        return
    block = main.regions[0].blocks[0]
    names: dict[int, str] = {}
    for op in marks:
        operand = op.operands[0]
        if isinstance(operand.owner, ir.Block) and operand.owner == block:
            name, number = str(op.attributes["backend_config"].value), ir.BlockArgument(operand).arg_number
            if number not in names:
                # Two layers that were marked one by one may say the same name.
                names[number] = f"{name}.{number}" if name in names.values() else name
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
