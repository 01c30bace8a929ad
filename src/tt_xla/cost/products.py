"""The device time of matrix products: blocks of the inner dimension that arrive, are multiplied, and are written.

TT-NN's kernels go through the inner dimension block by block. A core that has a part of an operand sends it to the
cores that share it, or each reads its own; the next block arrives while one is multiplied, and results are written
while the last one is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tt_xla.cost import families
from tt_xla.cost.rates import DRAM, L1, SHARDED, TILE_BYTES, Rates, Work
from tt_xla.cost.shares import cost_of, fidelity_of, inputs_of
from tt_xla.ir.layout import TILE
from tt_xla.ir.program import Cost, Instruction, TensorSpec


def matmul(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    a, b, *others = inputs_of(instruction, values)
    result = values[instruction.results[0]]
    inner_axis = -2 if instruction.attributes.get("transpose_a") and len(a.shape) > 1 else -1
    inner = -(-a.shape[inner_axis] // TILE)
    rows = result.shape[-2] if len(result.shape) > 1 else 1
    columns = -(-(result.shape[-1] if result.shape else 1) // TILE)
    batch = math.prod(result.shape[:-2])
    if math.prod(b.shape[:-2]) <= 1:  # one weight for the whole batch, whose rows are consecutive
        row_tiles, batch = batch * -(-rows // TILE), 1
    else:
        row_tiles = -(-rows // TILE)
    works = [Work(a.layout), Work(b.layout), *[Work(other.layout) for other in others]]
    out = Work(result.layout)
    if (instruction.attributes.get("matmul_program_config") or {}).get("config") == "dram_sharded":
        return _from_banks(instruction, rates, works, out, inner, columns)
    if batch > 1 and out.place == SHARDED:  # each core multiplies the rows of its shard
        row_tiles, batch = batch * row_tiles, 1
    return _products(instruction, rates, works, out, batch, row_tiles, inner, columns)


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
    config = instruction.attributes.get("matmul_program_config") or {}
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


def partial_sum_times(instruction: Instruction, rates: Rates) -> tuple[float, float]:
    """Returns the time to keep partial sums in L1 for the next block: that of the compute core, and that of the packer
    beside it, for each tile of the result and each block but the last.

    A packer that accumulates in L1 works at half its speed while the next subblock is multiplied; without that, the
    compute core fetches each partial sum again.
    """
    config = instruction.attributes.get("compute_config") or {}
    partial = TILE_BYTES["f32"] if config.get("fp32_dest_acc_en") else TILE_BYTES["bf16"]
    if config.get("packer_l1_acc", True):
        return 0.0, 2 * partial * rates.pack
    return partial * (rates.pack + rates.unpack), 0.0


def _products(
    instruction: Instruction,
    rates: Rates,
    works: list[Work],
    out: Work,
    batch: int,
    rows: int,
    inner: int,
    columns: int,
) -> Cost:
    """Returns the cost of ``batch`` successive matrix products of ``rows x inner`` by ``inner x columns`` tiles.

    The chip's cores share the output as the program config says; without one, by rows and columns, by columns alone or
    by rows alone: as many cores as a measured row says took part, else whichever is fastest.
    """
    page_a, page_b = page_of(works[0]), page_of(works[1])
    config = instruction.attributes.get("matmul_program_config") or {}
    product = tile_product(instruction, rates, page_a, page_b, int(config.get("out_subblock_w") or 0))
    after = _activation(instruction, rates) + (out.page * rates.pack if out.tiled else 0.0)
    again, packed = partial_sum_times(instruction, rates)
    wait_a, wait_b, wait_out = (rates.wait if work.place in (DRAM, L1) else 0.0 for work in (works[0], works[1], out))
    write = rates.cycle_us / families.MATMUL_WRITE_BYTES_PER_CYCLE * page_of(out) if wait_out else 0.0
    read = sum([work.bytes for work in works if work.place == DRAM]) * rates.dram * families.MATMUL_READ / batch
    written = out.bytes * rates.dram * families.MATMUL_WRITTEN / batch if out.place == DRAM else 0.0
    in_turns = _in_turns(config, works, out, inner)
    best, compute, noc, used = math.inf, 0.0, 0.0, 1
    known = instruction.attributes.get("core_count")
    for split_rows, split_columns in _splits(config, rates, batch, rows, columns):
        block_rows = -(-rows // split_rows)
        block_columns = -(-columns // split_columns)
        tiles = block_rows * block_columns
        if in_turns:  # the right operand comes once for each block of rows, and computing waits for it
            turns = -(-block_rows // int(config.get("out_block_h") or block_rows))
            option_compute = tiles * (inner * product + after)
            option_compute += turns * block_columns * inner * page_b * rates.multicast
            total, option_noc = option_compute, 0.0
        else:
            width = int(config.get("in0_block_w") or (-(-inner // split_columns) if config else 2 - inner % 2))
            blocks = -(-inner // max(width, 1))
            width = inner / max(blocks, 1)
            arrival = max(
                _arrival(rates, block_rows * width * page_a, wait_a, split_columns > 1 and columns > 1),
                _arrival(rates, block_columns * width * page_b, wait_b, split_rows > 1 and rows > 1),
            )
            multiplied = tiles * width * product
            arrival = max(arrival, read / blocks)
            step = max(multiplied + tiles * again, tiles * packed)
            last = max(multiplied + tiles * after, tiles * write, written) + wait_out
            total = batch * (arrival + (blocks - 1) * (step if step > arrival else arrival) + last)
            option_compute = batch * ((blocks - 1) * step + multiplied + tiles * after)
            option_noc = batch * (blocks * arrival + tiles * write)
        cores = max(-(-rows // max(block_rows, 1)) * -(-columns // max(block_columns, 1)), 1)
        if total < best or cores == known:
            best, compute, noc, used = total, option_compute, option_noc, cores
        if cores == known:
            break
    traffic = sum([work.bytes for work in (*works, out) if work.place == DRAM]) * rates.dram
    launch = rates.launch + rates.launch_core * used
    return Cost(launch + max(best, traffic), compute, traffic, noc, launch, used)


def _arrival(rates: Rates, size: float, wait: float, shared: bool) -> float:
    """Returns the time until a core has ``size`` bytes of an operand, which another core sends or it reads itself."""
    if shared:
        return families.BLOCK_HANDSHAKE_US + wait + size * rates.multicast
    return wait + size * rates.block if wait else 0.0


def _in_turns(config: Mapping[str, Any], works: list[Work], out: Work, inner: int) -> bool:
    """Whether each core has its rows of the left operand and of the result whole, and is sent the right operand whole
    before it computes."""
    return (
        int(config.get("in0_block_w") or 0) >= inner
        and config.get("config") == "multi_cast_1d"
        and works[0].place == SHARDED
        and out.place == SHARDED
        and works[0].shards is not None
        and works[0].shards[1][1] == 1
        and out.shards is not None
        and out.shards[1][1] == 1
    )


def _splits(
    config: Mapping[str, Any], rates: Rates, batch: int, rows: int, columns: int
) -> tuple[tuple[int, int], ...]:
    """Returns the possible splits of a product: numbers of parts of its rows and columns of tiles."""
    if batch == 1 and config.get("per_core_m") and config.get("per_core_n"):
        return ((-(-rows // int(config["per_core_m"])), -(-columns // int(config["per_core_n"]))),)
    return ((rates.rows, rates.columns), (1, rates.cores), (rates.cores, 1))
