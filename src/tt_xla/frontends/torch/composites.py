"""Attributes of composites in StableHLO, and the names of their decompositions."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir


def name_decompositions(module: ir.Module) -> None:
    """Gives the function that a composite ``name`` stands for the name that torch_xla gives it, ``name.impl``."""
    body: Any = module.body
    functions = {op.attributes["sym_name"].value: op for op in body.operations}

    def visit(op: Any) -> ir.WalkResult:
        if op.name == "stablehlo.composite":
            name = op.attributes["name"].value
            old = op.attributes["decomposition"].value
            new = f"{name}.impl{old.removeprefix(name)}"
            op.attributes["decomposition"] = ir.FlatSymbolRefAttr.get(new)
            functions[old].attributes["sym_name"] = ir.StringAttr.get(new)
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit)


def composite_attribute(value: Any) -> Any:
    """Returns an attribute of a composite in a type that JAX writes: f32 for floats, and dense elements for lists."""
    if isinstance(value, float):
        return np.float32(value)
    if not isinstance(value, list | tuple):
        return value
    array = np.asarray(value, None if value else np.int64)
    return array.astype(np.float32) if array.dtype == np.float64 else array


__all__ = ["composite_attribute", "name_decompositions"]
