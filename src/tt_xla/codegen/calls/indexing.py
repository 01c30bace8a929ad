"""Ops that put elements by position, and those that find positions."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import Op, calls, given
from tt_xla.codegen.expressions import Call, Expression

_REDUCTIONS = {"invalid": None, "sum": "add", "prod": "multiply"}


@calls("ttnn.scatter")
def scatter(op: Op) -> Call:
    keywords = given(reduce=_REDUCTIONS[op.get("scatter_reduce_type")], memory_config=op.memory)
    return Call("ttnn.scatter", (op["input"], op.get("dim"), op["index"], op["source"]), keywords)


@calls("ttnn.sort")
def sort(op: Op) -> Call:
    order: dict[str, Expression] = {name: op.get(name) for name in ("dim", "descending", "stable")}
    return Call("ttnn.sort", (op["input"],), order | given(memory_config=op.memory))


@calls("ttnn.topk")
def topk(op: Op) -> Call:
    """Of equal elements the first, as StableHLO and JAX have it."""
    order: dict[str, Expression] = {name: op.get(name) for name in ("dim", "largest", "sorted")}
    return Call(
        "ttnn.topk", (op["input_tensor"], op.get("k")), order | {"stable": True} | given(memory_config=op.memory)
    )
