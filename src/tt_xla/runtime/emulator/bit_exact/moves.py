"""Data movement through the compute cores: elements that pass an accumulator leave it by the packer.

The packer makes a zero of each denormal and of a negative zero, and an infinity of a NaN in bfloat16. Ops that can move
whole tiles or rows do so, and no core computes with those; float32 passes as it is, and so do integers. Some moves of
block floats are moves of bfloat16 between two conversions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import FACE, TILE, BufferType
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.bit_exact.registers import packed, repacked, source
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel, kernels

Tensor = torch.Tensor

_RANK = 4
"""Dimensions that most of TT-NN's moves have; it adds leading ones to tensors with fewer."""
_DRAM_ALIGNMENT, _L1_ALIGNMENT = 64, 16
"""Bytes at whose multiples a row begins in each memory."""


def _tiled(ctx: Context) -> bool:
    return any(spec.layout.tiled for spec in ctx.specs)


def _changes_layout(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    return ctx.spec("input").layout.tiled != ctx.result.layout.tiled


def _permutes(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    """Returns whether a permutation transposes tiles: those that leave the last dimension in its place move rows."""
    return _moves(ctx, attributes["permutation"])


def _transposes(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    return _moves(ctx, _swapped(ctx, attributes))


def _swapped(ctx: Context, attributes: Mapping[str, Any]) -> Sequence[int]:
    """Returns a transposition as a permutation."""
    order = list(range(len(ctx.result.shape)))
    first, second = attributes["dim0"], attributes["dim1"]
    order[first], order[second] = order[second], order[first]
    return order


def _moves(ctx: Context, permutation: Sequence[int]) -> bool:
    """Returns whether elements of a row come apart. Block floats pass the packer too where they become bfloat16."""
    spec, last = ctx.spec("input"), len(permutation) - 1
    order = [dim % len(permutation) for dim in permutation]
    if spec.layout.dtype.is_block_float and _takes_bfloat16(ctx, order):
        return True
    is_row = not spec.layout.tiled and spec.shape[order[last]] == spec.shape[last] == 1
    return order[last] != last and not is_row


def _takes_bfloat16(ctx: Context, order: Sequence[int]) -> bool:
    """Returns whether TT-NN converts block floats for a permutation: all but swaps of the first two or the last two
    dimensions of four, and those that change nothing."""
    if len(order) > _RANK or (ctx.op == "ttnn.permute" and list(order) == list(range(len(order)))):
        return False
    added = _RANK - len(order)
    whole = [*range(added), *(dim + added for dim in order)]
    return whole not in ([0, 1, 3, 2], [1, 0, 2, 3])


def _joins(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    """Returns whether tensors are joined along rows or columns that fill no tiles; or without tiles along columns that
    fill no unit of the memory, for which TT-NN transposes the tensors."""
    inputs = ctx.operands["inputs"]
    assert isinstance(inputs, tuple)
    along = attributes["dim"] % len(ctx.result.shape) - len(ctx.result.shape)
    if _tiled(ctx):
        is_row = len(ctx.result.shape) == 1
        return is_row or (along >= -2 and any(spec.shape[along] % TILE for spec in inputs))
    return along == -1 and any(_is_unaligned(spec, spec.shape[-1]) for spec in inputs)


def _is_unaligned(spec: TensorSpec, columns: int) -> bool:
    """Returns whether rows of so many elements fill no unit of the memory."""
    unit = _DRAM_ALIGNMENT if spec.layout.buffer is BufferType.DRAM else _L1_ALIGNMENT
    return columns * spec.layout.dtype.element_bytes % unit != 0


def _repeats_elements(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    """Returns whether tiles are taken apart, or the elements of rows, for which TT-NN transposes the tensor."""
    rank = len(ctx.result.shape)
    return _tiled(ctx) or (rank > 1 and attributes["dim"] % rank == rank - 1)


def _rolls(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    """Returns whether tiles are taken apart, or rows in parts that TT-NN joins by transposing them. Without dimensions
    elements move along one row."""
    spec, shifts, dims = ctx.spec("input_tensor"), attributes["shifts"], attributes.get("dim")
    shape = spec.shape if dims is not None else (1, math.prod(spec.shape))
    pairs = zip(
        *([each] if isinstance(each, int) else each for each in (shifts, -1 if dims is None else dims)), strict=True
    )
    for shift, dim in pairs:
        along = dim % len(shape) - len(shape)
        part = shift % shape[along]
        parts = (part, shape[along] - part) if part else ()
        if _tiled(ctx) and along >= -2 and any(each % TILE for each in parts):
            return True
        if not _tiled(ctx) and along == -1 and any(_is_unaligned(spec, each) for each in parts):
            return True
    return False


def _repeats_parts_of_tiles(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    """Returns whether rows or columns that fill no tiles are repeated."""
    sides = zip(ctx.spec("input").shape[-2:], ctx.result.shape[-2:], strict=False)
    return _tiled(ctx) and any(size != made and size % TILE for size, made in sides)


def _cuts_tiles(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    """Returns whether a slice begins within a tile, or leaves elements out."""
    begins, steps = attributes["begins"], attributes["step"]
    return _tiled(ctx) and (any(step != 1 for step in steps) or any(begin % TILE for begin in begins[-2:]))


_COMPUTED: Mapping[str, Callable[[Context, Mapping[str, Any]], bool]] = {
    "ttnn.permute": _permutes,
    "ttnn.transpose": _transposes,
    "ttnn.repeat_interleave": _repeats_elements,
    "ttnn.roll": _rolls,
    "ttnn.to_layout": _changes_layout,
    "ttnn.concat": _joins,
    "ttnn.repeat": _repeats_parts_of_tiles,
    "ttnn.slice_static": _cuts_tiles,
}
"""Whether the compute cores execute a move, by op."""


def _through_packer(op: str) -> Callable[..., Tensor]:
    """Returns a kernel whose result leaves the accumulator by the packer if compute cores execute the op."""
    function = kernels()[op].function

    @functools.wraps(function)
    def run(ctx: Context, *operands: Any, **named: Any) -> Tensor:
        result = function(ctx, *operands, **named)
        on_device = all(spec.layout.on_device for spec in ctx.specs)
        if not (on_device and ctx.dtype.is_float and _COMPUTED[op](ctx, named)):
            return result
        return repacked(result, ctx.dtype).to(ctx.container)

    return run


@kernel("ttnn.repeat_interleave", bit_exact=True)
def repeat_interleave(ctx: Context, input: Tensor, repeats: int, dim: int) -> Tensor:
    """Repeated elements. Along rows TT-NN transposes the tensor before and after, which moves block floats to blocks of
    columns in between."""
    run = _through_packer(ctx.op)
    if not ctx.dtype.is_block_float or input.ndim < 2 or dim % input.ndim != input.ndim - 1 or repeats == 1:
        return run(ctx, input, repeats=repeats, dim=dim)
    turned = repacked(repacked(input.mT, ctx.dtype).repeat_interleave(repeats, -2), ctx.dtype)
    return repacked(turned.mT, ctx.dtype).to(ctx.container)


for _op in _COMPUTED.keys() - {"ttnn.repeat_interleave"}:
    kernel(_op, bit_exact=True)(_through_packer(_op))


@kernel("ttnn.reshape", bit_exact=True)
def reshape(ctx: Context, input: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape. Where block floats get another place, TT-NN converts them to bfloat16
    and back."""
    result = input.reshape(tuple(shape))
    before, after = ((1, 1, *each)[-2:] for each in (input.shape, result.shape))
    is_view = before[1] == after[1] and (before[0] == after[0] or before[0] % TILE == after[0] % TILE == 0)
    on_device = all(spec.layout.on_device for spec in ctx.specs)
    if is_view or not ctx.dtype.is_block_float or not on_device:
        return result
    return repacked(result, ctx.dtype).to(ctx.container)


def with_filled_tiles(tensor: Tensor, dtype: DataType, value: float = 0.0, *, rows: bool = True) -> Tensor:
    """Returns elements after TT-NN wrote the padding of their tiles (``fill_implicit_tile_padding``): tiles that have
    some pass the compute cores. Block floats are converted to bfloat16 and back, and share exponents with the padding.

    Args:
        tensor: the elements.
        dtype: their data type.
        value: the number that is written.
        rows: whether rows of padding are filled, besides columns.
    """
    height, width = (1, 1, *tensor.shape)[-2:]
    whole_rows = height // TILE * TILE if rows else height
    whole_columns = width // TILE * TILE
    if dtype is DataType.F32 or not dtype.is_float or (whole_rows, whole_columns) == (height, width):
        return tensor
    filled = F.pad(tensor, (0, -width % FACE), value=value) if dtype.is_block_float and tensor.ndim else tensor
    result = repacked(filled, dtype)[..., :width].to(tensor.dtype)
    if not dtype.is_block_float:
        matrix, moved = (each.reshape(-1, height, width) for each in (result, tensor))
        matrix[:, :whole_rows, :whole_columns] = moved[:, :whole_rows, :whole_columns]
    return result


@kernel("ttnn.pad", bit_exact=True)
def pad(ctx: Context, input: Tensor, padding: Sequence[int], value: float = 0.0, use_multicore: bool = True) -> Tensor:
    """A tensor with elements around it. TT-NN fills the operand's tiles first, and a pad by nothing only does that. All
    padding shares the exponents of block floats. Rows of float32 get the bits of two bfloat16 in place of the value."""
    run, dtype = kernels()[ctx.op].function, ctx.dtype
    if not dtype.is_float or not all(spec.layout.on_device for spec in ctx.specs):
        return run(ctx, input, padding, value)
    if not ctx.result.layout.tiled:
        return run(ctx, input, padding, _twice(value) if dtype is DataType.F32 and use_multicore else value)
    moved = run(ctx, with_filled_tiles(input, dtype, value), padding, value)
    if not dtype.is_block_float or not any(padding):
        return moved
    columns = moved.shape[-1]
    filled = F.pad(moved, (0, -columns % FACE), value=value)
    return repacked(filled, dtype)[..., :columns].to(ctx.container)


def _twice(value: float) -> float:
    """Returns the float32 whose halves are a number rounded to bfloat16."""
    half = torch.tensor([value, value], device="cpu", dtype=torch.float32).to(torch.bfloat16)
    return float(half.view(torch.float32)) if math.isfinite(value) else value


@kernel("ttnn.embedding", bit_exact=True)
def embedding(ctx: Context, input: Tensor, weight: Tensor) -> Tensor:
    """Rows of a table. TT-NN reads a table in rows, so that its tiles pass the packer, as do tiles of the result."""
    rows = kernels()[ctx.op].function(ctx, input, weight)
    tiled = ctx.spec("weight").layout.tiled or ctx.result.layout.tiled
    if not tiled or rows.dtype is not torch.bfloat16:
        return rows
    return packed(repacked(rows, DataType.BF16), ctx.dtype, rounds_first=False).to(ctx.container)


@kernel("ttnn.split_query_key_value_and_split_heads", "ttnn.experimental.nlp_create_qkv_heads", bit_exact=True)
def split_heads(ctx: Context, *operands: Any, **named: Any) -> tuple[Tensor, ...]:
    """The matrix unit transposes keys, of which source registers hold 19 bits."""
    query, key, value = kernels()[ctx.op].function(ctx, *operands, **named)
    transposed = named.get("transpose_key", named.get("transpose_k_heads", False))
    if transposed and ctx.results[1].layout.dtype is DataType.F32:
        key = source(key.contiguous(), wide=True)
    return query, key, value
