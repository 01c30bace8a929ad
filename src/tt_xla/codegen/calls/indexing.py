"""Calls for ops that write elements by index, and for ops that return indices."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import MEMORY, Op, calls, row, without_none
from tt_xla.codegen.expressions import Call
from tt_xla.ir.op_table import SCATTER_REDUCTIONS


@calls("ttnn.scatter")
def scatter(op: Op) -> Call:
    keywords = without_none(reduce=SCATTER_REDUCTIONS[op.get("scatter_reduce_type")], memory_config=op.memory)
    return Call("ttnn.scatter", (op["input"], op.get("dim"), op["index"], op["source"]), keywords)


row("ttnn.sort", "input", dim="dim", descending="descending", stable="stable", **MEMORY)
# Stable in compiled programs: the first of equal elements wins, as in StableHLO and JAX.
row("ttnn.topk", "input_tensor", "k", dim="dim", largest="largest", sorted="sorted", stable="stable", **MEMORY)
