"""Fusion of pads into the padding of the convolutions and poolings that read them.

Models spell padding as an op of its own where it differs by side (MobileNet, EfficientNet). TT-NN's convolutions and
poolings have one padding for each side.
"""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import pattern, producer, replace_with
from tt_xla.compiler.ttir.match import transposed
from tt_xla.ir import shapes
from tt_xla.ir.ttir.structure import PadOp, PermuteOp
from tt_xla.ir.ttir.window import AvgPool2dOp, Conv2dOp, MaxPool2dOp


@pattern(Conv2dOp)
def padded_conv(op: Conv2dOp, rewriter: PatternRewriter) -> None:
    """Rewrites conv2d(pad(x)) to conv2d(x), where the pad adds zeros to height and width only."""
    pad = producer(op.input, PadOp)
    if pad is None or pad.value_ != 0:
        return
    padding = _joined(op.padding, pad, op.dims[1:3])
    if padding is not None:
        values: dict[str, Any] = op.values() | {"padding": padding}
        replace_with(rewriter, op, Conv2dOp, [pad.input, op.weight, op.bias], **values)


@pattern(MaxPool2dOp, AvgPool2dOp)
def padded_pool(op: MaxPool2dOp | AvgPool2dOp, rewriter: PatternRewriter) -> None:
    """Rewrites pool(pad(x)) to pool(x), also with a permute in between.

    The pad adds minus infinity to height and width before a maximum, and zeros before a mean that counts its padding.
    """
    operand: SSAValue = op.operands[0]
    permute = producer(operand, PermuteOp)
    order = tuple(range(4)) if permute is None else permute.permutation
    pad = producer(operand if permute is None else permute.input, PadOp)
    if pad is None:
        return
    is_mean = isinstance(op, AvgPool2dOp)
    if op.ceil_mode or pad.value_ != (0.0 if is_mean else -math.inf) or (is_mean and not op.count_include_pad):
        return
    padding = _joined(op.padding, pad, order[1:3])
    if padding is not None:
        values: dict[str, Any] = op.values() | {"padding": padding}
        replace_with(rewriter, op, type(op), [transposed(rewriter, op, pad.input, order)], **values)


def _joined(padding: int | tuple[int, ...], pad: PadOp, positions: tuple[int, ...]) -> tuple[int, ...] | None:
    """Returns a window's padding (top, left, bottom, right) with that of a pad.

    Args:
        padding: the window's own padding.
        pad: the pad.
        positions: dimensions of height and width of the pad's operand.

    Returns:
        None if the pad also changes other dimensions, or cuts elements off.
    """
    amounts = list(zip(pad.padding[::2], pad.padding[1::2], strict=True))
    if min(pad.padding) < 0 or any(low or high for dim, (low, high) in enumerate(amounts) if dim not in positions):
        return None
    (top, bottom), (left, right) = (amounts[dim] for dim in positions)
    return tuple(map(sum, zip(shapes.borders(padding), (top, left, bottom, right), strict=True)))


PATTERNS = (padded_conv, padded_pool)
