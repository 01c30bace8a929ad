"""The device time of convolutions: windows read from L1, tilized, and multiplied by the weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tt_xla.cost import families
from tt_xla.cost.movement import copy, hosted
from tt_xla.cost.products import page_of, partial_sum_times, tile_product
from tt_xla.cost.programs import exchanged
from tt_xla.cost.rates import DRAM, ELEMENT_BYTES, HOST, L1, Rates, Work
from tt_xla.cost.shares import FREE, inputs_of, local_cost, one_after_the_other
from tt_xla.ir.layout import TILE, BufferType, MemoryLayout, round_up
from tt_xla.ir.program import Cost, Instruction, TensorSpec


def convolution(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of a convolution: a matrix product of output positions by a window's inputs, gathered with halo.

    TT-NN pads grouped weights with zeros, so groups save nothing.
    """
    attributes = instruction.attributes
    result = values[instruction.results[0]]
    inputs = inputs_of(instruction, values)
    works = [Work(spec.layout) for spec in inputs]
    source, out = works[0], Work(result.layout)
    kernel = attributes.get("kernel_size") or (1, 1)
    sizes = (1, kernel) if isinstance(kernel, int) else tuple(kernel)
    channels = round_up(int(attributes.get("in_channels") or inputs[0].shape[-1]), 8)  # as TT-NN pads them
    cost = _windows(instruction, rates, works, out, result.shape, math.prod(sizes[:-1]), sizes[-1] * channels)
    cost = one_after_the_other(cost, halo(attributes, inputs[0], source, out, rates))
    host = [work for work in works if work.place == HOST]  # weights not prepared beforehand cross PCIe on every call
    if host:
        cost = one_after_the_other(cost, hosted(host, [out], rates))
    # TT-NN computes between shards, so other tensors are copied to shards before, and from shards afterwards.
    if source.place in (DRAM, L1):
        cost = one_after_the_other(cost, copy(source, _in_shards(inputs[0], rates), rates))
    if out.place in (DRAM, L1):
        cost = one_after_the_other(cost, copy(_in_shards(result, rates), out, rates))
    return cost


