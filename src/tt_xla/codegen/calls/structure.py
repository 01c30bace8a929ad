"""Ops that move elements."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import Op, calls, given
from tt_xla.codegen.expressions import Call, Expression


@calls("ttnn.reshape")
def reshape(op: Op) -> Call:
    """TT-NN reshapes a row-major scalar in place alone."""
    source = op.spec("input")
    if not source.shape and not source.layout.tiled:
        return moved(op, Call("ttnn.reshape", (op["input"], op.get("shape"))), "input")
    return Call("ttnn.reshape", (op["input"], op.get("shape")), given(memory_config=op.memory))


@calls("ttnn.permute")
def permute(op: Op) -> Call:
    return Call("ttnn.permute", (op["input"], op.get("permutation")), given(memory_config=op.memory))


@calls("ttnn.repeat")
def repeat(op: Op) -> Call:
    return Call("ttnn.repeat", (op["input"], op.get("repeat_dims")), given(memory_config=op.memory))


@calls("ttnn.concat")
def concat(op: Op) -> Call:
    return Call("ttnn.concat", (op["inputs"], op.get("dim")), given(memory_config=op.memory))


@calls("ttnn.slice_static")
def slice_static(op: Op) -> Call:
    bounds = tuple(op.get(name) for name in ("begins", "ends", "step"))
    return Call("ttnn.slice", (op["input"], *bounds), given(memory_config=op.memory))


@calls("ttnn.pad")
def pad(op: Op) -> Call:
    """The Program's padding is low, high of each dimension in one list."""
    padding: tuple[int, ...] = op.get("padding")
    pairs = tuple(zip(padding[::2], padding[1::2], strict=True))
    keywords: dict[str, Expression] = {"use_multicore": op.get("use_multicore")}
    call = Call("ttnn.pad", (op["input"], pairs, op.get("value")), keywords | given(memory_config=op.memory))
    return moved(op, call, "input")


@calls("ttnn.embedding")
def embedding(op: Op) -> Call:
    keywords = given(layout=op.layout, dtype=op.dtype, memory_config=op.memory)
    return Call("ttnn.embedding", (op["input"], op["weight"]), keywords)


@calls("ttnn.gather")
def gather(op: Op) -> Call:
    call = Call("ttnn.gather", (op["input"], op.get("dim"), op["index"]), given(memory_config=op.memory))
    return moved(op, call, "input", "index")


def moved(op: Op, call: Call, *names: str) -> Call:
    """A call whose result stays, for some shapes, in the memory of one of these operands whatever is asked for."""
    if all(op.memory_of(name) == op.memory for name in names):
        return call
    return Call("ttnn.to_memory_config", (call, op.memory))
