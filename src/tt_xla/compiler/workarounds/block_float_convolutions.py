"""Weights of a convolution cannot be prepared as block floats for an input in DRAM, nor its bias.

To find out how to cut the input TT-NN describes a row-major tensor of the weights' type, which block floats have not.
ttnn 0.81.1: ``TT_FATAL: Only TILE layout is supported for BFLOAT8_B dtype``. It takes what was prepared as bfloat16 and
converted afterwards, the bias in the type of the weights: in another one it counts as not prepared.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import insert_before, pattern, replace_with
from tt_xla.ir.base import shape
from tt_xla.ir.layout import DataType
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.configs import Conv2dConfigAttr
from tt_xla.ir.ttnn.memory import TypecastOp
from tt_xla.ir.ttnn.window import (
    Conv2dOp,
    ConvTranspose2dOp,
    PrepareConv2dWeightsOp,
    PrepareConvTranspose2dWeightsOp,
)

_Configured: TypeAlias = Conv2dOp | ConvTranspose2dOp | PrepareConv2dWeightsOp | PrepareConvTranspose2dWeightsOp


def _weights_dtype(op: _Configured) -> DataType | None:
    """The block float that the weights are to be in; None for other types."""
    found: Any = dict(op.conv2d_config or ()).get("weights_dtype")
    return DataType(found) if found is not None and DataType(found).is_block_float else None


@pattern(PrepareConv2dWeightsOp, PrepareConvTranspose2dWeightsOp)
def converted_after_preparation(
    op: PrepareConv2dWeightsOp | PrepareConvTranspose2dWeightsOp, rewriter: PatternRewriter
) -> None:
    """prepare(w) as block floats to prepare(w) as bfloat16, converted."""
    if _weights_dtype(op) is None:
        return
    result: SSAValue = op.results[0]
    config = Conv2dConfigAttr.of(**(dict(op.conv2d_config or ()) | {"weights_dtype": DataType.BF16}))
    type_ = laid_out(shape(result), layout_of(result).retyped(DataType.BF16))
    values = op.values() | {"conv2d_config": config}
    prepared = insert_before(rewriter, op, type(op), list(op.operands), type_, **values)
    replace_with(rewriter, op, TypecastOp, [prepared])


@pattern(Conv2dOp, ConvTranspose2dOp)
def bias_as_weights(op: Conv2dOp | ConvTranspose2dOp, rewriter: PatternRewriter) -> None:
    """The prepared bias of a convolution of block floats converted to their type."""
    dtype = _weights_dtype(op)
    if dtype is None or op.bias is None or not layout_of(op.bias).tiled or layout_of(op.bias).dtype is dtype:
        return
    type_ = laid_out(shape(op.bias), layout_of(op.bias).retyped(dtype))
    cast = insert_before(rewriter, op, TypecastOp, [op.bias], type_)
    op.operands[list(op.operands).index(op.bias)] = cast
    rewriter.notify_op_modified(op)


PATTERNS = (converted_after_preparation, bias_as_weights)
