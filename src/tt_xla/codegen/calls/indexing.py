"""Ops that put elements by position, and those that find positions."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import Op, calls, given
from tt_xla.codegen.expressions import Call

_REDUCTIONS = {"invalid": None, "sum": "add", "prod": "multiply"}


@calls("ttnn.scatter")
def scatter(op: Op) -> Call:
    keywords = given(reduce=_REDUCTIONS[op.get("scatter_reduce_type")], memory_config=op.memory)
    return Call("ttnn.scatter", (op["input"], op.get("dim"), op["index"], op["source"]), keywords)
