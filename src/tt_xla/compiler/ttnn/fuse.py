"""An elementwise function after a convolution or matrix product becomes part of it, and chains of moves become one."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.rewriting import pattern, producer, replace_with, run_patterns
from tt_xla.compiler.ttnn import fuse_rotary, fuse_unary
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
_ACTIVATION_OPS: dict[type[Operation], Activation] = {
    ttnn.UNARY_OPS[activation.value]: activation for activation in Activation
}
_MATMUL = {Activation.RELU, Activation.SILU, Activation.SIGMOID, Activation.GELU}
_TRUTH = tuple(
    ttnn.BINARY_OPS[name] for name in ("eq", "ge", "gt", "le", "lt", "ne", "logical_and", "logical_or", "logical_xor")
)


@pattern(*_ACTIVATION_OPS, approximate=True)
def fuse_into_convolution(op: Operation, rewriter: PatternRewriter) -> None:
    """f(conv2d(x)), also with a reshape in between; as upstream, at each level."""
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
    """f(matmul(x)), also with a reshape in between."""
    activation, source = _ACTIVATION_OPS[type(op)], _own_operand(op)
    matmul = producer(source, MatmulOp) or producer(source, LinearOp) if source is not None else None
    if matmul is not None and activation in _MATMUL and matmul.activation is None:
        matmul.properties["activation"] = STR.encode(activation.value)
        rewriter.replace(op, [], [op.operands[0]])


def _own_operand(op: Operation) -> SSAValue | None:
    """The operand of ``op`` before a reshape; None where another uses it too."""
    reshape = producer(op.operands[0], ReshapeOp)
    source = reshape.input if reshape is not None else op.operands[0]
    if only_user(op.operands[0]) is not op or (reshape is not None and only_user(source) is not reshape):
        return None
    return source


@pattern(ReshapeOp)
def join_reshapes(op: ReshapeOp, rewriter: PatternRewriter) -> None:
    """reshape(reshape(x)) is reshape(x), or x itself."""
    if op.input.type == op.result.type:
        rewriter.replace(op, [], [op.input])
        return
    inner = producer(op.input, ReshapeOp)
    if inner is not None:
        replace_with(rewriter, op, ReshapeOp, [inner.input], shape=shape(op.result))


@pattern(shared.ElementwiseUnary, shared.ElementwiseBinary)
def sink_reshape(op: TTOp, rewriter: PatternRewriter) -> None:
    """f(reshape(x), y) is reshape(f(x, y)), where y is another such reshape or a vector over the last dimension.

    Until it meets a reshape back, as between convolutions, which work on [1, 1, N * H * W, C].
    """
    reshapes = [producer(value, ReshapeOp) for value in op.operands]
    sources = {shape(made.input) for made in reshapes if made is not None}
    whole = shape(op.results[0])
    if len(sources) != 1 or isinstance(op, shared.Softmax | shared.Cumulative | TypecastOp):
        return
    source = sources.pop()
    if not source or not whole or source[-1] != whole[-1]:
        return
    for value, made in zip(op.operands, reshapes, strict=True):
        if made is None:
            vector = shape(value)[-1:] in ((1,), whole[-1:]) and math.prod(shape(value)[:-1]) == 1
            if not vector or len(shape(value)) > len(source):
                return
        elif shape(value) != whole or only_user(value) is not op or layout_of(made.input).tiled is False:
            return
    operands = [value if made is None else made.input for value, made in zip(op.operands, reshapes, strict=True)]
    layout = layout_of(op.results[0])
    inner = type(op).create(
        operands=operands,
        result_types=[laid_out(source, TensorLayout.of(source, layout.dtype))],
        properties=op.properties,
        location=op.location,
    )
    outer = ReshapeOp.make([inner.results[0]], [op.results[0].type], op.location, shape=whole)
    rewriter.replace(op, [inner, outer])


@pattern(LayerNormOp, RmsNormOp, MatmulOp, LinearOp)
def sink_reshape_past_rows(op: LayerNormOp | RmsNormOp | MatmulOp | LinearOp, rewriter: PatternRewriter) -> None:
    """f(reshape(x), w) is reshape(f(x, w)), where f works on the last dimension."""
    made, after = producer(op.operands[0], ReshapeOp), only_user(op.results[0])
    if made is None or only_user(op.operands[0]) is not op or not isinstance(after, ReshapeOp | _ROW_OPS):
        return
    source, whole = shape(made.input), shape(op.operands[0])
    if len(source) < 2 or len(whole) < 2 or source[-1] != whole[-1] or not layout_of(made.input).tiled:
        return
    if isinstance(op, MatmulOp | LinearOp) and (op.transpose_a or len(shape(op.operands[1])) != 2):
        return
    if isinstance(op, LinearOp) and op.bias is not None and len(shape(op.bias)) > len(source):
        return
    type_ = op.results[0].type
    sizes = (*source[:-1], shape(op.results[0])[-1])
    inner = type(op).create(
        operands=[made.input, *op.operands[1:]],
        result_types=[laid_out(sizes, TensorLayout.of(sizes, layout_of(op.results[0]).dtype))],
        properties=op.properties,
        location=op.location,
    )
    outer = ReshapeOp.make([inner.results[0]], [type_], op.location, shape=shape(op.results[0]))
    rewriter.replace(op, [inner, outer])


_ROW_OPS = LayerNormOp | RmsNormOp | MatmulOp | LinearOp | shared.ElementwiseUnary | shared.ElementwiseBinary


@pattern(TypecastOp)
def join_unsigned_casts(op: TypecastOp, rewriter: PatternRewriter) -> None:
    """ui32(si32(x)) is x of ui32, whose bits are the same ones."""
    inner = producer(op.input, TypecastOp)
    if inner is None or inner.input.type != op.result.type:
        return
    if layout_of(op.input).dtype is DataType.SI32 and layout_of(op.result).dtype is DataType.U32:
        rewriter.replace(op, [], [inner.input])


@pattern(TypecastOp, approximate=True)
def join_integer_casts(op: TypecastOp, rewriter: PatternRewriter) -> None:
    """float(int(x)) is x where x has integers of at most 2^24: products of integers are computed in float32, and what
    quantises rounds and clamps before. NaN, of which the chip's integers have none, stays NaN."""
    inner = producer(op.input, TypecastOp)
    if inner is None or inner.input.type != op.result.type or layout_of(op.input).dtype is not DataType.SI32:
        return
    if layout_of(op.result).dtype is DataType.F32 and _has_integers(inner.input):
        rewriter.replace(op, [], [inner.input])


