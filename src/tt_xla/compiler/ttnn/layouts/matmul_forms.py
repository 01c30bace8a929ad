"""Program configs of matrix products: blocks for the three ways of distributing a result over cores.

Counts are tiles. A core computes ``per_core_m`` by ``per_core_n`` tiles of the result and steps through the inner
dimension by ``in0_block_w``. ``out_subblock`` is the part that its destination register holds at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tt_xla.cost.circular_buffers import dram_sharded_buffers, matmul_buffers
from tt_xla.cost.sharding import (
    BLOCK,
    HEIGHT,
    WIDTH,
    in_dram,
    interleaved_in_l1,
    over_dram_banks,
    sharded,
    shardings,
)
from tt_xla.ir.layout import TILE, TensorLayout
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.target import Target

DESTINATION_TILES = {True: 4, False: 8}
"""Tiles of sums, in float32 and in 16 bits, that the destination register holds; half of it is being packed
meanwhile."""

STEPS = (8, 7, 6, 5, 4, 3, 2, 1)
"""Block depths to try, the deepest first."""

BUFFER_SHARES = (0.45, 0.7)
"""Shares of L1 that the circular buffers of a product may take: beside other tensors, and beside its own alone."""

ProductForm = tuple[TensorLayout, TensorLayout | None, Mapping[str, Any]]
"""The result's layout, the left operand's if it is sharded, and the config."""


def product_forms(
    instruction: Instruction,
    inputs: Sequence[TensorSpec],
    result: TensorSpec | None,
    target: Target,
    places: Sequence[TensorLayout],
) -> Iterator[ProductForm]:
    """Yields products of a matrix by one weight whose result or left operand is sharded.

    With a sharded result the left operand may also be interleaved; with an interleaved result it has the given layout.

    Args:
        instruction: the product.
        inputs: its operands.
        result: its result.
        target: the chip.
        places: sharded layouts of the result.
    """
    assert result is not None
    a, b = inputs[0], inputs[1]
    attributes = instruction.attributes
    one_weight = all(size == 1 for size in b.shape[:-2]) and len(b.shape) > 1 and len(a.shape) > 1
    bias_is_row = len(inputs) < 3 or all(size == 1 for size in inputs[2].shape[:-1])
    tiled = all(spec.layout.tiled for spec in (*inputs, result))
    floats = all(spec.layout.dtype.is_float for spec in (*inputs, result))
    if not (one_weight and bias_is_row and tiled and floats) or attributes.get("transpose_a"):
        return
    left = {layout.memory: layout for layout in shardings(a.shape, a.layout.dtype, target)}
    inner = -(-a.shape[len(a.shape) - 1] // TILE)
    for place in places:
        operand = left.get(place.memory)
        if operand is not None and not _fits(operand, place, inner):
            operand = None
        for config in _configs(instruction, inputs, result, place, operand, inner, target):
            yield place, operand, config
            if operand is not None:
                yield in_dram(place, result.shape), operand, config
                yield interleaved_in_l1(place, result.shape, target), operand, config


def dram_sharded_forms(
    instruction: Instruction, inputs: Sequence[TensorSpec], result: TensorSpec | None, target: Target
) -> Iterator[tuple[TensorLayout, tuple[TensorLayout, ...], Mapping[str, Any]]]:
    """Yields products of one row of tiles by weights that are cut over the DRAM banks.

    The row and the result are cut over cores. Fewer cores for the row mean fewer, deeper blocks; other ops leave it on
    more cores.

    Returns:
        An iterator of the result's layout, the operands' layouts and the config.
    """
    assert result is not None
    a, b = inputs[0], inputs[1]
    attributes = instruction.attributes
    matrix = all(size == 1 for size in b.shape[:-2]) and len(b.shape) > 1
    plain = all(spec.layout.tiled and spec.layout.dtype.is_float for spec in (*inputs, result))
    rows, inner = TensorLayout.of(a.shape, a.layout.dtype).shard
    transposed = attributes.get("transpose_a") or attributes.get("transpose_b")
    places = shardings(result.shape, result.layout.dtype, target)
    place = next((layout for layout in places if layout.memory is WIDTH), None)
    if not (matrix and plain) or transposed or rows != 1 or place is None:
        return
    others = [over_dram_banks(spec.layout, spec.shape, target) for spec in inputs[1:]]
    fields: dict[str, Any] = {"config": "dram_sharded", "per_core_m": 1, "per_core_n": place.shard[1]}
    activation = attributes.get("activation")
    if activation:
        fields["fused_activation"] = {"op_type": str(activation)}
    tiles = [spec.layout.dtype.tile_bytes for spec in (a, b, result)]
    widest_step = 0
    for cores in range(min(target.cores, inner), 1, -1):
        depth = inner // cores
        if inner % cores or depth > STEPS[0]:
            continue
        step = next(step for step in STEPS if depth % step == 0)
        config = fields | {"in0_block_w": step}
        buffer_bytes = dram_sharded_buffers(config, others[0].shard[1], *tiles, bias=len(inputs) > 2)
        if step > widest_step and buffer_bytes <= BUFFER_SHARES[0] * target.l1_usable_bytes:
            widest_step = step
            yield place, (sharded(a.shape, a.layout.dtype, WIDTH, (1, cores), target), *others), config


def _fits(operand: TensorLayout, place: TensorLayout, inner: int) -> bool:
    """Returns whether each core has the rows of its result, and the inner dimension is cut evenly."""
    same_rows = operand.shard[0] == place.shard[0] and (place.memory is WIDTH or operand.grid[0] == place.grid[0])
    return same_rows and operand.shard[1] * operand.grid[1] == inner


def _configs(
    instruction: Instruction,
    inputs: Sequence[TensorSpec],
    result: TensorSpec,
    place: TensorLayout,
    operand: TensorLayout | None,
    inner: int,
    target: Target,
) -> Iterator[Mapping[str, Any]]:
    """Yields, for each share of L1, the config with the deepest block of at most 8 tiles whose buffers fit, else a
    single block."""
    rows, columns = place.shard
    depth = operand.shard[1] if operand is not None and place.memory is not HEIGHT else inner
    compute = instruction.attributes.get("compute_config") or {}
    height, width = _subblock(rows, columns, DESTINATION_TILES[bool(compute.get("fp32_dest_acc_en", True))])
    if place.memory is BLOCK:
        grid = (place.grid[1], place.grid[0])
    else:
        cores = place.grid[0] * place.grid[1]
        if operand is not None:
            cores = max(cores, operand.grid[0] * operand.grid[1])  # Cores that hold the left operand send it.
        grid = (min(cores, target.grid[1]), -(-cores // target.grid[1]))
    fields: dict[str, Any] = {
        "config": "multi_cast" if place.memory is BLOCK else "multi_cast_1d",
        "compute_with_storage_grid_size": grid,
        "in0_block_w": 1,
        "out_subblock_h": height,
        "out_subblock_w": width,
        "out_block_h": rows,
        "out_block_w": columns,
        "per_core_m": rows,
        "per_core_n": columns,
        "fuse_batch": True,
    }
    if place.memory is BLOCK:
        fields["transpose_mcast"] = False
    else:
        fields |= {
            "mcast_in0": place.memory is WIDTH,
            "gather_in0": False,
            "hop_cores": (),
            "num_global_cb_receivers": 0,
        }
        fields["untilize_out"] = False
    activation = instruction.attributes.get("activation")
    if activation:
        fields["fused_activation"] = {"op_type": str(activation)}
    local = place.memory is HEIGHT and operand is not None
    before: Mapping[str, Any] | None = None
    for share in BUFFER_SHARES:
        for step in (*STEPS, inner) if local else STEPS:
            if depth % step or inner % step:
                continue
            config = fields | {"in0_block_w": step}
            buffer_bytes = matmul_buffers(instruction, config, inputs, result, in_place=operand is None, local=local)
            if buffer_bytes <= share * target.l1_usable_bytes:
                if config != before:
                    yield config
                before = config
                break


def _subblock(rows: int, columns: int, most: int) -> tuple[int, int]:
    """Returns rows and columns of the largest part of a block, of at most ``most`` tiles.

    TT-NN packs a sharded result row by row, so a part is one row high or as wide as the block.
    """
    if columns <= most:
        return max(height for height in range(1, most // columns + 1) if rows % height == 0), columns
    return 1, max(width for width in range(1, most + 1) if columns % width == 0)
