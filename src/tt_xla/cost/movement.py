"""The device time of ops that move data: between layouts, places and shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt_xla.cost import families
from tt_xla.cost.rates import DRAM, ELEMENT_BYTES, HOST, L1, SHARDED, WORD_BYTES, Rates, Work
from tt_xla.cost.shares import FREE, cost_of, inputs_of, local_cost, split, traffic
from tt_xla.ir.layout import TILE, TensorLayout
from tt_xla.ir.program import Cost, Instruction, TensorSpec


def copy(source: Work, out: Work, rates: Rates) -> Cost:
    """Returns the cost of a copy to another place or format: tilize, untilize, to and from shards, host moves."""
    if source.place == HOST or out.place == HOST:
        return _host(source, out, rates)
    if not out.pages or not source.pages:
        return cost_of(rates, 0.0, 0.0, 0.0, 1)
    tilized = source.tiled != out.tiled
    computed = out if out.cores or not tilized or out.tiled else source
    if tilized and not (source.cores and out.cores):  # if both are sharded, each core converts its own shard
        rows = max((source if out.tiled else out).pages // TILE, 1)
        cores, share = _rows_of_tiles(rows, max(source.pages if source.tiled else out.pages, 1) // rows, rates)
    else:
        cores, share = split(computed, rates)
    dram, noc = traffic((source, out), rates, share)
    computing_cores = (source.cores or out.cores or cores) if SHARDED in (source.place, out.place) else cores
    compute = 0.0
    if tilized and source.tiled and source.shards is not None and out.place == SHARDED:
        wide = source.shards[2][1]
        rows = source.pages / max(wide, 1) / source.cores
        compute = rows * (families.UNTILIZE_ROW_CYCLES + families.TILIZE_CYCLES * wide) * rates.cycle_us
    elif tilized:
        compute = max(source.tiles, out.tiles) * share * families.TILIZE_CYCLES * rates.cycle_us
    elif source.place != out.place and SHARDED in (source.place, out.place):
        small = source if source.bytes < out.bytes else out  # the smaller one, if one is a part of the other
        dram = small.bytes * rates.dram if DRAM in (source.place, out.place) else 0.0
        noc = small.bytes / computing_cores * rates.stream * families.ONE_SIDED
        if out.place == DRAM:
            dram, noc = dram * families.WRITTEN, small.bytes / computing_cores * rates.block
        elif L1 in (source.place, out.place):
            noc = _across_l1(small.bytes, computing_cores, out.place == L1, rates)
    if not tilized and not out.tiled:
        cycles = families.BULK_STICK_CYCLES if source.place == SHARDED else families.COPY_STICK_CYCLES
        if source.place == L1 and out.place == SHARDED:
            cycles = families.L1_STICK_CYCLES + out.page / families.L1_STICK_BYTES_PER_CYCLE
        noc = max(noc, out.pages * share * cycles * rates.cycle_us)
    elif tilized:
        sticks = max(0 if work.tiled or work.place == SHARDED else work.pages for work in (source, out))
        noc = max(noc, sticks * share * families.STICK_CYCLES * rates.cycle_us)
    if not compute and SHARDED in (source.place, out.place):
        return local_cost(rates, noc, cores, dram)
    return cost_of(rates, compute, dram, noc, cores)


def _across_l1(size: float, cores: int, written: bool, rates: Rates) -> float:
    """Returns the time in which ``cores`` read ``size`` bytes of a buffer interleaved over L1, or write them to it."""
    each, together = (
        (families.INTO_L1, families.INTO_L1_CORES) if written else (families.FROM_L1, families.FROM_L1_CORES)
    )
    return size / min(each * cores, together) * rates.local


def _host(source: Work, out: Work, rates: Rates) -> Cost:
    """Returns the cost of a transfer over PCIe. A copy from host to host costs the device nothing."""
    if source.place == out.place:
        return FREE
    onto = out.place != HOST
    busy = (out.bytes * rates.to_device) if onto else (source.bytes * rates.from_device)
    return Cost(rates.transfer + busy, 0.0, 0.0, busy, rates.transfer, 0)


def layout_change(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    inputs = inputs_of(instruction, values)
    if not instruction.results or not inputs:
        return FREE
    source, result = inputs[0], values[instruction.results[0]]
    if source.layout == result.layout:
        return FREE
    before, after = Work(source.layout), Work(result.layout)
    rows, columns = (source.shape[-2] if len(source.shape) > 1 else 1), (source.shape[-1] if source.shape else 1)
    untiled = after if before.tiled else before
    if before.tiled == after.tiled or HOST in (before.place, after.place) or not (rows % TILE or columns % TILE):
        return copy(before, after, rates)
    if untiled.place == SHARDED:
        return copy(before, after, rates)
    return _by_sticks(source if before.tiled else result, before, after, rates)


def _rows_of_tiles(high: int, wide: int, rates: Rates) -> tuple[int, float]:
    """Returns the number of cores that share ``high`` rows of ``wide`` tiles, and the busiest core's part of the tiles.

    A core has whole rows. If there are fewer rows than tiles in a row, several cores share each row.
    """
    each = -(-high // rates.cores)
    cores = -(-high // max(each, 1))
    parts = 1
    if wide > families.WIDE_TILES and wide > high:
        parts = min(max(rates.cores // cores, 1), wide)
    return cores * parts, each / max(high, 1) * -(-wide // parts) / max(wide, 1)


def _by_sticks(tiled: TensorSpec, before: Work, after: Work, rates: Rates) -> Cost:
    """Returns the cost of tilize or untilize with padding: rows move one by one, padding is written word by word."""
    high, wide = tiled.layout.shard
    cores, share = _rows_of_tiles(high, wide, rates)
    untiled = after if before.tiled else before
    sticks = untiled.pages * -(-high // rates.cores) / max(high, 1)
    cycles = sticks * families.PADDED_STICK_CYCLES
    if after.tiled:
        missing = after.tiles * TILE * TILE - untiled.pages * (tiled.shape[-1] if tiled.shape else 1)
        words = missing * share * ELEMENT_BYTES.get(tiled.layout.dtype, 1) / WORD_BYTES
        cycles += words * families.WORD_CYCLES
    dram, noc = traffic((before, after), rates, share)
    compute = max(before.tiles, after.tiles) * share * families.TILIZE_CYCLES * rates.cycle_us
    return cost_of(rates, compute, dram, max(noc, cycles * rates.cycle_us), cores)


def data_movement(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of reading the inputs once and writing the results once, in pages of the result."""
    inputs = inputs_of(instruction, values)
    results = [values[number] for number in instruction.results] or inputs[:1]
    if not results:
        return FREE
    works = [Work(spec.layout) for spec in (*inputs, *results)]
    if any(work.place == HOST for work in works):
        return hosted(works[: len(inputs)], works[len(inputs) :], rates)
    out = works[len(inputs)]
    cores, share = split(out, rates)
    dram, noc = traffic(works, rates, share)
    if not out.tiled:
        noc = max(noc, out.pages * share * families.STICK_CYCLES * rates.cycle_us)
    return cost_of(rates, 0.0, dram, noc, cores)


