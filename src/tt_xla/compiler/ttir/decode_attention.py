"""Attention of one query position for each sequence becomes TT-NN's op for decoding where that is faster.

The op for many queries pads each position to a tile, and reads the keys of a group again for each of its heads. The op
for decoding has the query heads of a sequence as rows, and cuts keys and values over the cores. TT-NN's checks in mock
mode show what it takes: keys in whole tiles, a mask with a row for each sequence and head, and at most 64 cores a head.
In the place of a mask that lets each query see the keys up to its position, the op takes the positions: it reads no
mask, and on the chip no keys after the position. Its kernel scales the mask like the scores, so the mask is divided by
the scale first.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp, bf16
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler import cse
from tt_xla.compiler.analysis.constants import splat_of
from tt_xla.compiler.instructions import plain_instruction
from tt_xla.compiler.reshape_routes import reshape_us
from tt_xla.compiler.rewriting import Pattern, body, functions, insert_before, run_patterns
from tt_xla.compiler.ttir.decode_positions import Positions, last_seen
from tt_xla.compiler.ttir.match import Add, Multiply, reshaped
from tt_xla.cost import instruction_cost
from tt_xla.ir.base import DATA_TYPES, only_user, shape, tensor, tensor_type
from tt_xla.ir.layout import TILE, TensorLayout
from tt_xla.ir.program import Instruction, Operand, TensorSpec
from tt_xla.ir.shapes import Shape
from tt_xla.ir.ttir.attention import ScaledDotProductAttentionDecodeOp, ScaledDotProductAttentionOp
from tt_xla.ir.ttir.structure import BroadcastOp, ClampScalarOp, ReshapeOp
from tt_xla.target import Target

_MOST_CORES_OF_A_HEAD = 64
"""Cores over which TT-NN cuts the positions of one head of keys; it fails where its default exceeds them."""


def run(module: ModuleOp, target: Target, *, exact: bool) -> None:
    """Rewrites the attention ops of a module.

    Args:
        module: TTIR module that is changed in place.
        target: Chip whose times are predicted.
        exact: Whether masks stay masks, and are divided by powers of 2 alone. With a position below 0 a mask hides all
            keys, and positions hide all but the first.
    """

    def rewrite(op: ScaledDotProductAttentionOp, rewriter: PatternRewriter) -> None:
        if not _is_taken(op, target):
            return
        mask = op.attention_mask
        positions = None if exact or mask is None else last_seen(mask, shape(op.query)[0])
        has_mask = mask is not None and positions is None
        if exact and has_mask and math.frexp(_scale(op))[0] != 0.5:
            return
        if _is_faster(op, target, has_mask=has_mask):
            _rewrite(op, rewriter, positions)

    ops = (op for function in functions(module) for op in body(function).ops)
    if any(isinstance(op, ScaledDotProductAttentionOp) for op in ops):
        run_patterns(module, Pattern((ScaledDotProductAttentionOp,), rewrite))
        cse.run(module)


def _is_taken(op: ScaledDotProductAttentionOp, target: Target) -> bool:
    """Returns whether TT-NN's op for decoding computes what an attention op does."""
    (batch, _, rows, _), (_, groups, keys, _) = shape(op.query), shape(op.key)
    if rows != 1 or keys % TILE or 0 in (*shape(op.query), *shape(op.key)) or shape(op.key) != shape(op.value_):
        return False
    if op.is_causal or op.sliding_window_size is not None or op.attention_sink is not None:
        return False
    if _scale(op) == 0:
        return False
    is_bf16 = all(tensor_type(value).element_type == bf16 for value in op.operands)
    return is_bf16 and target.cores // (batch * groups) <= _MOST_CORES_OF_A_HEAD


def _is_faster(op: ScaledDotProductAttentionOp, target: Target, *, has_mask: bool) -> bool:
    """Returns whether the op for decoding, with the mask and the reshapes that it needs, is predicted to be faster."""
    rows = _rows(op)
    values = [_spec(rows), *(_spec(shape(value)) for value in op.operands[1:3])]
    operands: dict[str, Operand] = {"query": 0, "key": 1, "value_": 2}
    time = 0.0
    if op.attention_mask is not None and has_mask:
        operands["attention_mask"] = 3
        values.append(_spec(_mask_shape(op)))
        mask = _spec(shape(op.attention_mask))
        divide = Instruction("ttnn.multiply", {"lhs": 0, "rhs": 1}, (2,), {})
        time += instruction_cost(divide, [mask, _spec((1,)), mask], target).total_us
        repeat = Instruction("ttnn.repeat", {"input": 0}, (1,), {})
        time += instruction_cost(repeat, [mask, values[3]], target).total_us
    decode = Instruction("ttnn.scaled_dot_product_attention_decode", operands, (len(values),), {})
    time += instruction_cost(decode, [*values, _spec(rows)], target).total_us
    time += _reshapes_us(op, rows, target)
    before = [_spec(shape(value)) for value in (*op.operands, op.result)]
    plain = instruction_cost(plain_instruction(op), before, target).total_us
    return time < plain + _reshapes_us(op, shape(op.query), target)


