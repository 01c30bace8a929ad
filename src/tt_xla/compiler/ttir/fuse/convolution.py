"""Convolutions with a bias, scaled by channel, and summed with others of the same input.

What is a batch norm at inference is a product and a sum by channel; where weights are parameters both go into them, and
const-eval computes that once. The weights stay in their element type: scaled ones are rounded once more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.rewriting import both_ways, insert_before, look_through, pattern, producer
from tt_xla.compiler.ttir.match import BINARY, UNARY, Add, Div, Multiply, Subtract, behind, cast, reshaped
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
    """What ``op`` reads."""
    channel: int
    """Where the channels of ``value`` lie."""

    @property
    def outputs(self) -> int:
        return shape(self.conv.result)[self.conv.channel_dim]


def _convolution(op: Operation, value: SSAValue) -> _Convolution | None:
    source = behind(value, TypecastOp, ReshapeOp)
    conv = producer(source, Conv2dOp) or producer(source, ConvTranspose2dOp)
    if conv is None or not _used_by_one(op, value, source):
        return None
    channel, height, whole = conv.channel_dim, conv.height_dim, shape(source)
    if shape(value) == whole:
        return _Convolution(conv, value, channel)
    if whole[height] == 1 and shape(value) == whole[:height] + whole[height + 1 :]:
        return _Convolution(conv, value, channel - (channel > height))
    return None


def _used_by_one(op: Operation, value: SSAValue, source: SSAValue) -> bool:
    """Whether nothing but ``op`` depends on ``value`` and on what lies between it and ``source``."""
    user = op
    while True:
        if only_user(value) is not user:
            return False
        if value is source:
            return True
        assert isinstance(value.owner, Operation)
        user, value = value.owner, value.owner.operands[0]


def _by_channel(value: SSAValue, found: _Convolution, *, scalar: bool) -> SSAValue | None:
    """A value of one element a channel, or with ``scalar`` of one for all, before it is broadcast."""
    source, rank = look_through(value, BroadcastOp), len(shape(found.value))
    sizes = (1,) * (rank - len(shape(source))) + shape(source)
    channels = tuple(found.outputs if dim == found.channel else 1 for dim in range(rank))
    return source if sizes == channels or (scalar and sizes == (1,) * rank) else None


def _replace(
    rewriter: PatternRewriter, op: Operation, found: _Convolution, weight: SSAValue, bias: SSAValue | None
) -> None:
    """Puts the convolution by ``weight`` and ``bias`` in the place of ``op``."""
    conv = found.conv
    made = insert_before(
        rewriter, op, type(conv), [conv.input, weight, bias], tensor_type(conv.result), **conv.values()
    )
    rewriter.replace(op, [], [reshaped(rewriter, op, cast(rewriter, op, made, op.results[0]), shape(op.results[0]))])


def _combined(rewriter: PatternRewriter, op: Operation, kind: type[TTOp], one: SSAValue, other: SSAValue) -> SSAValue:
    """kind(one, other), computed in the wider type of the two and returned in the type of ``one``."""
    wide = one if tensor_type(one).element_type == f32 else other
    operands = [cast(rewriter, op, one, wide), cast(rewriter, op, other, wide)]
    made = insert_before(rewriter, op, kind, operands, tensor(shape(one), tensor_type(wide).element_type))
    return cast(rewriter, op, made, one)


def _as(rewriter: PatternRewriter, op: Operation, weight: SSAValue, sizes: shapes.Shape) -> SSAValue:
    """The weights as a matrix: in 4-D each kernel would be a tile of its own, of 1024 times its size for one of 1x1."""
    source = look_through(weight, ReshapeOp)
    return source if shape(source) == sizes else reshaped(rewriter, op, weight, sizes)


def _unrounded(rewriter: PatternRewriter, op: Operation, scale: SSAValue) -> SSAValue:
    """The scale in float32, where it was rounded from that: the product of it and a weight is rounded anyway."""
    source = behind(scale, ReshapeOp, TypecastOp)
    return reshaped(rewriter, op, source, shape(scale)) if tensor_type(source).element_type == f32 else scale


def _groups(found: _Convolution) -> int:
    return found.conv.groups


@pattern(Add, Subtract, approximate=True)
def conv_with_bias(op: Operation, rewriter: PatternRewriter) -> None:
    """conv2d(x) + bias or - bias, the bias one value a channel; also a second bias, where both are parameters."""
    for product, other in both_ways(op) if isinstance(op, Add) else [(op.operands[0], op.operands[1])]:
        found = _convolution(op, product)
        bias = _by_channel(other, found, scalar=False) if found is not None else None
        if found is None or bias is None:
            continue
        given = found.conv.bias
        constant = is_constant(bias)
        if not constant and (given is not None or isinstance(op, Subtract) or product is not found.conv.result):
            continue
        if given is not None and not is_constant(given):
            continue
        row = reshaped(rewriter, op, bias, (1, 1, 1, found.outputs))
        if isinstance(op, Subtract):
            row = insert_before(rewriter, op, UNARY["neg"], [row], tensor_type(row))
        if given is not None:
            row = _combined(rewriter, op, Add, given, row)
        _replace(rewriter, op, found, found.conv.weight, cast(rewriter, op, row, found.conv.result))
        return


@pattern(Multiply, Div, approximate=True)
def scaled_conv(op: TTOp, rewriter: PatternRewriter) -> None:
    """conv2d(x) times or divided by one value a channel, or one for all, where it, weight and bias are parameters."""
    for product, other in both_ways(op) if isinstance(op, Multiply) else [(op.operands[0], op.operands[1])]:
        found = _convolution(op, product)
        scale = _by_channel(other, found, scalar=True) if found is not None else None
        if found is None or scale is None or (isinstance(found.conv, ConvTranspose2dOp) and _groups(found) != 1):
            continue
        weight, bias = found.conv.weight, found.conv.bias
        if not all(is_constant(value) for value in (scale, weight, bias) if value is not None):
            continue
        outputs = found.outputs if found.outputs in shape(scale) else 1
        sizes = shape(weight)
        if isinstance(found.conv, ConvTranspose2dOp):
            flat, channels = (*sizes[:2], sizes[2] * sizes[3]), (1, outputs, 1)
        else:
            flat, channels = (sizes[0], math.prod(sizes[1:])), (outputs, 1)
        scale = _unrounded(rewriter, op, scale)
        factor = reshaped(rewriter, op, scale, channels)
        rows = _as(rewriter, op, weight, flat)
        weight = reshaped(rewriter, op, _combined(rewriter, op, type(op), rows, factor), sizes)
        if bias is not None:
            bias = _combined(rewriter, op, type(op), bias, reshaped(rewriter, op, scale, (1, 1, 1, outputs)))
        _replace(rewriter, op, found, weight, bias)
        return


@pattern(Add, approximate=True)
def sum_of_convs(op: Operation, rewriter: PatternRewriter) -> None:
    """conv2d(x, v) + conv2d(x, w) is conv2d(x, v + w), the smaller kernel padded; where both are parameters."""
    found = [each for value in op.operands if (each := _convolution(op, value)) is not None]
    if len(found) != 2 or found[0].conv is found[1].conv:
        return
    one, other = sorted(found, key=lambda each: shape(each.conv.weight)[2:], reverse=True)
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
    rows = [_as(rewriter, op, each, (sizes[0], math.prod(sizes[1:]))) for each in (large, small)]
    weight = reshaped(rewriter, op, _combined(rewriter, op, Add, *rows), sizes)
    given = [bias for bias in biases if bias is not None]
    bias = _combined(rewriter, op, Add, *given) if len(given) == 2 else next(iter(given), None)
    _replace(rewriter, op, one, weight, bias)


def _margins(large: Conv2dOp, small: Conv2dOp) -> tuple[int, int, int, int] | None:
    """What makes the kernel of ``small`` one of ``large``: top, bottom, left, right; None where nothing does."""
    same = {name: value for name, value in large.values().items() if name not in ("padding", "dilation")}
    if large.input is not small.input or large.result.type != small.result.type:
        return None
    if any(small.value(name) != value for name, value in same.items()):
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
    """conv2d(x, w) + (x * s + b), where parameters are all but x, has x as its convolution with the identity.

    The other patterns then join the two. Not without a factor: residuals keep more digits apart from the weights.
    """
    for product, other in both_ways(op):
        found = _convolution(op, product)
        if found is None or product is not found.conv.result or _groups(found) != 1:
            continue
        conv = found.conv
        if isinstance(conv, ConvTranspose2dOp):
            continue
        if shapes.pair(conv.stride, "stride") != (1, 1):
            continue
        if conv.input.type != conv.result.type or not is_constant(conv.weight):
            continue
        first = _start_of_scaling(op, other, found)
        if first is None:
            continue
        element, outputs = tensor_type(conv.weight).element_type, found.outputs
        numbers = insert_before(
            rewriter, first, ArangeOp, [], tensor((outputs,), si32), start=0, end=outputs, step=1, arange_dimension=0
        )
        rows, columns = (
            reshaped(rewriter, first, numbers, sizes) for sizes in ((outputs, 1, 1, 1), (1, outputs, 1, 1))
        )
        type_ = tensor((outputs, outputs, 1, 1), element)
        eye = insert_before(rewriter, first, BINARY["eq"], [rows, columns], type_)
        geometry = conv.values() | {"padding": (0, 0, 0, 0), "dilation": (1, 1)}
        made = insert_before(rewriter, first, Conv2dOp, [conv.input, eye, None], tensor_type(conv.result), **geometry)
        first.operands[list(first.operands).index(conv.input)] = made
        rewriter.notify_op_modified(first)
        return


def _start_of_scaling(op: Operation, value: SSAValue, found: _Convolution) -> Operation | None:
    """The op that reads the convolution's input first in sums and products by channel, one product at least."""
    user, has_product = op, False
    while isinstance(made := value.owner, Add | Subtract | Multiply | Div):
        if only_user(value) is not user:
            return None
        one, other = made.operands
        if isinstance(made, Add | Multiply) and is_constant(one):
            one, other = other, one
        if _by_channel(other, found, scalar=True) is None or not is_constant(other):
            return None
        has_product |= isinstance(made, Multiply | Div)
        user, value = made, one
        if value is found.conv.input:
            return made if has_product else None
    return None


PATTERNS = (conv_with_bias, scaled_conv, identity_as_conv, sum_of_convs)
