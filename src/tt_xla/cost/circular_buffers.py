"""L1 that an op needs on each core while it runs, besides operands and results: its circular buffers, and the internal
tensors of convolutions and pooling.

The figures were measured with TT-NN's mock mode on p150: L1 is filled with a tensor until an op reports that its
circular buffers clash with it. A figure is right if it is not below the measured one; ``docs/architecture/layouts.md``
says how that is checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tt_xla.cost import families
from tt_xla.cost.convolution_buffers import halo_buffers, halo_tensor, is_of_shards, sharded_convolution_buffers
from tt_xla.cost.sharding import same_shards
from tt_xla.ir.layout import TILE, BufferType, DataType, round_up
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.target import Target

KIB = 1024

_OTHERS = 192 * KIB
"""Upper bound, in bytes, for an op that belongs to no family below."""

Buffers = Callable[[Instruction, list[TensorSpec], TensorSpec, Target], int]


def circular_buffer_bytes(instruction: Instruction, values: Sequence[TensorSpec], target: Target) -> int:
    """Returns the bytes of each core's L1 that an instruction needs from the bottom up, below all tensors in L1."""
    if not instruction.results:
        return 0
    name = instruction.op.rpartition(".")[2]
    inputs: list[TensorSpec] = []
    for operand in instruction.operands.values():
        inputs += [values[number] for number in ((operand,) if isinstance(operand, int) else operand)]
    result = values[instruction.results[0]]
    if not result.layout.on_device and not any(spec.layout.on_device for spec in inputs):
        return 0
    return min(_MODELS.get(name, _others)(instruction, inputs, result, target), target.l1_usable_bytes)


def internal_tensor(instruction: Instruction, values: Sequence[TensorSpec]) -> TensorSpec | None:
    """Returns the tensor that an op allocates in L1 before its result and frees at its end, if there is one."""
    source = instruction.operands.get("input")
    if not isinstance(source, int) or not instruction.results:
        return None
    return halo_tensor(instruction, values[source], values[instruction.results[0]])


def _tile(spec: TensorSpec) -> int:
    return spec.layout.dtype.tile_bytes


def _page(spec: TensorSpec) -> int:
    return round_up(spec.layout.page_bytes, 64)


