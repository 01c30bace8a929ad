"""Fusion of convolutions with a bias, with scales by channel, and with other convolutions of the same input.

A batch norm at inference is a product and a sum by channel. Where weights are parameters, both are folded into them,
and const-eval computes that once. Weights keep their element type, so scaled weights are rounded a second time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.rewriting import both_ways, insert_before, look_through, pattern, producer
from tt_xla.compiler.ttir.match import BINARY, UNARY, Add, Div, Multiply, Subtract, cast, reshaped, skip_ops
from tt_xla.ir import shapes
from tt_xla.ir.base import TTOp, only_user, shape, tensor, tensor_type
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.creation import ArangeOp
from tt_xla.ir.ttir.structure import BroadcastOp, PadOp, ReshapeOp, TypecastOp
from tt_xla.ir.ttir.window import Conv2dOp, ConvTranspose2dOp


class _Convolution(NamedTuple):
    """A convolution that ``op`` alone uses, behind a cast and a reshape that drops its height of 1."""

    conv: Conv2dOp | ConvTranspose2dOp
    value: SSAValue
    """The operand of ``op``."""
    channel: int
    """Position of the channels among the dimensions of ``value``."""

    @property
    def outputs(self) -> int:
        """Number of output channels."""
        return shape(self.conv.result)[self.conv.channel_dim]


def _convolution(op: Operation, value: SSAValue) -> _Convolution | None:
    """Returns the convolution that an operand of ``op`` comes from, or None."""
    source = skip_ops(value, TypecastOp, ReshapeOp)
    conv = producer(source, Conv2dOp) or producer(source, ConvTranspose2dOp)
    if conv is None or not _used_by_one(op, value, source):
        return None
    channel, height, full = conv.channel_dim, conv.height_dim, shape(source)
    if shape(value) == full:
        return _Convolution(conv, value, channel)
    if full[height] == 1 and shape(value) == full[:height] + full[height + 1 :]:
        return _Convolution(conv, value, channel - (channel > height))
    return None


def _used_by_one(op: Operation, value: SSAValue, source: SSAValue) -> bool:
    """Returns whether only ``op`` depends on ``value`` and on the values between it and ``source``."""
    user = op
    while True:
        if only_user(value) is not user:
            return False
        if value is source:
            return True
        assert isinstance(value.owner, Operation)
        user, value = value.owner, value.owner.operands[0]


def _by_channel(value: SSAValue, convolution: _Convolution, *, scalar: bool) -> SSAValue | None:
    """Returns a value with one element per channel, or with ``scalar`` one for all, before its broadcast; else None."""
    source, rank = look_through(value, BroadcastOp), len(shape(convolution.value))
    sizes = (1,) * (rank - len(shape(source))) + shape(source)
    channels = tuple(convolution.outputs if dim == convolution.channel else 1 for dim in range(rank))
    return source if sizes == channels or (scalar and sizes == (1,) * rank) else None


def _replace(
    rewriter: PatternRewriter, op: Operation, convolution: _Convolution, weight: SSAValue, bias: SSAValue | None
) -> None:
    """Replaces ``op`` by the convolution with another weight and bias."""
    conv = convolution.conv
    convolved = insert_before(
        rewriter, op, type(conv), [conv.input, weight, bias], tensor_type(conv.result), **conv.values()
    )
    rewriter.replace(
        op, [], [reshaped(rewriter, op, cast(rewriter, op, convolved, op.results[0]), shape(op.results[0]))]
    )


def _combined(rewriter: PatternRewriter, op: Operation, kind: type[TTOp], one: SSAValue, other: SSAValue) -> SSAValue:
    """Returns kind(one, other), computed in the wider of both types and returned in the type of ``one``."""
    wide = one if tensor_type(one).element_type == f32 else other
    operands = [cast(rewriter, op, one, wide), cast(rewriter, op, other, wide)]
    result = insert_before(rewriter, op, kind, operands, tensor(shape(one), tensor_type(wide).element_type))
    return cast(rewriter, op, result, one)


def _as(rewriter: PatternRewriter, op: Operation, weight: SSAValue, sizes: shapes.Shape) -> SSAValue:
    """Returns weights as a matrix. In 4-D each kernel is a tile of its own, 1024 times the size of a 1x1 kernel."""
    source = look_through(weight, ReshapeOp)
    return source if shape(source) == sizes else reshaped(rewriter, op, weight, sizes)


def _unrounded(rewriter: PatternRewriter, op: Operation, scale: SSAValue) -> SSAValue:
    """Returns a scale in float32 where it was rounded from that; its product with a weight is rounded anyway."""
    source = skip_ops(scale, ReshapeOp, TypecastOp)
    return reshaped(rewriter, op, source, shape(scale)) if tensor_type(source).element_type == f32 else scale


def _groups(convolution: _Convolution) -> int:
    """Returns the number of groups of a convolution."""
    return convolution.conv.groups


@pattern(Add, Subtract, approximate=True)
def conv_with_bias(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses conv2d(x) + bias or - bias, where the bias has one value per channel.

    A second bias is added to the first where both are parameters.
    """
    for product, other in both_ways(op) if isinstance(op, Add) else [(op.operands[0], op.operands[1])]:
        convolution = _convolution(op, product)
        bias = _by_channel(other, convolution, scalar=False) if convolution is not None else None
        if convolution is None or bias is None:
            continue
        old_bias = convolution.conv.bias
        constant = is_constant(bias)
        if not constant and (
            old_bias is not None or isinstance(op, Subtract) or product is not convolution.conv.result
        ):
            continue
        if old_bias is not None and not is_constant(old_bias):
            continue
        row = reshaped(rewriter, op, bias, (1, 1, 1, convolution.outputs))
        if isinstance(op, Subtract):
            row = insert_before(rewriter, op, UNARY["neg"], [row], tensor_type(row))
        if old_bias is not None:
            row = _combined(rewriter, op, Add, old_bias, row)
        _replace(rewriter, op, convolution, convolution.conv.weight, cast(rewriter, op, row, convolution.conv.result))
        return


