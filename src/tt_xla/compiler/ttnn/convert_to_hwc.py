"""Pass of level 2: images of few channels become rows of channels by ``convert_to_hwc`` where that is faster.

A program gets images with the channels first, and its first convolution wants rows of channels. A permute turns blocks
of tiles, of which three channels fill a tenth. TT-NN's ``convert_to_hwc`` turns row-major shards, and leaves the rows
in L1, as shards that the convolution reads as they are. It fills channels up to a multiple of 8 with what lies in L1
(seen on Tenstorrent's functional simulator: infinities of an earlier tensor), so the images get channels of zeros
first, and the weights too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.constness import constant_values
from tt_xla.compiler.instructions import plain_instruction
from tt_xla.compiler.rewriting import body, functions, is_entry
from tt_xla.compiler.ttnn.layouts.forms import shards_of_images
from tt_xla.compiler.ttnn.preparations import preparation_of, prepare_for_rows
from tt_xla.cost import instruction_cost
from tt_xla.cost.rates import rates_of
from tt_xla.ir.base import TTOp, only_user, shape
from tt_xla.ir.layout import DataType, TensorLayout, round_up
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.memory import FromDeviceOp, ToDeviceOp, ToLayoutOp, TypecastOp
from tt_xla.ir.ttnn.structure import ConvertToHwcOp, PadOp, PermuteOp, ReshapeOp
from tt_xla.ir.ttnn.window import Conv2dOp, PrepareConv2dBiasOp, PrepareConv2dWeightsOp
from tt_xla.target import Target

_CHANNELS = 8
"""Number of channels of which ``convert_to_hwc`` writes multiples: 16 bytes of bfloat16."""


class _Entry(NamedTuple):
    """The ops between images and the convolution that alone reads them."""

    permute: PermuteOp
    flatten: ReshapeOp
    convolution: Conv2dOp
    weights: PrepareConv2dWeightsOp
    bias: PrepareConv2dBiasOp | None


def run(module: ModuleOp, target: Target) -> None:
    """Rewrites the permutes of entry functions that only a convolution reads, where that is predicted to be faster."""
    for function in functions(module):
        if not is_entry(function):
            continue
        constants = constant_values(function)
        for op in list(body(function).ops):
            entry = _entry(op) if isinstance(op, PermuteOp) else None
            if entry is not None and entry.weights.weight_tensor in constants and _saves(entry, target):
                _convert(entry)


def _entry(op: PermuteOp) -> _Entry | None:
    """Returns the ops after a permute of images to rows that one convolution with prepared weights reads, or None."""
    if tuple(op.permutation) != (0, 2, 3, 1) or layout_of(op.result).dtype is not DataType.BF16:
        return None
    flatten = only_user(op.result)
    convolution = only_user(flatten.results[0]) if isinstance(flatten, ReshapeOp) else None
    if not isinstance(flatten, ReshapeOp) or not isinstance(convolution, Conv2dOp) or convolution.groups != 1:
        return None
    weights = preparation_of(convolution.weight)
    bias = preparation_of(convolution.bias) if convolution.bias is not None else None
    if not isinstance(weights, PrepareConv2dWeightsOp) or (convolution.bias is None) != (bias is None):
        return None
    assert bias is None or isinstance(bias, PrepareConv2dBiasOp)
    return _Entry(op, flatten, convolution, weights, bias)


def _saves(entry: _Entry, target: Target) -> bool:
    """Returns whether the rows are predicted to be ready earlier."""
    before, after = (
        TensorSpec(shape(value), layout_of(value)) for value in (entry.permute.input, entry.permute.result)
    )
    images, channels, high, wide = before.shape
    sizes = (1, images, round_up(channels, _CHANNELS), high * wide)
    rows = (1, 1, images * high * wide, sizes[2])
    shards = shards_of_images(sizes, DataType.BF16, target)
    if shards is None or _bytes(shards.images) + _bytes(shards.results[0]) > target.l1_usable_bytes / 2:
        return False
    gap = rates_of(target).gap_traced

    def cost(op: str, source: TensorSpec, result: TensorSpec, **values: Any) -> float:
        """Returns the predicted time of an op in us, with the gap after it."""
        return instruction_cost(Instruction(op, {"input": 0}, (1,), values), (source, result), target).total_us + gap

    untiled, as_rows = _rows(before.shape), _rows((1, images, channels, high * wide))
    padded = _rows(sizes)
    now = instruction_cost(plain_instruction(entry.permute), (before, after), target).total_us + gap
    tilized = _tilized_rows(entry.permute.input)
    now += cost("ttnn.to_layout", untiled, before) if tilized is not None else 0.0
    then = 0.0 if tilized is not None else cost("ttnn.to_layout", before, untiled)
    then += cost("ttnn.reshape", untiled, as_rows)
    then += cost("ttnn.pad", as_rows, padded) if channels != sizes[2] else 0.0
    then += cost("ttnn.to_memory_config", padded, TensorSpec(sizes, shards.images))
    then += cost("ttnn.convert_to_hwc", TensorSpec(sizes, shards.images), TensorSpec(rows, shards.results[0]))
    return then < now


def _bytes(layout: TensorLayout) -> int:
    """Returns the bytes of a row-major shard."""
    return math.prod(layout.shard) * layout.dtype.bits // 8


def _rows(sizes: tuple[int, ...]) -> TensorSpec:
    """Returns a row-major tensor in DRAM."""
    return TensorSpec(sizes, TensorLayout.of(sizes, DataType.BF16, tiled=False))


def _tilized_rows(value: SSAValue) -> SSAValue | None:
    """Returns the rows from which a value is tilized, before or after reshapes that nothing else reads, or None."""
    owner = value.owner
    if isinstance(owner, ToLayoutOp) and not layout_of(owner.input).tiled and layout_of(owner.input).on_device:
        same = layout_of(owner.input).dtype is layout_of(value).dtype
        return owner.input if same else None
    return _tilized_rows(owner.input) if isinstance(owner, ReshapeOp) and value.has_one_use() else None


def _convert(entry: _Entry) -> None:
    """Replaces the permute and gives images and weights channels of zeros."""
    images, channels, high, wide = shape(entry.permute.input)
    padded = round_up(channels, _CHANNELS)
    point = InsertPoint.before(entry.flatten)

    def insert(kind: type[TTOp], operand: SSAValue, sizes: tuple[int, ...], **values: Any) -> SSAValue:
        """Inserts an op with a row-major result."""
        op = kind.make([operand], [_rows_type(sizes)], entry.permute.location, **values)
        Rewriter.insert_op(op, point)
        return op.results[0]

    rows = _tilized_rows(entry.permute.input)
    if rows is None:
        rows = insert(ToLayoutOp, entry.permute.input, shape(entry.permute.input))
    sizes = (1, images, channels, high * wide)
    rows = insert(ReshapeOp, rows, sizes, shape=sizes)
    if padded != channels:
        sizes = (1, images, padded, high * wide)
        borders = (0, 0, 0, 0, 0, padded - channels, 0, 0)
        rows = insert(PadOp, rows, sizes, padding=borders, value=0.0, use_multicore=True)
        _pad_weights(entry, padded)
    rows = insert(ConvertToHwcOp, rows, (1, 1, images * high * wide, padded))
    prepare_for_rows(entry.convolution)
    entry.flatten.result.replace_all_uses_with(rows)
    unused: SSAValue = entry.flatten.result
    while isinstance(op := unused.owner, ReshapeOp | PermuteOp | ToLayoutOp) and not op.results[0].uses:
        unused = op.input
        Rewriter.erase_op(op)


def _pad_weights(entry: _Entry, channels: int) -> None:
    """Gives the weights channels of zeros, before they are prepared."""
    prepared = entry.weights
    host, point = prepared.weight_tensor, InsertPoint.before(prepared)

    def insert(kind: type[TTOp], operands: list[SSAValue], type_: Attribute, **values: Any) -> SSAValue:
        """Inserts an op before the weights are prepared."""
        op = kind.make(operands, [type_], prepared.location, **values)
        Rewriter.insert_op(op, point)
        return op.results[0]

    outputs, before, high, wide = shape(host)
    sizes, borders = (outputs, channels, high, wide), (0, 0, 0, channels - before, 0, 0, 0, 0)
    if isinstance(host.owner, FromDeviceOp) and not layout_of(host.owner.input).tiled:
        weights = host.owner.input
    else:
        weights = insert(ToDeviceOp, [host, prepared.device], _rows_type(shape(host)))
    weights = insert(PadOp, [weights], _rows_type(sizes), padding=borders, value=0.0, use_multicore=True)
    weights = insert(FromDeviceOp, [weights], laid_out(sizes, layout_of(host).with_(sizes)))
    prepared.operands[0] = weights
    for op in (prepared, entry.bias, entry.convolution):
        if op is not None:
            op.in_channels = channels
    matrix, value = (1, 1, high * wide * channels, outputs), entry.convolution.weight
    while True:
        owner = value.owner
        Rewriter.replace_value_with_new_type(value, laid_out(matrix, layout_of(value).with_(matrix)))
        if not isinstance(owner, TypecastOp):
            return
        value = owner.input


def _rows_type(sizes: tuple[int, ...]) -> Attribute:
    """Returns the type of a row-major tensor in DRAM."""
    spec = _rows(sizes)
    return laid_out(spec.shape, spec.layout)
