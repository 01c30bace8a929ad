"""Lowerings of attention and of splitting and joining heads."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers
from tt_xla.ir.base import DATA_TYPES, shape, tensor_type
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.ttir import attention as source
from tt_xla.ir.ttnn import BINARY_OPS
from tt_xla.ir.ttnn import attention as target
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.memory import FullOp


@lowers(source.ScaledDotProductAttentionOp)
def scaled_dot_product_attention(lowering: Lowering, op: source.ScaledDotProductAttentionOp) -> SSAValue:
    """Lowers attention; all operands are tiles. TT-NN scales sinks like the scores, so they are divided first."""
    sources = (op.query, op.key, op.value_, op.attention_mask, op.attention_sink)
    operands = [None if value is None else lowering.tiled(value) for value in sources]
    if operands[4] is not None:
        scale = shape(op.query)[-1] ** -0.5 if op.scale is None else op.scale
        dtype = layout_of(operands[4]).dtype
        factor = lowering.emit(FullOp, [lowering.device], (1,), dtype, shape=(1,), fill_value=1 / scale)
        operands[4] = lowering.emit(BINARY_OPS["multiply"], [operands[4], factor], shape(operands[4]), dtype)
    values = {name: op.value(name) for name in ("is_causal", "scale", "sliding_window_size")}
    return lowering.emit(target.ScaledDotProductAttentionOp, operands, *lowering.result(op), **values)


@lowers(source.ScaledDotProductAttentionDecodeOp)
def scaled_dot_product_attention_decode(lowering: Lowering, op: source.ScaledDotProductAttentionDecodeOp) -> SSAValue:
    """Lowers attention of one position for each sequence; positions are row-major."""
    tiled = [
        None if value is None else lowering.tiled(value) for value in (op.query, op.key, op.value_, op.attention_mask)
    ]
    positions = None if op.cur_pos_tensor is None else lowering.row_major(op.cur_pos_tensor, DataType.SI32)
    sink = None if op.attention_sink is None else lowering.tiled(op.attention_sink)
    values = {name: op.value(name) for name in ("is_causal", "scale")}
    return lowering.emit(
        target.ScaledDotProductAttentionDecodeOp, [*tiled, positions, sink], *lowering.result(op), **values
    )


@lowers(source.ConcatenateHeadsOp)
def concatenate_heads(lowering: Lowering, op: source.ConcatenateHeadsOp) -> SSAValue:
    """Lowers the joining of heads."""
    return lowering.emit(target.ConcatenateHeadsOp, [lowering.tiled(op.input)], *lowering.result(op))


@lowers(source.SplitQueryKeyValueAndSplitHeadsOp)
def split_heads(lowering: Lowering, op: source.SplitQueryKeyValueAndSplitHeadsOp) -> Sequence[SSAValue]:
    """Lowers the split of a projection into query, key and value heads."""
    sources = (op.input_tensor, op.kv_input_tensor)
    types = [
        laid_out(shape(value), TensorLayout.of(shape(value), DATA_TYPES[tensor_type(value).element_type]))
        for value in op.results
    ]
    split = target.SplitQueryKeyValueAndSplitHeadsOp.make(
        [None if value is None else lowering.tiled(value) for value in sources], types, lowering.location, **op.values()
    )
    lowering.block.add_op(split)
    return split.results