@pattern(Multiply, Div, approximate=True)
def scaled_conv(op: TTOp, rewriter: PatternRewriter) -> None:
    """Folds a scale by channel, or one for all channels, into weight and bias where all are parameters."""
    for product, other in both_ways(op) if isinstance(op, Multiply) else [(op.operands[0], op.operands[1])]:
        convolution = _convolution(op, product)
        scale = _by_channel(other, convolution, scalar=True) if convolution is not None else None
        if (
            convolution is None
            or scale is None
            or (isinstance(convolution.conv, ConvTranspose2dOp) and _groups(convolution) != 1)
        ):
            continue
        weight, bias = convolution.conv.weight, convolution.conv.bias
        if not all(is_constant(value) for value in (scale, weight, bias) if value is not None):
            continue
        outputs = convolution.outputs if convolution.outputs in shape(scale) else 1
        sizes = shape(weight)
        if isinstance(convolution.conv, ConvTranspose2dOp):
            flat, channels = (*sizes[:2], sizes[2] * sizes[3]), (1, outputs, 1)
        else:
            flat, channels = (sizes[0], math.prod(sizes[1:])), (outputs, 1)
        scale = _unrounded(rewriter, op, scale)
        factor = reshaped(rewriter, op, scale, channels)
        rows = _as(rewriter, op, weight, flat)
        weight = reshaped(rewriter, op, _combined(rewriter, op, type(op), rows, factor), sizes)
        if bias is not None:
            bias = _combined(rewriter, op, type(op), bias, reshaped(rewriter, op, scale, (1, 1, 1, outputs)))
        _replace(rewriter, op, convolution, weight, bias)
        return


