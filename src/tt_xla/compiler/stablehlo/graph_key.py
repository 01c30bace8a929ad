"""The key of a StableHLO module, by which generated source of the same graph is found again."""

from __future__ import annotations

import hashlib
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.mlir_context import copy_of
from tt_xla.compiler.stablehlo.parse import print_vhlo
from tt_xla.compiler.stablehlo.signature import attribute_names, entry_function
from tt_xla.ir.program import GraphKey

_SHARDINGS = ("mhlo.sharding", "sdy.sharding")
"""Attributes of arguments and results that are part of the graph; all others describe it, such as names and roles."""


def graph_key(module: Any) -> GraphKey:
    """Returns the key of a module.

    Modules have the same key if they differ only in locations, in names and roles of arguments, in the names of the
    module and its entry function, or in arguments that nothing reads. The hash is made as upstream's: the first eight
    bytes of the SHA-256 of the text.

    Args:
        module: a StableHLO module of ``jaxlib.mlir``, which is left unchanged.
    """
    with module.context, ir.Location.unknown():
        copy = copy_of(module, locations=False)
        entry = entry_function(copy)
        block = entry.regions[0].blocks[0]
        used = tuple(position for position, argument in enumerate(block.arguments) if list(argument.uses))
        for name in ("arg_attrs", "res_attrs"):
            if name in entry.attributes:
                kept = used if name == "arg_attrs" else range(len(entry.attributes[name]))
                shardings = [_shardings(entry.attributes[name][position]) for position in kept]
                entry.attributes[name] = ir.ArrayAttr.get(shardings)
        types, results = [block.arguments[position].type for position in used], entry.type.results
        for position in reversed(range(len(block.arguments))):
            if position not in used:
                block.erase_argument(position)
        entry.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, results))
        entry.attributes["sym_name"] = ir.StringAttr.get("main")
        for name in attribute_names(copy.operation):
            del copy.operation.attributes[name]
        text = print_vhlo(copy)  # JAX passes modules in this form, in which constants come first
    return GraphKey(hashlib.sha256(text.encode()).hexdigest()[:16], used)


def _shardings(attributes: Any) -> Any:
    """Returns the shardings among the attributes of an argument or result."""
    return ir.DictAttr.get({item.name: item.attr for item in attributes if item.name in _SHARDINGS})
