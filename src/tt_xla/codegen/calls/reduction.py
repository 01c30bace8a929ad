"""Calls for reductions, softmax and normalisation."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import COMPUTE, MEMORY, Op, calls, row, without_none
from tt_xla.codegen.expressions import Call, Expression

for _name in ("sum", "mean", "max", "min"):  # without ``dim`` over all dimensions, in the Program as in TT-NN
    row(f"ttnn.{_name}", "input", dim="dim_arg", keepdim="keep_dim", **COMPUTE)
for _name in ("layer_norm_pre_all_gather", "rms_norm_pre_all_gather"):
    row(f"ttnn.{_name}", "input", dtype="dtype", **COMPUTE)
# Along one dimension or all of them; the lowering splits products over several.
row("ttnn.prod", "input", dim="dim_arg", keepdim="keep_dim", **MEMORY)
row("ttnn.argmax", "input", dim="dim", keepdim="keep_dim", **MEMORY)
row("ttnn.softmax", "input", "dimension", **COMPUTE, numeric_stable="numericStable")


@calls("ttnn.cumsum")
def cumsum(op: Op) -> Call:
    converts = op.result.layout.dtype != op.spec("input").layout.dtype
    keywords = without_none(dtype=op.dtype if converts else None, memory_config=op.memory)
    return Call("ttnn.cumsum", (op["input"], op.get("dim")), keywords)


@calls("ttnn.layer_norm", "ttnn.rms_norm", "ttnn.layer_norm_post_all_gather", "ttnn.rms_norm_post_all_gather")
def normalise(op: Op) -> Call:
    operands = [operand for operand in (op["input"], op["stats"]) if operand is not None]
    keywords: dict[str, Expression] = {"epsilon": op.get("epsilon")}
    keywords |= without_none(
        weight=op["weight"],
        bias=op["bias"],
        memory_config=op.memory,
        compute_kernel_config=op.compute,
    )
    return Call(op.instruction.op, tuple(operands), keywords)
