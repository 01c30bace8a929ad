"""Attributes of the arguments of a module's ``main``: roles, names, donations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir

from tt_xla.host import unregistered_dialects
from tt_xla.ir.program import ALIASING, DONOR, WEIGHT_DTYPE

if TYPE_CHECKING:
    from tt_xla.frontends.torch.lowering import Argument


def annotate_arguments(module: ir.Module, arguments: Sequence[Argument], outputs: Sequence[tuple[str, Any]]) -> None:
    """Says of each argument of ``main`` what it is. The graph's first outputs are next contents of the written ones."""
    updates = iter(outputs)
    with unregistered_dialects(module.context):
        main = next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")
        attributes = []
        for existing, argument in zip(main.arg_attrs, arguments, strict=True):
            named = {attribute.name: attribute.attr for attribute in existing}
            named["ttcore.argument_type"] = ir.StringAttr.get(argument.role.value)
            named["ttir.name"] = ir.StringAttr.get(argument.name)
            kind, index = next(updates) if argument.written else ("", None)
            if argument.donated and kind == "result":
                named[ALIASING] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), index)
            elif argument.donated:
                named[DONOR] = ir.BoolAttr.get(True)
            if argument.weight_dtype:
                named[WEIGHT_DTYPE] = ir.StringAttr.get(argument.weight_dtype)
            attributes.append(ir.DictAttr.get(named))
        main.arg_attrs = ir.ArrayAttr.get(attributes)


__all__ = ["annotate_arguments"]