@pattern(Add, approximate=True)
def sum_of_convs(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites conv2d(x, v) + conv2d(x, w) to conv2d(x, v + w) where v and w are parameters; pads the smaller
    kernel."""
    convolutions = [convolution for value in op.operands if (convolution := _convolution(op, value)) is not None]
    if len(convolutions) != 2 or convolutions[0].conv is convolutions[1].conv:
        return
    one, other = sorted(convolutions, key=lambda convolution: shape(convolution.conv.weight)[2:], reverse=True)
    weights, biases = [one.conv.weight, other.conv.weight], [one.conv.bias, other.conv.bias]
    if isinstance(one.conv, ConvTranspose2dOp) or isinstance(other.conv, ConvTranspose2dOp):
        return
    margins = _margins(one.conv, other.conv)
    if margins is None or not all(is_constant(value) for value in (*weights, *biases) if value is not None):
        return
    large, small = weights
    sizes = shape(large)
    if any(margins):
        padding, padded = (0, 0, 0, 0, *margins), sizes
        if math.prod(shape(small)[2:]) == 1:
            kernels, size = math.prod(sizes[:2]), math.prod(sizes[2:])
            before = margins[0] * sizes[3] + margins[2]
            small = _as(rewriter, op, small, (kernels, 1))
            padding, padded = (0, 0, before, size - 1 - before), (kernels, size)
        type_ = tensor(padded, tensor_type(small).element_type)
        small = insert_before(rewriter, op, PadOp, [small], type_, padding=padding, value=0.0)
    rows = [_as(rewriter, op, convolution, (sizes[0], math.prod(sizes[1:]))) for convolution in (large, small)]
    weight = reshaped(rewriter, op, _combined(rewriter, op, Add, *rows), sizes)
    present_biases = [bias for bias in biases if bias is not None]
    bias = (
        _combined(rewriter, op, Add, *present_biases) if len(present_biases) == 2 else next(iter(present_biases), None)
    )
    _replace(rewriter, op, one, weight, bias)


def _margins(large: Conv2dOp, small: Conv2dOp) -> tuple[int, int, int, int] | None:
    """Returns the padding (top, bottom, left, right) that makes the small kernel a large one, or None if none does."""
    shared_values = {name: value for name, value in large.values().items() if name not in ("padding", "dilation")}
    if large.input is not small.input or large.result.type != small.result.type:
        return None
    if any(small.value(name) != value for name, value in shared_values.items()):
        return None
    margins: list[int] = []
    steps, small_steps = shapes.pair(large.dilation, "dilation"), shapes.pair(small.dilation, "dilation")
    paddings, small_paddings = shapes.borders(large.padding), shapes.borders(small.padding)
    for axis in range(2):
        size, inner = (shape(conv.weight)[2 + axis] for conv in (large, small))
        step = steps[axis]
        before, rest = divmod(paddings[axis] - small_paddings[axis], step)
        if inner > 1 and step != small_steps[axis]:
            return None
        if rest or not 0 <= before <= size - inner:
            return None
        margins += [before, size - inner - before]
    return (margins[0], margins[1], margins[2], margins[3])


@pattern(Add, approximate=True)
def identity_as_conv(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites x in conv2d(x, w) + (x * s + b) to its convolution with the identity, where w, s and b are parameters.

    Other patterns then join both convolutions. A residual without a factor stays as it is, since it keeps more digits
    apart from the weights.
    """
    for product, other in both_ways(op):
        convolution = _convolution(op, product)
        if convolution is None or product is not convolution.conv.result or _groups(convolution) != 1:
            continue
        conv = convolution.conv
        if isinstance(conv, ConvTranspose2dOp):
            continue
        if shapes.pair(conv.stride, "stride") != (1, 1):
            continue
        if conv.input.type != conv.result.type or not is_constant(conv.weight):
            continue
        first = _start_of_scaling(op, other, convolution)
        if first is None:
            continue
        element, outputs = tensor_type(conv.weight).element_type, convolution.outputs
        numbers = insert_before(
            rewriter, first, ArangeOp, [], tensor((outputs,), si32), start=0, end=outputs, step=1, arange_dimension=0
        )
        rows, columns = (
            reshaped(rewriter, first, numbers, sizes) for sizes in ((outputs, 1, 1, 1), (1, outputs, 1, 1))
        )
        type_ = tensor((outputs, outputs, 1, 1), element)
        eye = insert_before(rewriter, first, BINARY["eq"], [rows, columns], type_)
        geometry = conv.values() | {"padding": (0, 0, 0, 0), "dilation": (1, 1)}
        identity_conv = insert_before(
            rewriter, first, Conv2dOp, [conv.input, eye, None], tensor_type(conv.result), **geometry
        )
        first.operands[list(first.operands).index(conv.input)] = identity_conv
        rewriter.notify_op_modified(first)
        return


def _start_of_scaling(op: Operation, value: SSAValue, convolution: _Convolution) -> Operation | None:
    """Returns the first op of a chain of sums and products by channel that starts at the convolution's input.

    Returns None where ``value`` is no such chain, or has no product.
    """
    user, has_product = op, False
    while isinstance(scaling := value.owner, Add | Subtract | Multiply | Div):
        if only_user(value) is not user:
            return None
        one, other = scaling.operands
        if isinstance(scaling, Add | Multiply) and is_constant(one):
            one, other = other, one
        if _by_channel(other, convolution, scalar=True) is None or not is_constant(other):
            return None
        has_product |= isinstance(scaling, Multiply | Div)
        user, value = scaling, one
        if value is convolution.conv.input:
            return scaling if has_product else None
    return None


PATTERNS = (conv_with_bias, scaled_conv, identity_as_conv, sum_of_convs)