def _others(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Returns two pages of each tensor, which is much if rows are pages, but at least what data movement takes."""
    return max(_OTHERS, 2 * sum(_page(spec) for spec in (*inputs, result)))


def _all(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Returns all of L1: functions that a loop or a case runs were laid out as if they had L1 to themselves."""
    return target.l1_usable_bytes


def _elementwise(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Returns two tiles of the result and of each operand that is not on its core already.

    A broadcast operand takes two more, and an operand that functions are applied to first takes one more.
    """
    tiles = 0
    for spec in inputs:
        if not (result.layout.is_sharded and same_shards(spec.layout, result.layout)):
            tiles += 2 * _tile(spec)
        if spec.shape != result.shape:
            tiles += 2 * _tile(spec)
    for spec, side in zip(inputs, families.STEPS_BEFORE, strict=False):
        if instruction.attributes.get(side):
            tiles += _tile(spec)
    return tiles + 2 * _tile(result)


def _columns(spec: TensorSpec) -> int:
    return -(-(spec.shape[-1] if spec.shape else 1) // TILE)


def _softmax(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Returns a row of tiles in and out, and one more for the numerically stable softmax.

    Measured: 95 and 129 KB for 16 columns, 818 KB for 128 columns.
    """
    tile = max(_tile(inputs[0]), _tile(result))
    rows = 3 if instruction.attributes.get("numericStable") else 2
    return min(rows * _columns(inputs[0]) * tile + 16 * tile, 900 * KIB)


_NORM_STREAMED = 184 * KIB
"""Bytes for layer and RMS norm of interleaved tensors, which stream long rows. Measured: 174 KB, 16 or 128 columns."""


def _norm(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Returns, for sharded tensors, the shard in the accumulator's type, eight tiles for each of its rows, and its
    weights. Measured: 378, 494, 200 and 111 KB for shards of 8x2, 8x4, 2x4 and 1x1 tiles; with 16-bit sums 193, 371
    and 207 KB for 8x2, 12x4 and 7x3 tiles."""
    if not result.layout.is_sharded:
        return _NORM_STREAMED
    rows, columns = result.layout.shard
    return (rows * columns + 8 * rows + 7 * columns + 14) * _accumulator(instruction).tile_bytes


def _accumulator(instruction: Instruction) -> DataType:
    """Returns the type of the sums in the destination register."""
    config = instruction.attributes.get("compute_config") or {}
    return DataType.F32 if config.get("fp32_dest_acc_en", True) else DataType.BF16


def _reduction(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    return 6 * _tile(inputs[0]) + 4 * _tile(result) + 64 * KIB


def _matmul(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Returns the bytes for the program config of a product."""
    config = instruction.attributes.get("matmul_program_config")
    if config and config["config"] == "dram_sharded":
        tiles = [_tile(spec) for spec in (inputs[0], inputs[1], result)]
        return dram_sharded_buffers(config, inputs[1].layout.shard[1], *tiles, bias=len(inputs) > 2)
    if config:
        local = inputs[0].layout.memory == "height_sharded"
        return matmul_buffers(instruction, config, inputs, result, in_place=result.layout.is_sharded, local=local)
    return _AUTOMATIC_MATMUL


_AUTOMATIC_MATMUL = 160 * KIB
"""Bytes for a matmul without a program config, whose blocks TT-NN fits into free L1. Measured: at least 13 to 21 KB."""


def matmul_buffers(
    instruction: Instruction,
    config: Mapping[str, Any],
    inputs: Sequence[TensorSpec],
    result: TensorSpec,
    *,
    in_place: bool,
    local: bool,
) -> int:
    """Returns the bytes of the circular buffers of a matmul with a program config.

    These are blocks of both operands, the block of results, and partial sums. Blocks are there twice if several follow
    each other. A left operand on its own core is copied if it has several blocks. Partial sums take the place of
    results if both have one format: float32 or bfloat16 if the packer adds them up, as it does from three blocks on,
    with a bias from two; else float32 or the format of the result. Measured for height and block shards of bfp_bf8 and
    bf16, one block and several, both accumulators, with and without bias: equal to the byte.

    Args:
        instruction: the matmul.
        config: fields of the program config.
        inputs: the operands.
        result: the result.
        in_place: whether the result is sharded, so that its block is the tensor itself.
        local: whether the left operand is on the core that uses it.
    """
    depth, inner = int(config["in0_block_w"]), _columns(inputs[0])
    rows, columns = int(config["per_core_m"]), int(config.get("per_core_n", 1))
    tile_a, tile_b, tile_out = _tile(inputs[0]), _tile(inputs[1]), _tile(result)
    blocks, bias = -(-inner // depth), len(inputs) > 2
    buffered = 2 if blocks > 1 else 1
    left = buffered * rows * depth * tile_a
    if local:
        left = rows * inner * tile_a if blocks > 1 else 0
    right = buffered * columns * depth * tile_b
    compute = instruction.attributes.get("compute_config") or {}
    adds_up = compute.get("packer_l1_acc", True) and blocks > (1 if bias else 2)
    sum_tile = DataType.BF16.tile_bytes if adds_up else tile_out
    if compute.get("fp32_dest_acc_en", True):
        sum_tile = DataType.F32.tile_bytes
    sums = rows * columns * sum_tile if sum_tile != tile_out else 0
    out = 0 if in_place else rows * columns * tile_out
    return left + right + sums + out + (columns * _tile(inputs[2]) if bias else 0) + KIB


def dram_sharded_buffers(
    config: Any, columns: int, tile_a: int, tile_b: int, tile_out: int, *, bias: bool = False
) -> int:
    """Returns the bytes of the circular buffers of a product whose weights have ``columns`` tiles in each DRAM bank.

    Three blocks of weights, two of the row, the results and their sums. Measured with 32 columns of bfp_bf8 in a bank
    and blocks of 1, 2 and 4 tiles: 307, 415 and 632 KB; with 64 columns and blocks of 4: 1247 KB.
    """
    depth = int(config["in0_block_w"])
    buffer_bytes = (
        depth * (3 * columns * tile_b + 2 * tile_a) + columns * (DataType.F32.tile_bytes + tile_out) + 2 * KIB
    )
    return buffer_bytes + (columns * tile_out if bias else 0)


def _convolution(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Returns the bytes for a convolution of shards; else those of all tensors that it makes inside.

    These are the sharded input, the input with halo, the sharded result, a block of rows as a matrix, and weights.
    """
    if is_of_shards(instruction, inputs[0], result):
        return sharded_convolution_buffers(instruction, inputs, result)
    attributes = instruction.attributes
    source, kernel = inputs[0], attributes.get("kernel_size") or (1, 1)
    positions_in, positions = math.prod(source.shape[:-1]), math.prod(result.shape[:-1])
    cores = min(target.cores, max(-(-positions // TILE), 1))
    channels = round_up(source.shape[-1], 8)
    width = int(attributes.get("input_width") or 1)
    rows_in = -(-positions_in // cores)
    halo = rows_in + (int(kernel[0]) - 1) * (width + 2) if math.prod(kernel) > 1 else 0
    rows = round_up(-(-positions // cores), TILE)
    outputs = round_up(result.shape[-1], TILE)
    block = min(rows, 4 * TILE) * round_up(int(kernel[-1]) * channels, TILE)
    weights = round_up(int(kernel[-1]) * channels, TILE) * min(outputs, 8 * TILE)
    return 2 * (rows_in + halo) * channels + 6 * rows * outputs + 6 * block + 4 * weights + 64 * KIB


def _pooling(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Returns the bytes for a pooling of shards; else those of the sharded input, with its halo, and of the result."""
    if is_of_shards(instruction, inputs[0], result):
        return max(96 * KIB, halo_buffers(inputs[0].layout))
    source, kernel = inputs[0], instruction.attributes.get("kernel_size") or (1, 1)
    positions_in, positions = math.prod(source.shape[:-1]), math.prod(result.shape[:-1])
    channels = round_up(source.shape[-1], TILE)
    width = int(instruction.attributes.get("input_width") or 1)
    cores = min(target.cores, max(-(-positions // TILE), 1))
    rows_in = -(-positions_in // cores)
    halo = rows_in + int(kernel[0]) * (width + 2)
    buffers = max(96 * KIB, halo_buffers(source.layout))
    return 2 * channels * (rows_in + halo + -(-positions // cores)) + buffers


def _attention(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    depth = _columns(result)
    return (32 * depth + 128) * DataType.BF16.tile_bytes


_TILIZE = 96 * KIB
"""Bytes for tilize and untilize of parts of a row of tiles. Measured: 12 KB for 16 columns, 33 KB for 128."""


def _rows_of_tiles(spec: TensorSpec, target: Target) -> int:
    """Returns the bytes for tilize and untilize of whole rows of tiles, or 0 if L1 is too small for them.

    A row comes in and goes out, twice on cores with several rows. TT-NN decides before the result is allocated, so both
    must fit in L1 if the result goes there. Measured: 257 KB for 1024 columns of float32, 513 KB for several rows on a
    core.
    """
    rows = -(-math.prod(spec.shape[:-1]) // TILE)
    row_bytes = (4 if rows > target.cores else 2) * _columns(spec) * spec.layout.dtype.tile_bytes + KIB
    return row_bytes if row_bytes <= target.l1_usable_bytes else 0


def _copy(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Returns a few pages for moves between shards and pages, and rows of tiles for tilize and untilize."""
    source = inputs[0]
    if source.layout.tiled == result.layout.tiled:
        return 4 * max(_page(source), _page(result)) + 16 * KIB
    if result.layout.buffer is BufferType.L1:
        return max(_TILIZE, _rows_of_tiles(source if source.layout.tiled else result, target))
    return _TILIZE


def _table() -> dict[str, Buffers]:
    from tt_xla.target.sfpu import sfpu_cycles

    table: dict[str, Buffers] = dict.fromkeys((*sfpu_cycles("wormhole_b0"), *families.BINARY), _elementwise)
    table |= dict.fromkeys(("layer_norm", "rms_norm"), _norm)
    table |= dict.fromkeys(("sum", "mean", "max", "min"), _reduction)
    table |= dict.fromkeys(families.MATMULS, _matmul)
    table |= dict.fromkeys(families.CONVOLUTIONS, _convolution)
    table |= dict.fromkeys(families.POOLINGS, _pooling)
    table |= dict.fromkeys(families.ATTENTIONS, _attention)
    table |= dict.fromkeys(("to_layout", "to_memory_config", "to_device", "from_device"), _copy)
    table |= dict.fromkeys(("while_loop", "case"), _all)
    return table | {"softmax": _softmax}


_MODELS = _table()