def _reshapes_us(op: ScaledDotProductAttentionOp, rows: Shape, target: Target) -> float:
    """Returns the predicted time of the reshapes around an op whose queries and result have a shape, in us.

    A query that the program does not reshape comes from ops whose rows ttir-fold-rows puts into the shape.
    """
    user = only_user(op.result)
    after = shape(user.result if isinstance(user, ReshapeOp) else op.result)
    time = reshape_us(_spec(rows), _spec(after), target)
    if isinstance(op.query.owner, ReshapeOp):
        time += reshape_us(_spec(shape(op.query.owner.input)), _spec(rows), target)
    return time


def _rewrite(op: ScaledDotProductAttentionOp, rewriter: PatternRewriter, positions: Positions | None) -> None:
    """Replaces an attention op by the one for decoding."""
    rows = _rows(op)
    query = reshaped(rewriter, op, op.query, rows)
    mask = _mask(op, rewriter) if positions is None else None
    seen = None if positions is None else _seen(op, positions, rewriter)
    attended = insert_before(
        rewriter,
        op,
        ScaledDotProductAttentionDecodeOp,
        [query, op.key, op.value_, mask, seen, None],
        tensor(rows, bf16),
        is_causal=seen is not None,
        scale=op.scale,
    )
    rewriter.replace(op, [], [reshaped(rewriter, op, attended, shape(op.result))])


def _seen(op: ScaledDotProductAttentionOp, positions: Positions, rewriter: PatternRewriter) -> SSAValue:
    """Returns the last key that each sequence sees, [sequences]."""
    (sequences, _, _, _), keys = shape(op.query), shape(op.key)[2]
    count = math.prod(shape(positions.limit))
    value = reshaped(rewriter, op, positions.limit, (count,))
    type_ = tensor_type(value)
    if positions.offset:
        offset = splat_of(positions.offset, tensor((1,), type_.element_type), op.location)
        rewriter.insert(offset, InsertPoint.before(op))
        value = insert_before(rewriter, op, Add, [value, offset.result], type_)
    value = insert_before(rewriter, op, ClampScalarOp, [value], type_, min=0, max=keys - 1)
    if count == sequences:
        return value
    sizes = tensor((sequences,), type_.element_type)
    return insert_before(rewriter, op, BroadcastOp, [value], sizes, broadcast_dimensions=(sequences,))


def _mask(op: ScaledDotProductAttentionOp, rewriter: PatternRewriter) -> SSAValue | None:
    """Returns the mask divided by the scale, with a row for each sequence and head."""
    if op.attention_mask is None:
        return None
    batch, heads, _, keys = (1, 1, 1, *shape(op.attention_mask))[-4:]
    inverse = splat_of(1 / _scale(op), tensor((1,), bf16), op.location)
    rewriter.insert(inverse, InsertPoint.before(op))
    divided = insert_before(rewriter, op, Multiply, [op.attention_mask, inverse.result], tensor_type(op.attention_mask))
    value = reshaped(rewriter, op, divided, (batch, 1, heads, keys))
    sizes = _mask_shape(op)
    factors = tuple(size // own for size, own in zip(sizes, shape(value), strict=True))
    if sizes == shape(value):
        return value
    return insert_before(rewriter, op, BroadcastOp, [value], tensor(sizes, bf16), broadcast_dimensions=factors)


def _scale(op: ScaledDotProductAttentionOp) -> float:
    """Returns the scale of the scores."""
    return shape(op.query)[-1] ** -0.5 if op.scale is None else op.scale


def _rows(op: ScaledDotProductAttentionOp) -> Shape:
    """Returns the shape of the queries with heads as rows."""
    batch, heads, _, width = shape(op.query)
    return (1, batch, heads, width)


def _mask_shape(op: ScaledDotProductAttentionOp) -> Shape:
    batch, heads, _, _ = shape(op.query)
    return (batch, 1, heads, shape(op.key)[2])


def _spec(sizes: Shape) -> TensorSpec:
    """Returns a bfloat16 tensor in tiles in DRAM."""
    return TensorSpec(sizes, TensorLayout.of(sizes, DATA_TYPES[bf16]))
