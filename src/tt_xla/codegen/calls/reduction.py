"""Calls for reductions, softmax and normalisation."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import Op, calls, compute_config, without_none
from tt_xla.codegen.expressions import Call, Expression


@calls("ttnn.sum", "ttnn.mean", "ttnn.max", "ttnn.min")
def reduce(op: Op) -> Call:
    """Returns a reduction. Without ``dim`` it covers all dimensions, in the Program as in TT-NN."""
    keywords: dict[str, Expression] = without_none(dim=op.get("dim_arg"))
    keywords |= {"keepdim": op.get("keep_dim")}
    config = compute_config(op.get("compute_config"))
    keywords |= without_none(memory_config=op.memory, compute_kernel_config=config)
    return Call(op.instruction.op, (op["input"],), keywords)


@calls("ttnn.prod")
def prod(op: Op) -> Call:
    """Returns a product along one dimension or all of them; the lowering splits products over several."""
    keywords: dict[str, Expression] = without_none(dim=op.get("dim_arg")) | {"keepdim": op.get("keep_dim")}
    return Call("ttnn.prod", (op["input"],), keywords | without_none(memory_config=op.memory))


@calls("ttnn.argmax")
def argmax(op: Op) -> Call:
    keywords = without_none(dim=op.get("dim")) | {"keepdim": op.get("keep_dim")}
    return Call("ttnn.argmax", (op["input"],), keywords | without_none(memory_config=op.memory))


@calls("ttnn.cumsum")
def cumsum(op: Op) -> Call:
    converts = op.result.layout.dtype != op.spec("input").layout.dtype
    keywords = without_none(dtype=op.dtype if converts else None, memory_config=op.memory)
    return Call("ttnn.cumsum", (op["input"], op.get("dim")), keywords)


@calls("ttnn.softmax")
def softmax(op: Op) -> Call:
    config = compute_config(op.get("compute_config"))
    keywords = without_none(memory_config=op.memory, compute_kernel_config=config)
    stable = {"numeric_stable": op.get("numericStable")}
    return Call("ttnn.softmax", (op["input"], op.get("dimension")), keywords | stable)


@calls("ttnn.layer_norm_pre_all_gather", "ttnn.rms_norm_pre_all_gather")
def statistics(op: Op) -> Call:
    config = compute_config(op.get("compute_config"))
    keywords = without_none(memory_config=op.memory, compute_kernel_config=config)
    return Call(op.instruction.op, (op["input"],), {"dtype": op.dtype} | keywords)


@calls("ttnn.layer_norm", "ttnn.rms_norm", "ttnn.layer_norm_post_all_gather", "ttnn.rms_norm_post_all_gather")
def normalise(op: Op) -> Call:
    operands = [operand for operand in (op["input"], op["stats"]) if operand is not None]
    keywords: dict[str, Expression] = {"epsilon": op.get("epsilon")}
    keywords |= without_none(
        weight=op["weight"],
        bias=op["bias"],
        memory_config=op.memory,
        compute_kernel_config=compute_config(op.get("compute_config")),
    )
    return Call(op.instruction.op, tuple(operands), keywords)
