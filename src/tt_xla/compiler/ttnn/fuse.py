"""Fusion of elementwise functions into convolutions and matrix products, and of chains of moves and casts."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.rewriting import pattern, producer, replace_with, run_patterns, set_operand
from tt_xla.compiler.ttnn import fuse_rotary, fuse_unary
from tt_xla.compiler.ttnn.preparations import prepare_for_rows
from tt_xla.ir import abstract as shared
from tt_xla.ir import ttnn
from tt_xla.ir.base import TTOp, only_user, shape, users
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.properties import STR
from tt_xla.ir.ttnn.attributes import Activation, Conv2dConfigAttr, laid_out, layout_of
from tt_xla.ir.ttnn.configs import UnaryAttr
from tt_xla.ir.ttnn.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttnn.memory import FromDeviceOp, FullOp, ToLayoutOp, TypecastOp
from tt_xla.ir.ttnn.reduction import LayerNormOp, RmsNormOp
from tt_xla.ir.ttnn.structure import ClampScalarOp, ReshapeOp
from tt_xla.ir.ttnn.window import Conv2dOp, ConvTranspose2dOp

_CONV = {Activation.RELU, Activation.RELU6, Activation.SILU, Activation.SIGMOID}
"""Activations that TT-NN's convolutions apply."""
_ACTIVATION_OPS: dict[type[Operation], Activation] = {
    ttnn.UNARY_OPS[activation.value]: activation for activation in Activation
}
_MATMUL = {
    *(Activation.RELU, Activation.RELU6, Activation.SILU, Activation.SIGMOID),
    *(Activation.GELU, Activation.GELU_APPROX),
}
"""Activations that TT-NN's matrix products apply."""
_TRUTH = tuple(
    ttnn.BINARY_OPS[name] for name in ("eq", "ge", "gt", "le", "lt", "ne", "logical_and", "logical_or", "logical_xor")
)
"""Comparisons and logical ops, whose results are 0 and 1."""


