"""How much of each core's L1 an op takes while it runs, besides its operands and results: circular buffers, and the
tensors that convolutions and pooling make for themselves.

Measured with TT-NN's mock mode on p150: L1 is filled with a tensor until an op reports that its circular buffers clash
with it. A figure holds when it is not below the measured one; ``docs/architecture.md`` says how that is checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tt_xla.cost import families
from tt_xla.cost.sharding import same_shards
from tt_xla.ir.layout import TILE, BufferType, DataType, round_up
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.target import Target

KIB = 1024

_OTHERS = 192 * KIB
"""What an op of no family below takes at most."""

Buffers = Callable[[Instruction, list[TensorSpec], TensorSpec, Target], int]


def circular_buffer_bytes(instruction: Instruction, values: Sequence[TensorSpec], target: Target) -> int:
    """Bytes of each core's L1 that ``instruction`` needs from the bottom up, below every tensor in L1."""
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


def _tile(spec: TensorSpec) -> int:
    return spec.layout.dtype.tile_bytes


def _page(spec: TensorSpec) -> int:
    return round_up(spec.layout.page_bytes, 64)


def _others(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Two pages of each tensor, which counts where rows are pages, or what data movement takes."""
    return max(_OTHERS, 2 * sum(_page(spec) for spec in (*inputs, result)))


def _all(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """What a loop or a case runs was laid out with all of L1 to itself."""
    return target.l1_usable_bytes


def _elementwise(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Two tiles of each tensor that is not at hand on its core, two where a row or column is repeated, and one of each
    operand that functions are applied to."""
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
    """A row of tiles in and out, once more for the numerically stable one. Measured: 16 columns 95 and 129 KB, 128
    columns 818 KB."""
    tile = max(_tile(inputs[0]), _tile(result))
    rows = 3 if instruction.attributes.get("numericStable") else 2
    return min(rows * _columns(inputs[0]) * tile + 16 * tile, 900 * KIB)


_NORM_STREAMED = 184 * KIB
"""Layer and RMS norm of interleaved tensors stream rows that are too long. Measured: 174 KB for 16 and 128 columns."""


def _norm(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Sharded: the shard in the accumulator's type, eight tiles for each of its rows, and its weights. Measured: shards
    of 8x2, 8x4, 2x4 and one tile 378, 494, 200 and 111 KB."""
    if not result.layout.is_sharded:
        return _NORM_STREAMED
    tile = DataType.F32.tile_bytes
    rows, columns = result.layout.shard
    return (rows * columns + 8 * rows + 7 * columns + 12) * tile


def _reduction(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    return 6 * _tile(inputs[0]) + 4 * _tile(result) + 64 * KIB


def _matmul(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Two blocks of each operand, the block of results, and its sums in float32 while they build up."""
    config = instruction.attributes.get("matmul_program_config")
    if config and config["config"] == "dram_sharded":
        tiles = [_tile(spec) for spec in (inputs[0], inputs[1], result)]
        return dram_sharded_buffers(config, inputs[1].layout.shard[1], *tiles, bias=len(inputs) > 2)
    if config:
        return matmul_buffers(
            config,
            _tile(inputs[0]),
            _tile(inputs[1]),
            _tile(result),
            in_place=result.layout.is_sharded,
            local=inputs[0].layout.memory == "height_sharded",
            bias=len(inputs) > 2,
        )
    return _AUTOMATIC_MATMUL


_AUTOMATIC_MATMUL = 160 * KIB
"""Without a program config TT-NN fits its blocks into what is free. Measured: 13 to 21 KB at the least."""


def matmul_buffers(
    config: Any, tile_a: int, tile_b: int, tile_out: int, *, in_place: bool, local: bool, bias: bool
) -> int:
    """Bytes of the circular buffers of a matmul with a program config (plain fields).

    Args:
        in_place: the result is sharded, so its block is the tensor itself.
        local: the left operand is where it is used.
    """
    depth = int(config["in0_block_w"])
    rows, columns = int(config["per_core_m"]), int(config.get("per_core_n", 1))
    left = 0 if local else 2 * rows * depth * tile_a
    right = 2 * columns * depth * tile_b
    sums = rows * columns * DataType.F32.tile_bytes
    return left + right + sums + (0 if in_place else rows * columns * tile_out) + (columns * tile_b if bias else 0)


def dram_sharded_buffers(
    config: Any, columns: int, tile_a: int, tile_b: int, tile_out: int, *, bias: bool = False
) -> int:
    """Bytes of the circular buffers of a product whose weights have ``columns`` tiles in each bank of DRAM.

    Three blocks of weights, two of the row, the results and their sums. Measured with 32 columns of bfp_bf8 in a bank
    and blocks of 1, 2 and 4 tiles: 307, 415 and 632 KB; with 64 columns and blocks of 4: 1247 KB.
    """
    depth = int(config["in0_block_w"])
    taken = depth * (3 * columns * tile_b + 2 * tile_a) + columns * (DataType.F32.tile_bytes + tile_out) + 2 * KIB
    return taken + (columns * tile_out if bias else 0)


def _convolution(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """The input in shards, the input with its halo, the result in shards, a block of rows as a matrix, and weights."""
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
    """The input in shards, with its halo, and the result."""
    source, kernel = inputs[0], instruction.attributes.get("kernel_size") or (1, 1)
    positions_in, positions = math.prod(source.shape[:-1]), math.prod(result.shape[:-1])
    channels = round_up(source.shape[-1], TILE)
    width = int(instruction.attributes.get("input_width") or 1)
    cores = min(target.cores, max(-(-positions // TILE), 1))
    rows_in = -(-positions_in // cores)
    halo = rows_in + int(kernel[0]) * (width + 2)
    return 2 * channels * (rows_in + halo + -(-positions // cores)) + 96 * KIB


def _attention(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    depth = _columns(result)
    return (32 * depth + 128) * DataType.BF16.tile_bytes


_TILIZE = 96 * KIB
"""Tilize and untilize go through a row of tiles in parts. Measured: 12 KB for 16 columns, 33 KB for 128."""


def _rows_of_tiles(spec: TensorSpec, target: Target) -> int:
    """Where all of L1 has room, tilize and untilize take whole rows of tiles in and out, twice on cores that have
    several; where it has not, parts of them. They look before the result is there, so that to L1 both must fit.
    Measured: 1024 columns of float32 257 KB, of which a core has several 513 KB."""
    rows = -(-math.prod(spec.shape[:-1]) // TILE)
    whole = (4 if rows > target.cores else 2) * _columns(spec) * spec.layout.dtype.tile_bytes + KIB
    return whole if whole <= target.l1_usable_bytes else 0


def _copy(instruction: Instruction, inputs: list[TensorSpec], result: TensorSpec, target: Target) -> int:
    """Between shards and pages only a few pages."""
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
