"""Calls for ops that rearrange elements, write them by index, or return indices."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import MEMORY, Op, calls, row, without_none
from tt_xla.codegen.expressions import Call, Expression
from tt_xla.ir.op_table import SCATTER_REDUCTIONS


@calls("ttnn.reshape")
def reshape(op: Op) -> Call:
    """Returns a reshape. TT-NN reshapes a row-major scalar only within its memory."""
    source = op.spec("input")
    if not source.shape and not source.layout.tiled:
        return in_declared_memory(op, Call("ttnn.reshape", (op["input"], op.get("shape"))), "input")
    return Call("ttnn.reshape", (op["input"], op.get("shape")), without_none(memory_config=op.memory))


@calls("ttnn.pad")
def pad(op: Op) -> Call:
    """Returns a pad. The Program lists low and high padding of each dimension in turn; TT-NN takes pairs."""
    padding: tuple[int, ...] = op.get("padding")
    pairs = tuple(zip(padding[::2], padding[1::2], strict=True))
    keywords: dict[str, Expression] = {"use_multicore": op.get("use_multicore")}
    call = Call("ttnn.pad", (op["input"], pairs, op.get("value")), keywords | without_none(memory_config=op.memory))
    return in_declared_memory(op, call, "input")


@calls("ttnn.gather")
def gather(op: Op) -> Call:
    call = Call("ttnn.gather", (op["input"], op.get("dim"), op["index"]), without_none(memory_config=op.memory))
    return in_declared_memory(op, call, "input", "index")


def in_declared_memory(op: Op, call: Call, *names: str) -> Call:
    """Moves the result of a call to its declared memory, where TT-NN may leave it in the memory of an operand."""
    if all(op.memory_of(name) == op.memory for name in names):
        return call
    return Call("ttnn.to_memory_config", (call, op.memory))


@calls("ttnn.scatter")
def scatter(op: Op) -> Call:
    keywords = without_none(reduce=SCATTER_REDUCTIONS[op.get("scatter_reduce_type")], memory_config=op.memory)
    return Call("ttnn.scatter", (op["input"], op.get("dim"), op["index"], op["source"]), keywords)


row("ttnn.permute", "input", "permutation", **MEMORY)
row("ttnn.convert_to_hwc", "input", function="ttnn.experimental.convert_to_hwc", **MEMORY)
row("ttnn.repeat", "input", "repeat_dims", **MEMORY)
row("ttnn.concat", "inputs", "dim", **MEMORY)
row("ttnn.slice_static", "input", "begins", "ends", "step", function="ttnn.slice", **MEMORY)
row("ttnn.embedding", "input", "weight", layout="layout", dtype="dtype", **MEMORY)
row("ttnn.sort", "input", dim="dim", descending="descending", stable="stable", **MEMORY)
# Stable in compiled programs: the first of equal elements wins, as in StableHLO and JAX.
row("ttnn.topk", "input_tensor", "k", dim="dim", largest="largest", sorted="sorted", stable="stable", **MEMORY)