def cache_write(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of a write to a cache: only the tiles of the new rows move, or those around a single row."""
    cache, new = inputs_of(instruction, values)[:2]
    sizes = new.shape if instruction.op == "ttnn.fill_cache" else (new.shape[1], cache.shape[1], TILE, cache.shape[3])
    touched = Work(TensorLayout.of(sizes, cache.layout.dtype))
    return copy(touched, touched, rates)


def hosted(inputs: list[Work], results: list[Work], rates: Rates) -> Cost:
    """Returns the cost of an op with tensors on host and device: those on the other side cross PCIe."""
    up = sum(work.bytes for work in inputs if work.place == HOST) if any(w.place != HOST for w in results) else 0
    down = sum(work.bytes for work in inputs if work.place != HOST) if any(w.place == HOST for w in results) else 0
    if not up and not down:
        return FREE
    busy = up * rates.to_device + down * rates.from_device
    return Cost(rates.transfer + busy, 0.0, 0.0, busy, rates.transfer, 0)


def slice_(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of a slice, which reads only the elements of its result."""
    out = Work(values[instruction.results[0]].layout)
    if out.place == HOST:
        return data_movement(instruction, values, rates, None)
    cores, share = split(out, rates)
    source = Work(inputs_of(instruction, values)[0].layout)
    read = out.bytes if out.bytes < source.bytes else source.bytes
    dram = (read if source.place == DRAM else 0) + (out.bytes if out.place == DRAM else 0)
    noc = share * (read + out.bytes) * (rates.stream if SHARDED not in (source.place, out.place) else rates.local)
    if not out.tiled:
        noc = max(noc, out.pages * share * families.STICK_CYCLES * rates.cycle_us + rates.wait)
    return cost_of(rates, 0.0, dram * rates.dram, noc, cores)


def reshape(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of a reshape. It is free if rows of tiles stay in place; else every row is copied in pieces."""
    source = inputs_of(instruction, values)[0]
    result = values[instruction.results[0]]
    before, after = Work(source.layout), Work(result.layout)
    if not after.tiled or not before.tiled or HOST in (before.place, after.place):
        same_rows = source.shape[-1:] == result.shape[-1:] and before.tiled == after.tiled
        if same_rows or before.place == after.place == HOST:
            return FREE
        cost = data_movement(instruction, values, rates, None)
        if HOST in (before.place, after.place):
            return cost
        busy = max(before.pages, after.pages) * families.STICK_CYCLES
        if before.page % families.ALIGNED_BYTES or after.page % families.ALIGNED_BYTES:
            busy += math.prod(result.shape) * families.UNALIGNED_ELEMENT_CYCLES
        busy *= rates.cycle_us / rates.cores
        return cost_of(rates, cost.compute_us, cost.dram_us, max(cost.noc_us, busy), cost.cores)
    if keeps_tiles(source, result) and before.place == after.place:
        return FREE
    cores, share = split(after, rates)
    dram, noc = traffic((before, after), rates, share)
    pieces = after.pages * share * _pieces(source, result, before, rates)
    return cost_of(rates, 0.0, dram, max(noc, pieces), cores)


def _pieces(source: TensorSpec, result: TensorSpec, before: Work, rates: Rates) -> float:
    """Returns the time for one tile of a reshaped tensor.

    Each of its rows consists of pieces that lie in one face of a source tile. A source tile is fetched if the row
    before lay in another one. A table of the pieces is fetched for each tile.
    """
    rows, last = (result.shape[-2] if len(result.shape) > 1 else 1), (result.shape[-1] if result.shape else 1)
    from_rows = source.shape[-2] if len(source.shape) > 1 else 1
    from_last = source.shape[-1] if source.shape else 1
    rows = rows / max(-(-rows // TILE), 1)  # rows of an average tile that are not padding
    wide = min(last, TILE)
    pieces = rows * max(-(-wide // families.FACE), wide / max(from_last, 1))
    lengths = last / max(from_last, 1)
    further = lengths / max(min(from_rows, TILE), 1) if lengths >= 1 else last / TILE
    fetched = 1 + (rows - 1) * min(further, 1.0) + 1
    return pieces * families.RESHAPE_PIECE_CYCLES * rates.cycle_us + fetched * (
        rates.wait + before.page * rates.arrival
    )


def keeps_tiles(source: TensorSpec, result: TensorSpec) -> bool:
    """Whether a reshape on the device leaves all pages in place, so that TT-NN returns a view of the same memory."""
    before, after = source.layout, result.layout
    if before.tiled != after.tiled or before.dtype != after.dtype or not (before.on_device and after.on_device):
        return False
    if not before.tiled:
        return source.shape[-1:] == result.shape[-1:]
    return _same_tiles(source.shape, result.shape)


def _same_tiles(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether tiled tensors of two shapes consist of the same tiles."""
    if before[-1:] != after[-1:]:
        return False
    rows, new_rows = (before[-2] if len(before) > 1 else 1), (after[-2] if len(after) > 1 else 1)
    return rows == new_rows or not (rows % TILE or new_rows % TILE)


def permute(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of a permutation. Tiles move as a whole if the last two dimensions stay last; else rows or
    elements move."""
    source = inputs_of(instruction, values)[0]
    result = values[instruction.results[0]]
    before, after = Work(source.layout), Work(result.layout)
    if HOST in (before.place, after.place):
        return data_movement(instruction, values, rates, None)
    rank = len(source.shape)
    order = instruction.attributes.get("permutation")
    if order is None and "dim0" in instruction.attributes:
        axes = list(range(rank))
        first, second = int(instruction.attributes["dim0"]) % rank, int(instruction.attributes["dim1"]) % rank
        axes[first], axes[second] = axes[second], axes[first]
        order = axes
    axes = [int(axis) for axis in order or range(rank)]
    if axes == list(range(rank)):
        return FREE
    if not after.tiled:
        cost = data_movement(instruction, values, rates, None)
        if axes[-1] == rank - 1:
            return cost
        # Blocks of 32 by 32 elements are turned, read and written in pieces of a row.
        elements = math.prod(source.shape)
        pieces = sum(elements / max(min(shape[-1], TILE), 1) for shape in (source.shape, result.shape))
        busy = pieces / rates.cores * families.PERMUTE_PIECE_CYCLES * rates.cycle_us
        return cost_of(rates, cost.compute_us, cost.dram_us, max(cost.noc_us, busy), cost.cores)
    cycles = 0.0
    if set(axes[-2:]) != {rank - 2, rank - 1}:
        cycles = families.PERMUTE_ROWS_CYCLES if axes[-1] == rank - 1 else families.PERMUTE_COLUMNS_CYCLES
    more = before if before.pages > after.pages else after
    cores, share = split(more, rates)
    dram, noc = traffic((before, after), rates, share)
    busy = more.pages * share * cycles * rates.cycle_us
    if cycles == families.PERMUTE_ROWS_CYCLES:  # each page of the source is awaited, then rows of the result written
        read, written = -(-before.pages // rates.cores), -(-after.pages // rates.cores)
        busy = read * (rates.wait + before.page * rates.arrival) + written * cycles * rates.cycle_us
    return cost_of(rates, 0.0, dram, max(noc, busy), cores)


def embedding(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of an embedding: each index reads a row of the table; a tiled result is tilized after."""
    result = values[instruction.results[0]]
    out = Work(result.layout)
    rows = max(math.prod(result.shape[:-1]), 1)
    blocks = -(-rows // 16)
    cores = min(rates.cores, blocks)
    each = -(-blocks // cores) * min(16, rows)
    dram = 2 * out.bytes * rates.dram if out.place == DRAM else out.bytes * rates.dram
    noc = each * (rates.wait + out.bytes / rows * rates.arrival)
    compute = out.tiles / cores * families.TILIZE_CYCLES * rates.cycle_us if out.tiled else 0.0
    return cost_of(rates, compute, dram, noc, cores, launches=2 if out.tiled else 1)


def creation(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of a creation op: the host writes constants of the Program, the device fills other tensors."""
    out = Work(values[instruction.results[0]].layout)
    if out.place == HOST:
        return FREE
    if instruction.op.endswith(".constant"):
        return hosted([_on_host(out)], [out], rates)
    cores, share = split(out, rates)
    dram, noc = traffic((out,), rates, share)
    return cost_of(rates, 0.0, dram, noc, cores)


def _on_host(work: Work) -> Work:
    twin = object.__new__(Work)
    twin.pages, twin.page, twin.tiles, twin.bytes = work.pages, work.page, work.tiles, work.bytes
    twin.place, twin.tiled, twin.cores, twin.shards, twin.uneven = HOST, work.tiled, 0, None, False
    return twin
