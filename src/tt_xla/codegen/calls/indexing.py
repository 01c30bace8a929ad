"""Calls for ops that write elements by index, and for ops that return indices."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import Op, calls, without_none
from tt_xla.codegen.expressions import Call, Expression
from tt_xla.ir.op_table import SCATTER_REDUCTIONS


@calls("ttnn.scatter")
def scatter(op: Op) -> Call:
    keywords = without_none(reduce=SCATTER_REDUCTIONS[op.get("scatter_reduce_type")], memory_config=op.memory)
    return Call("ttnn.scatter", (op["input"], op.get("dim"), op["index"], op["source"]), keywords)


@calls("ttnn.sort")
def sort(op: Op) -> Call:
    order: dict[str, Expression] = {name: op.get(name) for name in ("dim", "descending", "stable")}
    return Call("ttnn.sort", (op["input"],), order | without_none(memory_config=op.memory))


@calls("ttnn.topk")
def topk(op: Op) -> Call:
    """Returns a call that is stable in compiled programs: the first of equal elements wins, as in StableHLO and JAX."""
    order: dict[str, Expression] = {name: op.get(name) for name in ("dim", "largest", "sorted", "stable")}
    return Call("ttnn.topk", (op["input_tensor"], op.get("k")), order | without_none(memory_config=op.memory))
