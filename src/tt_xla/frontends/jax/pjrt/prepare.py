"""Prepares modules from JAX for the compiler: tokens among the arguments and results become arrays."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

TOKEN = "!stablehlo.token"


def replace_tokens(module: ir.Module) -> None:
    """Turns each token that ``main`` takes or returns into an empty array, because JAX passes tokens as such arrays."""
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
