"""Makes the op classes of the elementwise ops of :mod:`tt_xla.ir.op_table`."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from tt_xla.ir.base import TTOp


def define(name: str, base: type[TTOp], meaning: str) -> type[TTOp]:
    """Returns the op class of a row, named as a written class would be: ``logical_not`` gives ``LogicalNotOp``."""
    mnemonic = name.partition(".")[2]
    class_name = "".join(part.capitalize() for part in mnemonic.split("_")) + "Op"
    fields = {"name": name, "__doc__": f"{meaning}.", "__module__": __name__}
    return irdl_op_definition(type(class_name, (base,), fields))
