"""Reductions, softmax and normalisation."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import Op, calls, compute_config, given
from tt_xla.codegen.expressions import Call, Expression


@calls("ttnn.sum", "ttnn.mean", "ttnn.max", "ttnn.min")
def reduce(op: Op) -> Call:
    """``dim`` absent means all dimensions, in the Program as in TT-NN."""
    keywords: dict[str, Expression] = given(dim=op.get("dim_arg"))
    keywords |= {"keepdim": op.get("keep_dim")}
    config = compute_config(op.get("compute_config"))
    keywords |= given(memory_config=op.memory, compute_kernel_config=config)
    return Call(op.instruction.op, (op["input"],), keywords)


@calls("ttnn.prod")
def prod(op: Op) -> Call:
    """Along one dimension; the lowering splits a product over several."""
    dims = op.get("dim_arg")
    dim = {"dim": dims[0]} if dims else {}
    return Call("ttnn.prod", (op["input"],), dim | {"keepdim": op.get("keep_dim")} | given(memory_config=op.memory))


@calls("ttnn.argmax")
def argmax(op: Op) -> Call:
    keywords = given(dim=op.get("dim")) | {"keepdim": op.get("keep_dim")}
    return Call("ttnn.argmax", (op["input"],), keywords | given(memory_config=op.memory))


@calls("ttnn.cumsum")
def cumsum(op: Op) -> Call:
    converts = op.result.layout.dtype != op.spec("input").layout.dtype
    keywords = given(dtype=op.dtype if converts else None, memory_config=op.memory)
    return Call("ttnn.cumsum", (op["input"], op.get("dim")), keywords)


@calls("ttnn.softmax")
def softmax(op: Op) -> Call:
    config = compute_config(op.get("compute_config"))
    keywords = given(memory_config=op.memory, compute_kernel_config=config)
    stable = {"numeric_stable": op.get("numericStable")}
    return Call("ttnn.softmax", (op["input"], op.get("dimension")), keywords | stable)


@calls("ttnn.layer_norm", "ttnn.rms_norm")
def normalise(op: Op) -> Call:
    keywords: dict[str, Expression] = {"epsilon": op.get("epsilon")}
    keywords |= given(
        weight=op["weight"],
        bias=op["bias"],
        memory_config=op.memory,
        compute_kernel_config=compute_config(op.get("compute_config")),
    )
    return Call(op.instruction.op, (op["input"],), keywords)