@pattern(*_ACTIVATION_OPS, approximate=True)
def fuse_into_convolution(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses f(conv2d(x)), also with a reshape in between, at every level, as tt-mlir does."""
    activation, source = _ACTIVATION_OPS[type(op)], _own_operand(op)
    conv = producer(source, Conv2dOp) or producer(source, ConvTranspose2dOp) if source is not None else None
    if conv is None or activation not in _CONV:
        return
    config = dict(conv.conv2d_config or ())
    if "activation" not in config:
        config["activation"] = UnaryAttr.of(activation.value)
        conv.properties["conv2d_config"] = Conv2dConfigAttr.of(**config)
        rewriter.replace(op, [], [op.operands[0]])


@pattern(*_ACTIVATION_OPS, approximate=True)
def fuse_into_product(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses f(matmul(x)), also with a reshape in between."""
    activation, source = _ACTIVATION_OPS[type(op)], _own_operand(op)
    matmul = producer(source, MatmulOp) or producer(source, LinearOp) if source is not None else None
    if matmul is not None and activation in _MATMUL and matmul.activation is None:
        matmul.properties["activation"] = STR.encode(activation.value)
        rewriter.replace(op, [], [op.operands[0]])


def _own_operand(op: Operation) -> SSAValue | None:
    """Returns the operand of ``op``, before a reshape if there is one; None where other ops use it too."""
    reshape = producer(op.operands[0], ReshapeOp)
    source = reshape.input if reshape is not None else op.operands[0]
    if only_user(op.operands[0]) is not op or (reshape is not None and only_user(source) is not reshape):
        return None
    return source


@pattern(ReshapeOp)
def join_reshapes(op: ReshapeOp, rewriter: PatternRewriter) -> None:
    """Rewrites reshape(reshape(x)) to reshape(x), or to x itself."""
    if op.input.type == op.result.type:
        rewriter.replace(op, [], [op.input])
        return
    inner = producer(op.input, ReshapeOp)
    if inner is not None:
        replace_with(rewriter, op, ReshapeOp, [inner.input], shape=shape(op.result))


@pattern(shared.ElementwiseUnary, shared.ElementwiseBinary)
def sink_reshape(op: TTOp, rewriter: PatternRewriter) -> None:
    """Rewrites f(reshape(x), y) to reshape(f(x, y)), where y is another such reshape or a vector.

    The reshape sinks until it meets a reshape back, as between convolutions, which work on [1, 1, N * H * W, C].
    """
    reshapes = [producer(value, ReshapeOp) for value in op.operands]
    sources = {shape(reshape.input) for reshape in reshapes if reshape is not None}
    result_sizes = shape(op.results[0])
    if len(sources) != 1 or isinstance(op, TypecastOp):
        return
    source = sources.pop()
    if not source or not result_sizes or source[-1] != result_sizes[-1]:
        return
    for value, reshape in zip(op.operands, reshapes, strict=True):
        if reshape is None:
            vector = shape(value)[-1:] in ((1,), result_sizes[-1:]) and math.prod(shape(value)[:-1]) == 1
            if not vector or len(shape(value)) > len(source):
                return
        elif shape(value) != result_sizes or only_user(value) is not op or layout_of(reshape.input).tiled is False:
            return
    operands = [
        value if reshape is None else reshape.input for value, reshape in zip(op.operands, reshapes, strict=True)
    ]
    layout = layout_of(op.results[0])
    inner = type(op).create(
        operands=operands,
        result_types=[laid_out(source, TensorLayout.of(source, layout.dtype))],
        properties=op.properties,
        location=op.location,
    )
    outer = ReshapeOp.make([inner.results[0]], [op.results[0].type], op.location, shape=result_sizes)
    rewriter.replace(op, [inner, outer])


@pattern(LayerNormOp, RmsNormOp, MatmulOp, LinearOp)
def sink_reshape_past_rows(op: LayerNormOp | RmsNormOp | MatmulOp | LinearOp, rewriter: PatternRewriter) -> None:
    """Rewrites f(reshape(x), w) to reshape(f(x, w)), where f works on the last dimension."""
    reshape, after = producer(op.operands[0], ReshapeOp), users(op.results[0])
    if reshape is None or only_user(op.operands[0]) is not op:
        return
    if not after or not all(isinstance(user, ReshapeOp | _ROW_OPS) for user in after):
        return
    source, reshaped = shape(reshape.input), shape(op.operands[0])
    if len(source) < 2 or len(reshaped) < 2 or source[-1] != reshaped[-1] or not layout_of(reshape.input).tiled:
        return
    if isinstance(op, MatmulOp | LinearOp) and (op.transpose_a or len(shape(op.operands[1])) != 2):
        return
    if isinstance(op, LinearOp) and op.bias is not None and len(shape(op.bias)) > len(source):
        return
    type_ = op.results[0].type
    sizes = (*source[:-1], shape(op.results[0])[-1])
    inner = type(op).create(
        operands=[reshape.input, *op.operands[1:]],
        result_types=[laid_out(sizes, TensorLayout.of(sizes, layout_of(op.results[0]).dtype))],
        properties=op.properties,
        location=op.location,
    )
    outer = ReshapeOp.make([inner.results[0]], [type_], op.location, shape=shape(op.results[0]))
    rewriter.replace(op, [inner, outer])


_ROW_OPS = (
    LayerNormOp | RmsNormOp | MatmulOp | LinearOp | shared.AlongDim | shared.ElementwiseUnary | shared.ElementwiseBinary
)
"""Ops that work on each row, or element, by itself."""


@pattern(TypecastOp)
def join_unsigned_casts(op: TypecastOp, rewriter: PatternRewriter) -> None:
    """Rewrites ui32(si32(x)) to x of type ui32, which has the same bits."""
    inner = producer(op.input, TypecastOp)
    if inner is None or inner.input.type != op.result.type:
        return
    if layout_of(op.input).dtype is DataType.SI32 and layout_of(op.result).dtype is DataType.U32:
        rewriter.replace(op, [], [inner.input])


@pattern(TypecastOp, approximate=True)
def join_integer_casts(op: TypecastOp, rewriter: PatternRewriter) -> None:
    """Rewrites float(int(x)) to x where x has integers of magnitude up to 2^24.

    Products of integers are computed in float32, and quantisation rounds and clamps first. The chip's integers have no
    NaN; here NaN stays NaN.
    """
    inner = producer(op.input, TypecastOp)
    if inner is None or inner.input.type != op.result.type or layout_of(op.input).dtype is not DataType.SI32:
        return
    if layout_of(op.result).dtype is DataType.F32 and _has_integers(inner.input):
        rewriter.replace(op, [], [inner.input])


def _has_integers(value: SSAValue) -> bool:
    """Returns whether a float consists of integers, by a product of integers or by clamping rounded numbers."""
    clamp = producer(value, ClampScalarOp)
    if clamp is not None:
        ends = (clamp.min, clamp.max)
        has_integer_bounds = all(float(end).is_integer() and abs(end) <= 2**24 for end in ends)
        return has_integer_bounds and producer(clamp.input, _Round) is not None
    product = producer(value, MatmulOp)
    return product is not None and all(_was_integer(operand) for operand in (product.a, product.b))


def _was_integer(value: SSAValue) -> bool:
    """Returns whether a float was cast from si32 or consists of integers."""
    cast = producer(value, TypecastOp)
    return (cast is not None and layout_of(cast.input).dtype is DataType.SI32) or _has_integers(value)


_Round = ttnn.UNARY_OPS["round"]


@pattern(*_TRUTH)
def truth_in_its_type(op: TTOp, rewriter: PatternRewriter) -> None:
    """Computes a comparison or logical op in the type that all its users cast it to.

    The users may reshape it first. The type is another float, or the integer type of the operands.
    """
    layout, casts = layout_of(op.results[0]), _casts_of(op.results[0])
    types = {layout_of(cast.result).dtype for cast in casts}
    of_integers = all(layout_of(value).dtype is DataType.SI32 for value in op.operands)
    if len(types) != 1 or not layout.tiled:
        return
    (dtype,) = types
    if not (dtype.is_float or (of_integers and dtype is DataType.SI32)):
        return
    retyped = type(op).make([*op.operands], [_retyped(op.results[0], dtype)], op.location)
    rewriter.insert(retyped, InsertPoint.before(op))
    for user in users(op.results[0]):
        if isinstance(user, TypecastOp):
            rewriter.replace(user, [], [retyped.results[0]])
            continue
        sizes = shape(user.results[0])
        type_ = _retyped(user.results[0], dtype)
        reshaped = ReshapeOp.make([retyped.results[0]], [type_], retyped.location, shape=sizes)
        rewriter.insert(reshaped, InsertPoint.before(user))
        for cast in users(user.results[0]):
            rewriter.replace(cast, [], [reshaped.results[0]])
        rewriter.erase(user)
    rewriter.erase(op)


def _casts_of(value: SSAValue) -> list[TypecastOp]:
    """Returns the casts that are all users of a value or of its reshapes; empty where other ops use it."""
    all_casts: list[TypecastOp] = []
    for user in users(value):
        casts = users(user.results[0]) if isinstance(user, ReshapeOp) else [user]
        for cast in casts:
            if not isinstance(cast, TypecastOp) or not layout_of(cast.result).tiled:
                return []
            all_casts.append(cast)
    return all_casts


def _retyped(value: SSAValue, dtype: DataType) -> Attribute:
    """Returns a value's type with another element type."""
    return laid_out(shape(value), layout_of(value).retyped(dtype))


@pattern(TypecastOp)
def cast_truth_once(op: TypecastOp, rewriter: PatternRewriter) -> None:
    """Rewrites cast(cast(t)) of truth values to cast(t), or to t: every type represents 0 and 1."""
    inner = producer(op.input, TypecastOp)
    if inner is None or not isinstance(_before_reshape(inner.input).owner, (*_TRUTH, _IsFinite)):
        return
    if inner.input.type == op.result.type:
        rewriter.replace(op, [], [inner.input])
    elif layout_of(inner.input).tiled:
        replace_with(rewriter, op, TypecastOp, [inner.input])


def _before_reshape(value: SSAValue) -> SSAValue:
    """Returns the value before a reshape."""
    reshape = producer(value, ReshapeOp)
    return value if reshape is None else reshape.input


_IsFinite = ttnn.UNARY_OPS["isfinite"]


@pattern(ToLayoutOp)
def fill_in_result_layout(op: ToLayoutOp, rewriter: PatternRewriter) -> None:
    """Rewrites to_layout(full()) of the same element type to full() in that layout."""
    full = producer(op.input, FullOp)
    result_layout = layout_of(op.result)
    if full is not None and result_layout.on_device and result_layout.dtype == layout_of(op.input).dtype:
        filled = FullOp.make([*full.operands], [op.result.type], full.location, **full.values())
        rewriter.replace(op, filled)


@pattern(ToLayoutOp)
def join_to_layouts(op: ToLayoutOp, rewriter: PatternRewriter) -> None:
    """Rewrites to_layout(to_layout(x)) to to_layout(x), or to x itself."""
    inner = producer(op.input, ToLayoutOp)
    if inner is None or layout_of(op.input).dtype != layout_of(inner.input).dtype:
        return
    if inner.input.type == op.result.type:
        rewriter.replace(op, [], [inner.input])
    else:
        replace_with(rewriter, op, ToLayoutOp, [inner.input])


@pattern(ReshapeOp)
def reshape_before_tilize(op: ReshapeOp, rewriter: PatternRewriter) -> None:
    """Rewrites reshape(to_layout(x)) to to_layout(reshape(x)): regrouping rows of a row-major tensor is free.

    A reshape that others follow stays, because it joins each of them.
    """
    inner = producer(op.input, ToLayoutOp)
    if inner is None or layout_of(inner.input).tiled or only_user(op.input) is not op:
        return
    if any(isinstance(user, ReshapeOp) for user in users(op.result)):
        return
    before = layout_of(inner.input).with_(shape(op.result))
    reshaped = ReshapeOp.make([inner.input], [laid_out(shape(op.result), before)], op.location, shape=shape(op.result))
    tilized = ToLayoutOp.make([reshaped.results[0]], [op.result.type], op.location)
    rewriter.replace(op, [reshaped, tilized])


def _before_reshaping(op: ToLayoutOp | FromDeviceOp, inner: ReshapeOp, rewriter: PatternRewriter) -> None:
    """Rewrites op(reshape(x)) to reshape(op(x))."""
    sizes = shape(inner.input)
    moved = type(op).make([inner.input], [laid_out(sizes, layout_of(op.result).with_(sizes))], op.location)
    reshaped = ReshapeOp.make([moved.results[0]], [op.result.type], inner.location, shape=shape(op.result))
    rewriter.replace(op, [moved, reshaped])


@pattern(ToLayoutOp)
def untilize_before_reshape(op: ToLayoutOp, rewriter: PatternRewriter) -> None:
    """Rewrites to_layout(reshape(x)) out of tiles to reshape(to_layout(x)), where x takes fewer tiles.

    An example are weights of a 1x1 convolution, which are scaled as a matrix and would then take a tile per element.
    """
    inner = producer(op.input, ReshapeOp)
    if inner is None or layout_of(op.result).tiled or only_user(op.input) is not op:
        return
    small, large = layout_of(inner.input), layout_of(op.input)
    if not small.tiled or small.bytes >= large.bytes or large.dtype != layout_of(op.result).dtype:
        return
    _before_reshaping(op, inner, rewriter)


@pattern(FromDeviceOp)
def reshape_on_host(op: FromDeviceOp, rewriter: PatternRewriter) -> None:
    """Rewrites from_device(reshape(x)) of a row-major x to reshape(from_device(x)), a view on the host."""
    inner = producer(op.input, ReshapeOp)
    if inner is None or layout_of(inner.input).tiled or only_user(op.input) is not op:
        return
    _before_reshaping(op, inner, rewriter)


@pattern(Conv2dOp)
def row_major_convolution(op: Conv2dOp, rewriter: PatternRewriter) -> None:
    """Gives a convolution its activation row-major where that is tilized for it alone; it makes tiles itself."""
    tilize = producer(op.input, ToLayoutOp)
    if tilize is None or only_user(op.input) is not op:
        return
    source, input_layout = layout_of(tilize.input), layout_of(op.input)
    same = input_layout.tiled and not source.tiled and source.dtype == input_layout.dtype
    if same and prepare_for_rows(op):
        set_operand(rewriter, op, 0, tilize.input)


def run(module: ModuleOp, *, optimise: bool, exact: bool, apart: bool = False) -> None:
    """Joins moves, and functions with the ops that they follow.

    Args:
        module: TTNN module that is changed in place.
        optimise: Also fuses functions into matrix products and reads row-major tensors in convolutions.
        exact: Leaves out what may change results.
        apart: Leaves each function an op of its own, at its own source line.
    """
    moves = (
        join_reshapes,
        sink_reshape,
        sink_reshape_past_rows,
        join_to_layouts,
        reshape_before_tilize,
        untilize_before_reshape,
        reshape_on_host,
        fill_in_result_layout,
    )
    casts = (join_unsigned_casts, truth_in_its_type, cast_truth_once, join_integer_casts)
    functions = () if apart else (fuse_into_convolution, *((fuse_into_product,) if optimise else ()))
    optimised = (row_major_convolution,) if optimise else ()
    run_patterns(module, *functions, *optimised, *fuse_rotary.PATTERNS, *casts, *moves, exact=exact)
    if not apart:  # After the others, which know the functions as ops of their own.
        run_patterns(module, *fuse_unary.PATTERNS, exact=exact)
