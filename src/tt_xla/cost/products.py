"""The device time of matrix products: blocks of the inner dimension that arrive, are multiplied, and are written.

TT-NN's kernels go through the inner dimension block by block. A core that has a part of an operand sends it to the
cores that share it, or each reads its own; the next block arrives while one is multiplied, and results are written
while the last one is.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from tt_xla.cost import families
from tt_xla.cost.product_blocks import Blocks, Product, chosen, configured
from tt_xla.cost.rates import DRAM, L1, SHARDED, TILE_BYTES, Rates, Work
from tt_xla.cost.shares import cost_of, fidelity_of, inputs_of, moved, one_after_the_other, split
from tt_xla.ir.layout import TILE
from tt_xla.ir.program import Cost, Instruction, TensorSpec


def matmul(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of a matrix product, in the blocks of its program config or in those that TT-NN chooses."""
    return _timed(instruction, values, rates)[0]


def math_us(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates) -> float:
    """Returns the time of the math thread in profiles: without the writes after its last product, and in cycles of the
    nominal clock."""
    products = {name: time * rates.busy_clock for name, time in rates.tile_product.items()}
    cost, tail = _timed(instruction, values, dataclasses.replace(rates, tile_product=products))
    return cost.total_us - tail


def _timed(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates) -> tuple[Cost, float]:
    """Returns the cost of a matrix product, and the time in which its last results are written after computing."""
    a, b, *others = inputs_of(instruction, values)
    result = values[instruction.results[0]]
    inner_axis = -2 if instruction.attributes.get("transpose_a") and len(a.shape) > 1 else -1
    inner = -(-a.shape[inner_axis] // TILE)
    rows = -(-(result.shape[-2] if len(result.shape) > 1 else 1) // TILE)
    columns = -(-(result.shape[-1] if result.shape else 1) // TILE)
    batch, matrices = math.prod(result.shape[:-2]), math.prod(b.shape[:-2])
    works = [Work(a.layout), Work(b.layout), *[Work(other.layout) for other in others]]
    out = Work(result.layout)
    config = instruction.attributes.get("matmul_program_config") or {}
    if config.get("config") == "dram_sharded":
        return _from_banks(instruction, rates, works, out, inner, columns), 0.0
    if (matrices <= 1 and (config or works[0].place == SHARDED)) or (
        batch > 1 and out.place == SHARDED
    ):  # the rows of the batch follow each other
        rows, batch = batch * rows, 1
    wide = bool((instruction.attributes.get("compute_config") or {}).get("fp32_dest_acc_en"))
    product = Product((rows, inner, columns), (math.prod(a.shape[:-2]), matrices), (works[0], works[1], out), wide)
    blocks = configured(config, product) if config.get("per_core_m") and config.get("per_core_n") else None
    blocks = blocks or chosen(product, rates)
    if blocks is None:
        cost, tail = _one_by_one(instruction, rates, works, out, batch, product), 0.0
    else:
        cost, tail = _in_blocks(instruction, rates, works, out, batch, product, blocks)
    function = instruction.attributes.get("activation")
    if config or not isinstance(function, str):
        return cost, tail
    return one_after_the_other(cost, _applied(function, rates, out)), tail


def _applied(function: str, rates: Rates, out: Work) -> Cost:
    """Returns the cost of a function that TT-NN applies in a program of its own, as it does without a config."""
    cores, share = split(out, rates)
    dram, noc = moved([out], out, rates, share)
    return cost_of(rates, out.tiles * share * rates.sfpu.get(function, 0.0), dram, noc, cores)


def _one_by_one(
    instruction: Instruction, rates: Rates, works: list[Work], out: Work, batch: int, product: Product
) -> Cost:
    """Returns the cost of TT-NN's plain kernel, which waits for both tiles of each product. Its sums stay in the
    accumulator."""
    rows, inner, columns = product.size
    cores = min(batch * rows * columns, rates.cores)
    tiles = -(-batch * rows * columns // max(cores, 1))
    page_a, page_b = page_of(works[0]), page_of(works[1])
    after = _activation(instruction, rates) + out.page * rates.pack
    compute = tiles * (inner * tile_product(instruction, rates, page_a, page_b) + after)
    fetched = tiles * inner * (2 * rates.wait + (page_a + page_b) * rates.arrival)
    dram = sum([work.bytes for work in (*works, out) if work.place == DRAM]) * rates.dram
    return cost_of(rates, compute, dram, fetched, cores)


def _from_banks(instruction: Instruction, rates: Rates, works: list[Work], out: Work, inner: int, columns: int) -> Cost:
    """Returns the cost of a product of one row of tiles by weights that are sharded over the DRAM banks.

    The core next to each bank reads its shard and computes with it; it is sent the row block by block, and sends its
    part of the result to the cores that hold it. So only eight cores of a Blackhole compute: DRAM is the limit at lofi,
    and computing at hifi2 (tt-metal's pull request 50662: lofi saves 77 us in each down projection of Llama-3.1-8B).
    """
    config = instruction.attributes["matmul_program_config"]
    each = -(-columns // rates.banks)
    blocks = -(-inner // int(config["in0_block_w"]))
    product = tile_product(instruction, rates, works[0].page, works[1].page, min(each, families.SUBBLOCK_WIDTH))
    compute = each * (inner * product + out.page * rates.pack + _activation(instruction, rates))
    compute += blocks * families.BLOCK_HANDSHAKE_US  # The core of a bank waits for each block of the row.
    noc = inner * works[0].page * rates.multicast + blocks * families.BLOCK_HANDSHAKE_US
    noc += each * out.page * rates.local
    return cost_of(rates, compute, sum([work.bytes for work in works[1:]]) * rates.sharded, noc, rates.cores)


def _activation(instruction: Instruction, rates: Rates) -> float:
    """Returns the time per tile of the function that a product applies to its result. The packer clips for a relu."""
    config = instruction.attributes.get("matmul_program_config")
    if not config:
        return 0.0
    name = instruction.attributes.get("activation") or (config.get("fused_activation") or {}).get("op_type")
    return rates.sfpu.get(name, 0.0) if isinstance(name, str) and name != "relu" else 0.0


def page_of(work: Work) -> int:
    """Returns the bytes of an operand's tile. Kernels tilize an operand that is not tiled, as bfloat16."""
    return work.page if work.tiled else TILE_BYTES["bf16"]


def tile_product(instruction: Instruction, rates: Rates, page_a: int, page_b: int, width: int = 0) -> float:
    """Returns the time of a product of two tiles.

    Args:
        page_a: bytes of the left tile.
        page_b: bytes of the right tile.
        width: columns of a subblock of the result, which share the left tile; 0 if there are no subblocks.
    """
    product = rates.tile_product[fidelity_of(instruction)]
    unpack = (page_b if width else page_a + page_b) * rates.unpack
    if unpack > product:
        product = unpack
    if width:  # the left tile is fetched anew for each subblock's columns
        product += families.SUBBLOCK_CYCLES * (1 / width - 1 / families.SUBBLOCK_WIDTH) * rates.cycle_us
    return product


def _subblock_product(
    instruction: Instruction,
    rates: Rates,
    pages: tuple[int, int],
    subblock: tuple[int, int],
    unpack: tuple[float, float],
) -> float:
    """Returns the time of a product of two tiles within a subblock: that of the matrix unit, or of unpacking operands.

    The kernel keeps a tile of one operand while it goes along the longer side of the subblock, for which it unpacks a
    tile of the other operand each.

    Args:
        instruction: the product.
        rates: the chip.
        pages: bytes of a tile of the left and of the right operand.
        subblock: rows and columns of a subblock.
        unpack: us per byte of the left and of the right operand.
    """
    high, wide = subblock
    left, right = (page * rate for page, rate in zip(pages, unpack, strict=True))
    kept = families.SUBBLOCK_CYCLES * rates.cycle_us / TILE_BYTES["bf16"]
    unpacked = right + pages[0] * kept / wide if wide >= high else left + pages[1] * kept / high
    return max(rates.tile_product[fidelity_of(instruction)], unpacked)


def partial_sum_times(instruction: Instruction, rates: Rates) -> tuple[float, float]:
    """Returns the time to keep partial sums in L1 for the next block: that of the compute core, and that of the packer
    beside it, for each tile of the result and each block but the last.

    A packer that accumulates in L1 works at half its speed while the next subblock is multiplied; without that, the
    compute core fetches each partial sum again.
    """
    config = instruction.attributes.get("compute_config") or {}
    partial = _partial_bytes(instruction)
    if config.get("packer_l1_acc", True):
        return 0.0, 2 * partial * rates.pack
    return partial * (rates.pack + rates.unpack), 0.0


def _partial_bytes(instruction: Instruction) -> int:
    """Returns the bytes of a tile of partial sums."""
    config = instruction.attributes.get("compute_config") or {}
    return TILE_BYTES["f32"] if config.get("fp32_dest_acc_en") else TILE_BYTES["bf16"]


def _in_blocks(
    instruction: Instruction,
    rates: Rates,
    works: list[Work],
    out: Work,
    batch: int,
    product: Product,
    blocks: Blocks,
) -> tuple[Cost, float]:
    """Returns the cost of ``batch`` successive matrix products, and the time in which the last results are written.

    A core computes its part of the result in parts, each block by block of the inner dimension. Parts of interleaved
    operands are read by one core, which sends them to those that share them. While a core writes a part of the result
    it reads no block of the next one.
    """
    rows, inner, columns = product.size
    (high, broad), width = blocks.part, min(blocks.width, inner)
    split_rows, split_columns = -(-rows // blocks.rows), -(-columns // blocks.columns)
    page_a, page_b = page_of(works[0]), page_of(works[1])
    in_turns = width >= inner and _in_turns(works, out)
    unpack = (rates.unpack, rates.unpack) if in_turns else (rates.unpack_left, rates.unpack_right)
    time = _subblock_product(instruction, rates, (page_a, page_b), blocks.subblock, unpack)
    after = _activation(instruction, rates) + (out.page * rates.pack if out.tiled else 0.0)
    bias = 0.0
    if len(works) > 2:  # it arrives once for each part, and is added to sums that were packed
        after += _partial_bytes(instruction) * (rates.pack + rates.unpack)
        bias = families.BLOCK_HANDSHAKE_US + families.MATMUL_READ_US
    used = split_rows * split_columns
    launch = rates.launch + rates.launch_core * used
    traffic = sum([work.bytes for work in (*works, out) if work.place == DRAM]) * rates.dram
    if in_turns:  # the right operand comes once for each part, and computing waits for it
        compute = blocks.rows * blocks.columns * (inner * time + after)
        compute += -(-blocks.rows // high) * blocks.columns * inner * page_b * rates.multicast + bias
        return Cost(launch + max(compute, traffic), compute, traffic, 0.0, launch, used), 0.0
    tiles, steps = high * broad, -(-inner // width)
    again, packed = partial_sum_times(instruction, rates)
    again *= families.RELOAD_FACTOR
    stays = product.batches[0] == 1 < product.batches[1] and steps == 1  # one left matrix for all of the right ones
    sizes = (0 if stays else split_rows * high * width * page_a, split_columns * broad * width * page_b)
    arrival = max(
        0.0 if stays else _arrival(rates, works[0], high * width, split_columns > 1),
        _arrival(rates, works[1], broad * width, split_rows > 1 and works[1].place != SHARDED),
        _all_arrivals(rates, works, sizes, split_columns == 1),
    )
    multiplied = tiles * width * time
    step = max(multiplied + tiles * again, tiles * packed, arrival)
    written = 0.0
    if out.place in (DRAM, L1):
        written = tiles * page_of(out) * rates.cycle_us / families.MATMUL_WRITE_BYTES_PER_CYCLE
        if out.place == DRAM:
            one_sided = min(split_rows, split_columns) == 1
            rate = max(rates.written, families.MATMUL_WRITTEN * rates.dram) if one_sided else rates.written
            written = max(written, used * tiles * page_of(out) * rate)
    computed = multiplied + tiles * after + bias
    last = max(computed, written) + (rates.wait if out.place in (DRAM, L1) else 0.0)
    turns = batch * blocks.parts
    total = turns * (arrival + (steps - 1) * step + last)
    compute = turns * ((steps - 1) * max(multiplied + tiles * again, tiles * packed) + computed)
    noc = turns * (steps * arrival + written)
    return Cost(launch + max(total, traffic), compute, traffic, noc, launch, used), last - computed


def _arrival(rates: Rates, work: Work, tiles: int, shared: bool) -> float:
    """Returns the time until a core has a block of an operand, which one core reads and sends to those that share it.

    Args:
        rates: the chip.
        work: the operand.
        tiles: number of tiles of the block.
        shared: whether several cores share the block.
    """
    size = tiles * page_of(work)
    time = 0.0
    if work.place in (DRAM, L1):
        rate = rates.blocks if work.place == DRAM else rates.local
        time = families.MATMUL_READ_US + max(size * rate, tiles * families.MATMUL_READ_PAGE_CYCLES * rates.cycle_us)
    return time + families.BLOCK_HANDSHAKE_US + size * rates.linked if shared else time


def _all_arrivals(rates: Rates, works: Sequence[Work], sizes: tuple[int, int], own: bool) -> float:
    """Returns the time in which the chip's DRAM delivers a block to all cores.

    Args:
        rates: the chip.
        works: the operands.
        sizes: bytes of the left and of the right operand.
        own: whether each core reads its own rows of the left operand.
    """
    left, right = (size if work.place == DRAM else 0 for work, size in zip(works, sizes, strict=False))
    read = (left * (families.MATMUL_READ if own else 1.0) + right) * rates.dram
    return families.BLOCK_HANDSHAKE_US + read if read else 0.0


def _in_turns(works: Sequence[Work], out: Work) -> bool:
    """Returns whether each core has its rows of the left operand and of the result whole, in shards, and is sent the
    right operand."""
    rows_are_whole = all(work.shards is not None and work.shards[1][1] == 1 for work in (works[0], out))
    return rows_are_whole and works[1].place != SHARDED
