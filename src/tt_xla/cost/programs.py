"""The device time of programs that TT-NN runs inside its ops, and that profilers list under their own names.

Examples are halo exchange before a convolution, slices into shards, copies, group norm and sampling. The TTNN dialect
has no op for them, or one op for several of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt_xla.cost import families
from tt_xla.cost.movement import hosted
from tt_xla.cost.rates import DRAM, ELEMENT_BYTES, HOST, SHARDED, Rates, Work
from tt_xla.cost.shares import FREE, cost_of, inputs_of, local_cost, split, traffic
from tt_xla.ir.layout import TILE
from tt_xla.ir.program import Cost, Instruction, TensorSpec


def _cores(instruction: Instruction, rates: Rates) -> int:
    """Returns the number of cores in a profiler's row, or that of the chip."""
    return int(instruction.attributes.get("core_count") or rates.cores)


def waiting_copy(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of an op that fetches and writes pages one by one: a copy, split or write into a slice."""
    inputs = inputs_of(instruction, values)
    if not inputs or not instruction.results:
        return FREE
    source, out = Work(inputs[0].layout), Work(values[instruction.results[0]].layout)
    if source.place == SHARDED and source.shards == out.shards:
        busy = max(out.bytes / out.cores * rates.local, source.bytes / source.cores * rates.local)
        return local_cost(rates, busy, out.cores)
    moved = source if instruction.op.endswith((".split", ".slice_write")) else out
    cores = min(_cores(instruction, rates), max(moved.pages, 1))
    share = -(-moved.pages // cores) / max(moved.pages, 1)
    dram = sum(work.bytes for work in (source, out) if work.place == DRAM) * rates.dram
    if instruction.op.endswith(".slice_write"):
        dram = moved.bytes * rates.dram
    wait = rates.wait
    if source.place == SHARDED and not moved.tiled:  # rows of a shard go out in bulk
        wait = families.STICK_CYCLES * rates.cycle_us
    return cost_of(rates, 0.0, dram, moved.pages * share * wait + moved.bytes * share * rates.arrival, cores)


def _untilize_cycles(source: Work, cores: int, wide: int) -> float:
    """Returns the cycles in which one core untilizes its part of a tensor, row of tiles by row of tiles.

    Args:
        source: the tensor.
        cores: number of cores that have a part of it.
        wide: tiles in a row of a tensor that is not sharded.
    """
    wide = source.shards[2][1] if source.shards else wide
    rows = source.pages / max(wide, 1) / max(cores, 1)
    return rows * (families.UNTILIZE_ROW_CYCLES + families.TILIZE_CYCLES * wide)


def halo(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of a halo exchange: shards of a feature map get the rows of neighbours that a window needs."""
    source, out = Work(inputs_of(instruction, values)[0].layout), Work(values[instruction.results[0]].layout)
    cores = max(out.cores or _cores(instruction, rates), 1)
    untilized = source.tiles * TILE * TILE * ELEMENT_BYTES["bf16"] if source.tiled else source.bytes
    return exchanged(source, untilized, max(out.bytes - untilized, 0.0), rates, cores)


def exchanged(source: Work, own: float, remote: float, rates: Rates, cores: int, wide: int = 1) -> Cost:
    """Returns the cost of a halo exchange: each core copies, untilized, its own rows and sends those that others need.

    Args:
        source: the shards.
        own: bytes of all cores' own rows.
        remote: bytes of all rows that cores get from others, padding included.
        rates: speeds of the chip.
        cores: number of cores.
        wide: tiles in a row of a tensor that is not sharded.
    """
    compute = _untilize_cycles(source, source.cores or cores, wide) * rates.cycle_us if source.tiled else 0.0
    blocks = source.shards is not None and min(source.shards[1]) > 1
    streams = families.HALO_STREAMS * (families.HALO_BLOCK_FACTOR if blocks else 1.0)
    noc = own / cores * rates.local + remote * rates.local / min(streams, cores) + families.HALO_US
    launch = rates.launch_local
    return Cost(launch + max(compute + families.HALO_US, noc), compute, 0.0, noc, launch, cores)


def padded_slice(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of copying a part of an interleaved tensor to rows in shards."""
    source, out = Work(inputs_of(instruction, values)[0].layout), Work(values[instruction.results[0]].layout)
    cores = max(out.cores or _cores(instruction, rates), 1)
    sticks, bytes_ = out.pages / cores, out.bytes / cores
    if source.tiled:
        cycles = sticks * families.SLICED_STICK_CYCLES + bytes_ / families.SLICED_BYTES_PER_CYCLE
        tiles = sticks / TILE * -(-out.page // (TILE * ELEMENT_BYTES["bf16"]))
        waited = tiles * (rates.wait + source.page * rates.arrival)
    else:
        cycles, waited = sticks * families.STICK_CYCLES, 0.0
    return cost_of(rates, 0.0, 0.0, max(cycles * rates.cycle_us, waited), cores)


def rows_of_channels(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of turning rows of positions into rows of channels, block by block on each core.

    Two cores read a block from the shards. The compute core tilizes, transposes and untilizes its tiles, and the two
    copy the channels of each position out of them. No public measurement has this op: a row costs what it costs in a
    slice of tiles, and each tile a wait.
    """
    source, out = Work(inputs_of(instruction, values)[0].layout), Work(values[instruction.results[0]].layout)
    cores = max(out.cores or _cores(instruction, rates), 1)
    rows = out.pages / cores
    tiles = rows / TILE * -(-out.page // (TILE * ELEMENT_BYTES["bf16"]))
    compute = 3 * tiles * families.TILIZE_CYCLES * rates.cycle_us
    cycles = rows * families.SLICED_STICK_CYCLES + out.bytes / cores / families.SLICED_BYTES_PER_CYCLE
    noc = source.bytes / cores * rates.stream + (cycles * rates.cycle_us + tiles * rates.wait) / 2
    return cost_of(rates, compute, 0.0, noc, cores)


def grid_sample(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of grid_sample, which fetches four rows of channels together for each point."""
    inputs = inputs_of(instruction, values)
    source, out = Work(inputs[0].layout), Work(values[instruction.results[0]].layout)
    points = max(math.prod(values[instruction.results[0]].shape) // max(inputs[0].shape[-1], 1), 1)
    cores = min(_cores(instruction, rates), points)
    each = -(-points // cores)
    noc = each * (rates.wait + 4 * source.page * rates.arrival)
    return cost_of(rates, 0.0, out.bytes * rates.dram if out.place == DRAM else 0.0, noc, cores)


def group_norm(
    instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, cycles: tuple[float, float, float]
) -> Cost:
    """Returns the cost of group norm: statistics of each group over the cores that share it, then two passes.

    A tensor in DRAM is read again in every pass.
    """
    result = values[instruction.results[0]]
    out = Work(result.layout)
    groups = int(instruction.attributes.get("num_groups") or 32)
    if out.shards is None:
        cores, share = split(out, rates)
        dram, noc = traffic([Work(inputs_of(instruction, values)[0].layout), out], rates, share)
        return cost_of(rates, (out.tiles * share * cycles[0] + cycles[2]) * rates.cycle_us, dram, noc, cores)
    _, grid, shard = out.shards
    unit = 1 if out.tiled else TILE
    rows, columns = -(-shard[0] // unit), -(-shard[1] // unit)
    own = max(groups // grid[1], 1)
    per_group = max(columns // own, 1)
    work = own * (families.GROUP_CYCLES + families.GROUP_CORE_CYCLES * grid[0])
    work += own * rows * per_group * families.GROUP_TILE_CYCLES
    return cost_of(rates, work * rates.cycle_us, 0.0, 0.0, out.cores)


def prefix_sum(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of sums down the rows and along leading dimensions, in which cores share columns of tiles."""
    result = values[instruction.results[0]]
    out = Work(result.layout)
    columns = max(-(-result.shape[-1] // TILE), 1)
    cores = min(rates.cores, columns)
    each = -(-columns // cores) / columns
    dram, _ = traffic([Work(inputs_of(instruction, values)[0].layout), out], rates, each)
    return cost_of(rates, out.tiles * each * families.PREFIX_SUM_CYCLES * rates.cycle_us, dram, 0.0, cores)


def running(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of a running sum or product. A core goes along the dimension; cores share the other tiles."""
    result = values[instruction.results[0]]
    out = Work(result.layout)
    shape = result.shape or (1,)
    axis = int(instruction.attributes.get("dim") or 0) % len(shape)
    length = -(-shape[axis] // TILE) if axis >= len(shape) - 2 else shape[axis]
    lines = max(out.tiles / max(length, 1), 1)
    each = -(-lines // rates.cores) * length
    dram, _ = traffic([Work(inputs_of(instruction, values)[0].layout), out], rates, each / max(out.tiles, 1))
    noc = each * (rates.wait + out.page * rates.arrival) if out.place == DRAM else 0.0
    compute = each * families.RUNNING_CYCLES * rates.cycle_us
    return cost_of(rates, compute, dram, noc, int(min(rates.cores, lines)))


def minimal_matmul(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of the matmul with fixed blocks, whose weights stream through the cores block by block."""
    inputs = inputs_of(instruction, values)
    a, b, out = (Work(spec.layout) for spec in (*inputs[:2], values[instruction.results[0]]))
    config = instruction.attributes.get("compute_config") or {}
    product = rates.tile_product[str(config.get("math_fidelity", "hifi4")).lower()]
    rows = max(a.tiles * TILE / max(inputs[0].shape[-1], 1), 1)
    dram = sum(work.bytes for work in (a, b, out) if work.place == DRAM) * rates.dram * families.MINIMAL_DRAM_FACTOR
    block = families.MINIMAL_BLOCK_TILES * b.page * rates.block
    compute = rows * b.tiles / rates.cores * product
    return cost_of(rates, compute, dram + families.MINIMAL_BLOCKS * block, 0.0, rates.cores)


def joined(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of a concatenation, which moves pages one by one between cores or from memory."""
    out = Work(values[instruction.results[0]].layout)
    works = [Work(spec.layout) for spec in inputs_of(instruction, values)]
    if any(work.place == HOST for work in (*works, out)):
        return hosted(works, [out], rates)
    cores, share = split(out, rates)
    dram, noc = traffic((*works, out), rates, share)
    wait = families.SHARD_PAGE_CYCLES * rates.cycle_us if out.place == SHARDED else rates.wait
    if not out.tiled and out.place != SHARDED:
        wait = families.STICK_CYCLES * rates.cycle_us
    return cost_of(rates, 0.0, dram, max(noc, out.pages * share * wait), cores)


def cache_write(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of a cache write, which waits for each page of the second operand and writes it to the first."""
    inputs = inputs_of(instruction, values)
    if len(inputs) < 2:
        return FREE
    part = Work(inputs[1].layout)
    cores, share = split(part, rates)
    dram = 2 * part.bytes * rates.dram if part.place == DRAM else part.bytes * rates.dram
    return cost_of(rates, 0.0, dram, share * (part.pages * rates.wait + part.bytes * rates.arrival), cores)
