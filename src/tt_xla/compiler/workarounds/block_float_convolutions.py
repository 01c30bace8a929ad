"""Workaround: TT-NN cannot prepare a convolution's weights or bias as block floats for an input in DRAM.

To find out how to cut the input, TT-NN describes a row-major tensor of the weights' type, which block floats do not
have. ttnn 0.81.1: ``TT_FATAL: Only TILE layout is supported for BFLOAT8_B dtype``. It accepts weights that were
prepared as bfloat16 and converted afterwards, and a bias of the weights' type; a bias of another type counts as not
prepared.
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
    """Returns the block float type that the weights are to have, or None for other types."""
    dtype: Any = dict(op.conv2d_config or ()).get("weights_dtype")
    return DataType(dtype) if dtype is not None and DataType(dtype).is_block_float else None


@pattern(PrepareConv2dWeightsOp, PrepareConvTranspose2dWeightsOp)
def converted_after_preparation(
    op: PrepareConv2dWeightsOp | PrepareConvTranspose2dWeightsOp, rewriter: PatternRewriter
) -> None:
    """Rewrites a preparation as block floats to a preparation as bfloat16 and a conversion."""
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
    """Converts the prepared bias of a convolution with block-float weights to the weights' type."""
    dtype = _weights_dtype(op)
    if dtype is None or op.bias is None or not layout_of(op.bias).tiled or layout_of(op.bias).dtype is dtype:
        return
    type_ = laid_out(shape(op.bias), layout_of(op.bias).retyped(dtype))
    cast = insert_before(rewriter, op, TypecastOp, [op.bias], type_)
    op.operands[list(op.operands).index(op.bias)] = cast
    rewriter.notify_op_modified(op)


PATTERNS = (converted_after_preparation, bias_as_weights)