def _has_integers(value: SSAValue) -> bool:
    """Whether a float was made of integers, by a product or by clamping rounded numbers."""
    clamp = producer(value, ClampScalarOp)
    if clamp is not None:
        ends = (clamp.min, clamp.max)
        whole = all(float(end).is_integer() and abs(end) <= 2**24 for end in ends)
        return whole and producer(clamp.input, _Round) is not None
    product = producer(value, MatmulOp)
    return product is not None and all(_was_integer(operand) for operand in (product.a, product.b))


def _was_integer(value: SSAValue) -> bool:
    cast = producer(value, TypecastOp)
    return (cast is not None and layout_of(cast.input).dtype is DataType.SI32) or _has_integers(value)


_Round = ttnn.UNARY_OPS["round"]


@pattern(*_TRUTH)
def truth_in_its_type(op: TTOp, rewriter: PatternRewriter) -> None:
    """A comparison or a logical op whose uses all cast it to one type, if need be reshaped, is made in that type:
    another float's, or that of its integers."""
    found, casts = layout_of(op.results[0]), _casts_of(op.results[0])
    types = {layout_of(cast.result).dtype for cast in casts}
    of_integers = all(layout_of(value).dtype is DataType.SI32 for value in op.operands)
    if len(types) != 1 or not found.tiled:
        return
    (wanted,) = types
    if not (wanted.is_float or (of_integers and wanted is DataType.SI32)):
        return
    made = type(op).make([*op.operands], [_retyped(op.results[0], wanted)], op.location)
    rewriter.insert(made, InsertPoint.before(op))
    for user in users(op.results[0]):
        if isinstance(user, TypecastOp):
            rewriter.replace(user, [], [made.results[0]])
            continue
        sizes = shape(user.results[0])
        type_ = _retyped(user.results[0], wanted)
        reshaped = ReshapeOp.make([made.results[0]], [type_], made.location, shape=sizes)
        rewriter.insert(reshaped, InsertPoint.before(user))
        for cast in users(user.results[0]):
            rewriter.replace(cast, [], [reshaped.results[0]])
        rewriter.erase(user)
    rewriter.erase(op)


def _casts_of(value: SSAValue) -> list[TypecastOp]:
    """The casts that are all uses of a value, or of its reshapes; none where another op uses it."""
    found: list[TypecastOp] = []
    for user in users(value):
        casts = users(user.results[0]) if isinstance(user, ReshapeOp) else [user]
        for cast in casts:
            if not isinstance(cast, TypecastOp) or not layout_of(cast.result).tiled:
                return []
            found.append(cast)
    return found


def _retyped(value: SSAValue, dtype: DataType) -> Attribute:
    return laid_out(shape(value), layout_of(value).retyped(dtype))


@pattern(TypecastOp)
def cast_truth_once(op: TypecastOp, rewriter: PatternRewriter) -> None:
    """cast(cast(t)) of 1 and 0 is cast(t), or t: every type holds them."""
    inner = producer(op.input, TypecastOp)
    if inner is None or not isinstance(_before_reshape(inner.input).owner, (*_TRUTH, _IsFinite)):
        return
    if inner.input.type == op.result.type:
        rewriter.replace(op, [], [inner.input])
    elif layout_of(inner.input).tiled:
        replace_with(rewriter, op, TypecastOp, [inner.input])