def _in_shards(spec: TensorSpec, rates: Rates) -> Work:
    """Returns a feature map cut by rows over as many cores as it has rows of tiles, or over all."""
    cores = min(max(-(-math.prod(spec.shape[:-1]) // TILE), 1), rates.cores)
    memory = MemoryLayout.HEIGHT_SHARDED
    return Work(spec.layout.with_(spec.shape, buffer=BufferType.L1, memory=memory, grid=(cores, 1)))


def halo(attributes: Mapping[str, Any], spec: TensorSpec, source: Work, out: Work, rates: Rates) -> Cost:
    """Returns the cost of the programs that give each core the rows of its windows, and then move them together.

    Only an op whose attributes tell the size of its feature map is priced so; a profiler lists these programs
    in rows of their own.
    """
    high, wide = _pair(attributes.get("kernel_size"))
    step_high, step_wide = _pair(attributes.get("stride"))
    apart_high, apart_wide = _pair(attributes.get("dilation"))
    padding = tuple(attributes.get("padding") or (0, 0))
    width = int(attributes.get("input_width") or 0)
    pointwise = (high, wide, step_high, step_wide) == (1, 1, 1, 1) and not any(padding)
    if not width or pointwise or HOST in (source.place, out.place):
        return FREE
    width += 2 * padding[-1] if len(padding) == 2 else sum(padding[2:])
    positions = math.prod(spec.shape[:-1])
    parts, columns = _split(out, rates, -(-positions // TILE))
    shared_rows = max(apart_high * (high - 1) + 1 - step_high, 0)
    shared = shared_rows * width + max(apart_wide * (wide - 1) + 1 - step_wide, 0)
    row = spec.shape[-1] * ELEMENT_BYTES["bf16"]
    own = positions * row
    remote = min(parts * shared * row, (parts - 1) * own) if parts > 1 else 0
    cores = max(parts * columns, 1)
    exchange = exchanged(source, own, remote, rates, cores, -(-spec.shape[-1] // TILE))
    if (attributes.get("conv2d_config") or {}).get("reallocate_halo_output") is False:
        return exchange
    return one_after_the_other(exchange, local_cost(rates, (own + remote) / cores * rates.local, cores))


def _pair(sizes: int | Sequence[int] | None) -> tuple[int, int]:
    """Returns the sizes along the rows and columns of a window; 1 if there are none."""
    if not sizes:
        return 1, 1
    if isinstance(sizes, int):
        return sizes, sizes
    return int(sizes[-2] if len(sizes) > 1 else 1), int(sizes[-1])


def _windows(
    instruction: Instruction,
    rates: Rates,
    works: list[Work],
    out: Work,
    shape: tuple[int, ...],
    high: int,
    wide: int,
) -> Cost:
    """Returns the cost of multiplying windows by the weights, for each position of the result's ``shape``.

    A window has ``high`` rows of ``wide`` elements.

    A block is some rows of tiles by one row of the window. It is read, tilized and multiplied, and the product is added
    to the sums of the window's earlier rows. With a single block of rows each part of the weights is used once, and the
    next part waits for its room in L1, also with double buffers; with several blocks the weights stay in L1, unless the
    shards cut channels.
    """
    attributes = instruction.attributes
    positions = -(-math.prod(shape[:-1]) // TILE)
    columns = -(-(shape[-1] if shape else 1) // TILE)
    split_rows, split_columns = _split(out, rates, positions)
    rows, columns = -(-positions // split_rows), -(-columns // split_columns)
    override = int((attributes.get("conv2d_config") or {}).get("act_block_h_override") or 0) // TILE
    block_rows = min(int(attributes.get("act_block_tiles") or override or rows), rows)
    block_wide = -(-wide // TILE)
    turns, tiles = -(-rows // max(block_rows, 1)), block_rows * block_wide

    page = page_of(works[1])
    subblock = min(
        max(block_rows, columns), families.SUBBLOCK_WIDTH
    )  # its longer side shares tiles of the other operand
    product = tile_product(instruction, rates, page_of(works[0]), page, subblock)
    block_tiles = block_rows * columns
    compute = (tiles / split_columns * families.TILIZE_CYCLES + families.CONVOLUTION_BLOCK_CYCLES) * rates.cycle_us
    again, packed = partial_sum_times(instruction, rates)
    compute += max(tiles * columns * product + block_tiles * again * (high - 1) / high, block_tiles * packed)
    compute += block_tiles * page_of(out) * rates.pack / high
    readers = 2 if block_rows > 1 else 1
    reading = block_rows * TILE * (families.GATHER_READ_CYCLES + 2.0 * wide / families.GATHER_BYTES_PER_CYCLE)
    reading *= rates.cycle_us / readers / split_columns
    if split_columns > 1:  # cores of a row send each other the channels that they have
        reading = max(reading, tiles * page_of(works[0]) * rates.multicast)
    weights = families.BLOCK_HANDSHAKE_US + rates.wait + block_wide * columns * page * rates.multicast
    step = max(compute, reading)
    first = weights + step if turns == 1 else max(weights, step)
    total = weights * (turns > 1) + high * (first + (turns - 1) * step)
    sent = 1
    if split_columns > 1 and turns > 1:  # L1 has no room for all weights, which come again for each block of rows
        sent, total = turns, weights + high * turns * max(weights, step)
    compute, noc = high * turns * compute, high * (turns * reading + sent * weights)
    dram = sum(work.bytes for work in works[1:] if work.place == DRAM) * rates.dram
    cores = max(-(-positions // max(rows, 1)) * split_columns, 1)
    launch = rates.launch + rates.launch_core * cores
    return Cost(launch + max(total, dram), compute, dram, noc, launch, cores)


def _split(out: Work, rates: Rates, positions: int) -> tuple[int, int]:
    """Returns the numbers of parts into which cores cut the positions and the channels of the result."""
    if out.shards is not None:
        return max(out.shards[1][0], 1), max(out.shards[1][1], 1)
    if positions >= rates.cores:
        return rates.cores, 1
    return rates.rows, rates.columns
