"""Convolutions with a bias."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import both_ways, look_through, pattern, producer, replace_with
from tt_xla.compiler.ttir.match import Add, reshaped
from tt_xla.ir.base import only_user, shape
from tt_xla.ir.ttir.structure import BroadcastOp
from tt_xla.ir.ttir.window import Conv2dOp


@pattern(Add)
def conv_with_bias(op: Operation, rewriter: PatternRewriter) -> None:
    """conv2d(x) + bias, the bias one value a channel."""
    for product, other in both_ways(op):
        conv = producer(product, Conv2dOp)
        if conv is None or conv.bias is not None or only_user(product) is not op:
            continue
        bias, channel = look_through(other, BroadcastOp), conv.value("channel_dim")
        sizes = (1,) * (4 - len(shape(bias))) + shape(bias)
        channels = shape(product)[channel]
        if sizes != tuple(channels if dim == channel else 1 for dim in range(4)):
            continue
        row = reshaped(rewriter, op, bias, (1, 1, 1, channels))
        replace_with(rewriter, op, Conv2dOp, [conv.input, conv.weight, row], **conv.values())
        return


PATTERNS = (conv_with_bias,)