def _before_reshape(value: SSAValue) -> SSAValue:
    reshape = producer(value, ReshapeOp)
    return value if reshape is None else reshape.input


_IsFinite = ttnn.UNARY_OPS["isfinite"]


@pattern(ToLayoutOp)
def fill_as_wanted(op: ToLayoutOp, rewriter: PatternRewriter) -> None:
    """to_layout(full()) of the same type is full()."""
    full = producer(op.input, FullOp)
    wanted = layout_of(op.result)
    if full is not None and wanted.on_device and wanted.dtype == layout_of(op.input).dtype:
        made = FullOp.make([*full.operands], [op.result.type], full.location, **full.values())
        rewriter.replace(op, made)


@pattern(ToLayoutOp)
def join_to_layouts(op: ToLayoutOp, rewriter: PatternRewriter) -> None:
    """to_layout(to_layout(x)) is to_layout(x), or x itself."""
    inner = producer(op.input, ToLayoutOp)
    if inner is None or layout_of(op.input).dtype != layout_of(inner.input).dtype:
        return
    if inner.input.type == op.result.type:
        rewriter.replace(op, [], [inner.input])
    else:
        replace_with(rewriter, op, ToLayoutOp, [inner.input])


@pattern(ReshapeOp)
def reshape_before_tilize(op: ReshapeOp, rewriter: PatternRewriter) -> None:
    """reshape(to_layout(x)) is to_layout(reshape(x)): rows of a row-major tensor regroup for nothing."""
    inner = producer(op.input, ToLayoutOp)
    if inner is None or layout_of(inner.input).tiled or only_user(op.input) is not op:
        return
    before = layout_of(inner.input).with_(shape(op.result))
    reshaped = ReshapeOp.make([inner.input], [laid_out(shape(op.result), before)], op.location, shape=shape(op.result))
    tilized = ToLayoutOp.make([reshaped.results[0]], [op.result.type], op.location)
    rewriter.replace(op, [reshaped, tilized])


def _before_reshaping(op: ToLayoutOp | FromDeviceOp, inner: ReshapeOp, rewriter: PatternRewriter) -> None:
    """op(reshape(x)) becomes reshape(op(x))."""
    sizes = shape(inner.input)
    made = type(op).make([inner.input], [laid_out(sizes, layout_of(op.result).with_(sizes))], op.location)
    reshaped = ReshapeOp.make([made.results[0]], [op.result.type], inner.location, shape=shape(op.result))
    rewriter.replace(op, [made, reshaped])


@pattern(ToLayoutOp)
def untilize_before_reshape(op: ToLayoutOp, rewriter: PatternRewriter) -> None:
    """to_layout(reshape(x)) out of tiles is reshape(to_layout(x)), where x takes fewer tiles.

    As the weights of a convolution of 1x1: scaled as a matrix, and then a tile for each element.
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
    """from_device(reshape(x)) is reshape(from_device(x)), where x is row-major: a view on the host."""
    inner = producer(op.input, ReshapeOp)
    if inner is None or layout_of(inner.input).tiled or only_user(op.input) is not op:
        return
    _before_reshaping(op, inner, rewriter)


@pattern(Conv2dOp)
def row_major_convolution(op: Conv2dOp, rewriter: PatternRewriter) -> None:
    """A convolution whose activation is tilized just for it takes the row-major one; it makes its own tiles."""
    tilize = producer(op.input, ToLayoutOp)
    if tilize is None or only_user(op.input) is not op:
        return
    source, wanted = layout_of(tilize.input), layout_of(op.input)
    if wanted.tiled and not source.tiled and source.dtype == wanted.dtype:
        op.operands[0] = tilize.input
        rewriter.notify_op_modified(op)


def run(module: ModuleOp, *, optimise: bool, exact: bool) -> None:
    """Joins moves, and functions with the ops that they follow.

    Args:
        module: TTNN module that is changed in place.
        optimise: Also fuses functions into matrix products and reads row-major tensors in convolutions.
        exact: Leaves out what may change results.
    """
    moves = (
        join_reshapes,
        sink_reshape,
        sink_reshape_past_rows,
        join_to_layouts,
        reshape_before_tilize,
        untilize_before_reshape,
        reshape_on_host,
        fill_as_wanted,
    )
    casts = (join_unsigned_casts, truth_in_its_type, cast_truth_once, join_integer_casts)
    optimised = (fuse_into_product, row_major_convolution) if optimise else ()
    run_patterns(module, fuse_into_convolution, *optimised, *fuse_rotary.PATTERNS, *casts, *moves, exact=exact)
    # After the others, which know the functions as ops of their own.
    run_patterns(module, *fuse_unary.PATTERNS, exact=exact)
