"""The device time of one instruction: a fixed launch, and the longest of computing, DRAM traffic and data movement.

Each op belongs to a family (:mod:`tt_xla.cost.families`), whose model turns shapes, element types, layouts and math
fidelity into work for the busiest core. ``noc_us`` of a :class:`Cost` is all that data-movement cores do besides
waiting for DRAM: pages, sticks, multicast, and the PCIe time of moves between host and device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tt_xla.cost import families
from tt_xla.cost.rates import DRAM, FIDELITIES, HOST, L1, SHARDED, TILE_BYTES, Rates, Work, rates_of
from tt_xla.ir.layout import TILE, round_up
from tt_xla.ir.program import Cost, Instruction, TensorSpec
from tt_xla.target import Target

Model = Callable[[Instruction, Sequence[TensorSpec], Rates, Any], Cost]

_FREE = Cost()


def instruction_cost(instruction: Instruction, values: Sequence[TensorSpec], target: Target) -> Cost:
    """Predicted device time of ``instruction``, whose operands and results index ``values``.

    An op that no family lists counts as a copy of its operands to its results. A trace counts nothing here, as its
    instructions are in another function: see :func:`tt_xla.cost.predicted_device_us`.
    """
    name = instruction.op.rpartition(".")[2]
    model, parameter = _MODELS.get(name, _MOVEMENT)
    return model(instruction, values, rates_of(target), parameter)


def _inputs(instruction: Instruction, values: Sequence[TensorSpec]) -> list[TensorSpec]:
    found: list[TensorSpec] = []
    for operand in instruction.operands.values():
        if isinstance(operand, tuple):
            found.extend([values[number] for number in operand])
        else:
            found.append(values[operand])
    return found


def _cost(rates: Rates, compute: float, dram: float, noc: float, cores: int, launches: int = 1) -> Cost:
    launch = rates.launch * launches
    longest = compute if compute > dram else dram
    if noc > longest:
        longest = noc
    return Cost(launch + longest, compute, dram, noc, launch, cores)


def _fidelity(instruction: Instruction) -> str:
    config = instruction.attributes.get("compute_config")
    if not config:
        return "hifi4"
    name = str(config.get("math_fidelity", "hifi4")).lower()
    return name if name in FIDELITIES else "hifi4"


def _split(work: Work, rates: Rates) -> tuple[int, float]:
    """Cores that make a tensor, and the part of it that the busiest one makes."""
    if work.cores:
        return min(work.cores, rates.cores), 1.0 / work.cores
    pages = work.pages
    if pages <= rates.cores:
        return max(pages, 1), 1.0 / max(pages, 1)
    each = -(-pages // rates.cores)
    return -(-pages // each), each / pages


def _traffic(works: Sequence[Work], rates: Rates, share: float) -> tuple[float, float]:
    """DRAM time of the chip, and the time the busiest core takes to move its share of the pages."""
    dram = shared = local = 0
    for work in works:
        if work.place == DRAM:
            dram += work.bytes
        elif work.place == L1:
            shared += work.bytes
        elif work.place == SHARDED:
            local += work.bytes
    return dram * rates.dram, share * ((dram + shared) * rates.stream + local * rates.local)


def _elementwise(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, op: str) -> Cost:
    """Unary and ternary ops: one pass through the vector unit."""
    out = Work(values[instruction.results[0]].layout)
    works = [Work(spec.layout) for spec in _inputs(instruction, values)]
    cores, share = _split(out, rates)
    dram, noc = _moved(works, out, rates, share)
    compute = out.tiles * share * rates.sfpu[op]
    return _cost(rates, compute, dram, noc, cores)


def _moved(works: list[Work], out: Work, rates: Rates, share: float) -> tuple[float, float]:
    """As :func:`_traffic` for inputs and output; compute kernels read and write their own shards in place."""
    dram = shared = 0
    for work in works:
        if work.place == DRAM:
            dram += work.bytes
        elif work.place == L1 or (work.place == SHARDED and work.shards != out.shards):
            shared += work.bytes
    if out.place == DRAM:
        dram += out.bytes
    elif out.place == L1:
        shared += out.bytes
    return dram * rates.dram, share * (dram + shared) * rates.stream


def _binary(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, extra: str) -> Cost:
    """Ops of two tensors on the FPU, and what the vector unit does after."""
    result = values[instruction.results[0]]
    out = Work(result.layout)
    inputs = _inputs(instruction, values)
    works = [Work(spec.layout) for spec in inputs]
    cores, share = _split(out, rates)
    dram, noc = _moved(works, out, rates, share)
    cycles = families.FPU_TILE_CYCLES
    if instruction.op.endswith(".multiply"):
        cycles += families.FPU_PASS_CYCLES * FIDELITIES.index(_fidelity(instruction))
    tiles = out.tiles * share
    compute = tiles * cycles * rates.cycle_us
    if extra:
        compute += tiles * rates.sfpu[extra]
    shape = result.shape
    for spec in inputs:
        if _broadcast_in_tile(spec.shape, shape):
            noc += tiles * families.BROADCAST_FILL_CYCLES * rates.cycle_us
    return _cost(rates, compute, dram, noc, cores)


def _broadcast_in_tile(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether one row or one column of ``shape`` is repeated within each tile; a scalar is filled once."""
    rows = shape[-2] if len(shape) > 1 else 1
    columns = shape[-1] if shape else 1
    out_rows = into[-2] if len(into) > 1 else 1
    out_columns = into[-1] if into else 1
    by_row = rows == 1 and out_rows > 1
    by_column = columns == 1 and out_columns > 1
    return (by_row and columns > 1) or (by_column and rows > 1)


def _reduction(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, cycles: float) -> Cost:
    """One core reduces a row or column of tiles at a time, so few results keep few cores busy."""
    spec = _inputs(instruction, values)[0]
    source = Work(spec.layout)
    out = Work(values[instruction.results[0]].layout)
    groups = max(min(out.pages if out.tiled else math.ceil(out.tiles), source.pages), 1)
    if groups == 1 and source.tiled:  # all of it: along rows first, then their results
        groups = max(spec.layout.shard[0], 1)
    local = source.cores if out.cores else 0
    cores = local or min(rates.cores, groups)
    share = 1.0 / local if local else -(-groups // cores) / groups
    dram, noc = _moved([source], out, rates, share)
    compute = source.tiles * share * cycles * rates.cycle_us
    return _cost(rates, compute, dram, noc, min(cores, rates.cores))


def _row_op(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, cycles: tuple[float, float]) -> Cost:
    """Softmax and norms: a core keeps a row of tiles in L1 and passes over it several times."""
    result = values[instruction.results[0]]
    out = Work(result.layout)
    works = [Work(spec.layout) for spec in _inputs(instruction, values)]
    if out.cores:
        cores, share = min(out.cores, rates.cores), 1.0 / out.cores
    else:
        rows = max(result.layout.shard[0] if out.tiled else -(-result.layout.shard[0] // TILE), 1)
        cores = min(rates.cores, rows)
        share = -(-rows // cores) / rows
    dram, noc = _moved(works, out, rates, share)
    compute = (out.tiles * share * cycles[0] + cycles[1]) * rates.cycle_us
    return _cost(rates, compute, dram, noc, cores)


def _matmul(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    a, b, *others = _inputs(instruction, values)
    result = values[instruction.results[0]]
    inner_axis = -2 if instruction.attributes.get("transpose_a") and len(a.shape) > 1 else -1
    inner = a.shape[inner_axis]
    rows = result.shape[-2] if len(result.shape) > 1 else 1
    columns = result.shape[-1] if result.shape else 1
    batch = math.prod(result.shape[:-2])
    if math.prod(b.shape[:-2]) <= 1:  # one weight for all of the batch: its rows follow each other
        row_tiles, batch = batch * -(-rows // TILE), 1
    else:
        row_tiles = -(-rows // TILE)
    works = [Work(a.layout), Work(b.layout), *[Work(other.layout) for other in others]]
    return _products(
        instruction, rates, works, Work(result.layout), batch, row_tiles, -(-inner // TILE), -(-columns // TILE)
    )


def _products(
    instruction: Instruction,
    rates: Rates,
    works: list[Work],
    out: Work,
    batch: int,
    rows: int,
    inner: int,
    columns: int,
    *,
    gather: float = 0.0,
) -> Cost:
    """A matrix product of ``rows x inner`` by ``inner x columns`` tiles, ``batch`` times one after the other.

    The chip's cores share the output as the program config says; without one, by rows and columns, by columns alone or
    by rows alone, whichever is fastest. What a core lacks of either operand reaches it by multicast. ``gather`` is
    bytes of the left operand that a convolution's cores assemble from L1 and tilize, all together.
    """
    page_a = works[0].page if works[0].tiled else TILE_BYTES["bf16"]
    page_b = works[1].page if works[1].tiled else TILE_BYTES["bf16"]
    product = rates.tile_product[_fidelity(instruction)]
    unpack = (page_a + page_b) * rates.unpack
    if unpack > product:
        product = unpack
    config = instruction.attributes.get("matmul_program_config") or {}
    activation = instruction.attributes.get("activation") or (config.get("fused_activation") or {}).get("op_type")
    after = rates.sfpu.get(activation, 0.0) if isinstance(activation, str) else 0.0
    paged = [work.bytes if work.place in (DRAM, L1) else 0 for work in (*works, out)]
    waiting = rates.stream * families.MATMUL_STREAM_FACTOR
    best = math.inf
    compute = noc = 0.0
    used = 1
    for split_rows, split_columns in _splits(config, rates, batch, rows, columns):
        block_rows = -(-rows // split_rows)
        block_columns = -(-columns // split_columns)
        option_compute = block_rows * block_columns * (inner * product + after)
        received = block_columns * inner * page_b if split_rows > 1 and rows > 1 else 0
        if split_columns > 1 and columns > 1 and not gather:
            received += block_rows * inner * page_a
        option_noc = received * rates.multicast
        part_rows, part_columns = block_rows / max(rows, 1), block_columns / max(columns, 1)
        if gather:
            part = gather * part_rows
            option_compute += part / TILE_BYTES["bf16"] * families.TILIZE_CYCLES * rates.cycle_us
            option_noc += part / families.GATHER_BYTES_PER_CYCLE * rates.cycle_us
        if batch > 1:
            option_compute *= batch
            option_noc = batch * max(option_noc, families.BATCH_US)
        # Where cores share rows and columns, one reads an operand's block for the others, many pages at a time; where
        # they share one of both only, each goes through its own part of that operand.
        read_a, read_b = paged[0] * part_rows, paged[1] * part_columns
        if split_rows == 1:
            read = max(read_a * rates.block, read_b * waiting)
        elif split_columns == 1:
            read = max(read_a * waiting, read_b * rates.block)
        else:
            read = max(read_a, read_b) * rates.block
        option_noc = max(option_noc, read + paged[-1] * part_rows * part_columns * rates.stream)
        longest = option_compute if option_compute > option_noc else option_noc
        if longest < best:
            best, compute, noc = longest, option_compute, option_noc
            used = max(-(-rows // max(block_rows, 1)) * -(-columns // max(block_columns, 1)), 1)
    traffic = sum([work.bytes for work in (*works, out) if work.place == DRAM])
    return _cost(rates, compute, traffic * rates.dram, noc, used)


def _splits(
    config: Mapping[str, Any], rates: Rates, batch: int, rows: int, columns: int
) -> tuple[tuple[int, int], ...]:
    """Into how many parts the rows and columns of tiles of a product are cut."""
    if batch == 1 and config.get("per_core_m") and config.get("per_core_n"):
        return ((-(-rows // int(config["per_core_m"])), -(-columns // int(config["per_core_n"]))),)
    return ((rates.rows, rates.columns), (1, rates.cores), (rates.cores, 1))


def _convolution(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """A matrix product of all output positions by a window's inputs, whose rows are gathered with their halo.

    TT-NN fills grouped weights up with zeros, so groups save nothing.
    """
    attributes = instruction.attributes
    result = values[instruction.results[0]]
    inputs = _inputs(instruction, values)
    works = [Work(spec.layout) for spec in inputs]
    source, out = works[0], Work(result.layout)
    kernel = attributes.get("kernel_size") or (1, 1)
    window = kernel if isinstance(kernel, int) else math.prod(kernel)
    channels = round_up(int(attributes.get("in_channels") or inputs[0].shape[-1]), 8)  # as TT-NN pads them
    outputs = result.shape[-1] if result.shape else 1
    positions = math.prod(result.shape[:-1])
    inner = window * channels
    cost = _products(
        instruction,
        rates,
        works,
        out,
        1,
        -(-positions // TILE),
        -(-inner // TILE),
        -(-outputs // TILE),
        gather=positions * inner * 2.0,
    )
    host = [work for work in works if work.place == HOST]  # weights not prepared beforehand cross PCIe on every call
    if source.place == SHARDED and not host:
        return cost
    copied = _copy(source, source, rates) if source.place != SHARDED else _FREE  # into shards, with halo
    if host:
        copied = _add(copied, _hosted(host, [out], rates))
    return _add(cost, copied)


def _add(cost: Cost, copied: Cost) -> Cost:
    """One after the other, reported as one instruction."""
    return Cost(
        cost.total_us + copied.total_us,
        cost.compute_us + copied.compute_us,
        cost.dram_us + copied.dram_us,
        cost.noc_us + copied.noc_us,
        cost.launch_us + copied.launch_us,
        cost.cores,
    )


def _pooling(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    result = values[instruction.results[0]]
    out = Work(result.layout)
    inputs = _inputs(instruction, values)
    works = [Work(spec.layout) for spec in inputs]
    kernel = instruction.attributes.get("kernel_size")
    positions = max(math.prod(result.shape[:-1]), 1)
    window = math.prod(kernel) if kernel else math.prod(inputs[0].shape[:-1]) // positions
    columns = -(-(result.shape[-1] if result.shape else 1) // TILE)
    each = -(-positions // rates.cores)
    cores = -(-positions // each)
    cycles = families.POOL_STICK_CYCLES + families.POOL_WINDOW_CYCLES * window
    dram, noc = _moved(works, out, rates, 1.0 / cores)
    compute = each * -(-columns // 2) * cycles * rates.cycle_us
    return _cost(rates, compute, dram, noc, cores, launches=2)


def _attention(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Two products for each head, and a softmax of their scores that never leaves L1."""
    inputs = _inputs(instruction, values)
    query, key = inputs[0], inputs[1]
    out = Work(values[instruction.results[0]].layout)
    works = [Work(spec.layout) for spec in inputs]
    heads = max(math.prod(query.shape[:-2]), 1)
    rows, length = -(-query.shape[-2] // TILE), -(-key.shape[-2] // TILE)
    depth = -(-query.shape[-1] // TILE)
    jobs = heads * rows
    each = -(-jobs // rates.cores)
    cores = max(-(-jobs // each), 1) if jobs else 1
    causal = 0.5 if instruction.attributes.get("is_causal") and query.shape[-2] == key.shape[-2] else 1.0
    score = length * causal
    product = max(rates.tile_product[_fidelity(instruction)], 2 * works[1].page * rates.unpack)
    compute = each * score * (2 * depth * product + 3 * families.FPU_TILE_CYCLES * rates.cycle_us)
    compute += each * score * 220 * rates.cycle_us  # approximate exponential, sfpu_cycles.csv: 77 to 221
    dram, _ = _moved(works, out, rates, 1.0)
    noc = each * score * 2 * depth * works[1].page * rates.stream / min(each * 2, 8)
    return _cost(rates, compute, dram, noc, cores, launches=3)


def _copy(source: Work, out: Work, rates: Rates) -> Cost:
    """Pages of one tensor to another place or format: tilize, untilize, to and from shards, host moves."""
    if source.place == HOST or out.place == HOST:
        return _host(source, out, rates)
    if not out.pages or not source.pages:
        return _cost(rates, 0.0, 0.0, 0.0, 1)
    tilized = source.tiled != out.tiled
    split = out if out.cores or not tilized or out.tiled else source
    if tilized and not (
        source.cores and out.cores
    ):  # a core makes whole rows of tiles, unless it holds its part of both
        rows = max((source if out.tiled else out).pages // TILE, 1)
        cores = min(rates.cores, rows)
        share = -(-rows // cores) / rows
    else:
        cores, share = _split(split, rates)
    dram, noc = _traffic((source, out), rates, share)
    compute = 0.0
    if tilized:
        compute = max(source.tiles, out.tiles) * share * families.TILIZE_CYCLES * rates.cycle_us
    elif SHARDED in (source.place, out.place):
        noc *= families.ONE_SIDED
    if not tilized and not out.tiled:
        cycles = families.BULK_STICK_CYCLES if source.place == SHARDED else families.COPY_STICK_CYCLES
        noc = max(noc, out.pages * share * cycles * rates.cycle_us)
    elif tilized:
        sticks = max(0 if work.tiled or work.place == SHARDED else work.pages for work in (source, out))
        noc = max(noc, sticks * share * families.STICK_CYCLES * rates.cycle_us)
    return _cost(rates, compute, dram, noc, cores)


def _host(source: Work, out: Work, rates: Rates) -> Cost:
    """PCIe one way; between two places of the host nothing happens on the device."""
    if source.place == out.place:
        return _FREE
    onto = out.place != HOST
    busy = (out.bytes * rates.to_device) if onto else (source.bytes * rates.from_device)
    return Cost(rates.transfer + busy, 0.0, 0.0, busy, rates.transfer, 0)


def _layout_change(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    inputs = _inputs(instruction, values)
    if not instruction.results or not inputs:
        return _FREE
    source, result = inputs[0], values[instruction.results[0]]
    if source.layout == result.layout:
        return _FREE
    before, after = Work(source.layout), Work(result.layout)
    cost = _copy(before, after, rates)
    rows, columns = (source.shape[-2] if len(source.shape) > 1 else 1), (source.shape[-1] if source.shape else 1)
    if before.tiled == after.tiled or HOST in (before.place, after.place) or not (rows % TILE or columns % TILE):
        return cost
    untiled = after if before.tiled else before
    if untiled.place == SHARDED:
        return cost
    # Rows that need padding are moved one by one.
    busy = untiled.pages / min(cost.cores, untiled.pages or 1) * families.PADDED_STICK_CYCLES * rates.cycle_us
    return _cost(rates, cost.compute_us, cost.dram_us, max(cost.noc_us, busy), cost.cores)


def _data_movement(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Inputs read once, results written once, in pages of the result."""
    inputs = _inputs(instruction, values)
    results = [values[number] for number in instruction.results] or inputs[:1]
    if not results:
        return _FREE
    works = [Work(spec.layout) for spec in (*inputs, *results)]
    if any(work.place == HOST for work in works):
        return _hosted(works[: len(inputs)], works[len(inputs) :], rates)
    out = works[len(inputs)]
    cores, share = _split(out, rates)
    dram, noc = _traffic(works, rates, share)
    if not out.tiled:
        noc = max(noc, out.pages * share * families.STICK_CYCLES * rates.cycle_us)
    return _cost(rates, 0.0, dram, noc, cores)


def _hosted(inputs: list[Work], results: list[Work], rates: Rates) -> Cost:
    """An op with a tensor on the host: what lies on the other side crosses PCIe."""
    up = sum(work.bytes for work in inputs if work.place == HOST) if any(w.place != HOST for w in results) else 0
    down = sum(work.bytes for work in inputs if work.place != HOST) if any(w.place == HOST for w in results) else 0
    if not up and not down:
        return _FREE
    busy = up * rates.to_device + down * rates.from_device
    return Cost(rates.transfer + busy, 0.0, 0.0, busy, rates.transfer, 0)


def _slice(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Only what is kept is read."""
    out = Work(values[instruction.results[0]].layout)
    if out.place == HOST:
        return _data_movement(instruction, values, rates, None)
    cores, share = _split(out, rates)
    source = Work(_inputs(instruction, values)[0].layout)
    read = out.bytes if out.bytes < source.bytes else source.bytes
    dram = (read if source.place == DRAM else 0) + (out.bytes if out.place == DRAM else 0)
    noc = share * (read + out.bytes) * (rates.stream if SHARDED not in (source.place, out.place) else rates.local)
    if not out.tiled:
        noc = max(noc, out.pages * share * families.STICK_CYCLES * rates.cycle_us)
    return _cost(rates, 0.0, dram * rates.dram, noc, cores)


def _reshape(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Free where rows of tiles stay as they are, else every row is copied in pieces."""
    source = _inputs(instruction, values)[0]
    result = values[instruction.results[0]]
    before, after = Work(source.layout), Work(result.layout)
    if not after.tiled or not before.tiled or HOST in (before.place, after.place):
        same_rows = source.shape[-1:] == result.shape[-1:] and before.tiled == after.tiled
        if same_rows or before.place == after.place == HOST:
            return _FREE
        cost = _data_movement(instruction, values, rates, None)
        if HOST in (before.place, after.place):
            return cost
        busy = max(before.pages, after.pages) / rates.cores * families.RESHAPE_STICK_CYCLES * rates.cycle_us
        return _cost(rates, cost.compute_us, cost.dram_us, max(cost.noc_us, busy), cost.cores)
    if keeps_tiles(source, result) and before.place == after.place:
        return _FREE
    more = before if before.pages > after.pages else after
    cores, share = _split(more, rates)
    filled = math.prod(result.shape) / 1024.0 / max(after.pages, 1)
    pieces = after.pages * share * families.RESHAPE_CYCLES * (0.2 + 0.8 * min(filled, 1.0)) * rates.cycle_us
    dram, noc = _traffic((before, after), rates, share)
    return _cost(rates, 0.0, dram, max(noc, pieces + families.RESHAPE_FIRST_US), cores)


def keeps_tiles(source: TensorSpec, result: TensorSpec) -> bool:
    """Whether a reshape on the device leaves all pages as they are, so that TT-NN makes a view of the same memory."""
    before, after = source.layout, result.layout
    if before.tiled != after.tiled or before.dtype != after.dtype or not (before.on_device and after.on_device):
        return False
    if not before.tiled:
        return source.shape[-1:] == result.shape[-1:]
    return _same_tiles(source.shape, result.shape)


def _same_tiles(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether a tiled tensor of one shape is one of the other, tile by tile."""
    if before[-1:] != after[-1:]:
        return False
    rows, new_rows = (before[-2] if len(before) > 1 else 1), (after[-2] if len(after) > 1 else 1)
    return rows == new_rows or not (rows % TILE or new_rows % TILE)


def _permute(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Whole tiles move when the last two dimensions stay or change places; otherwise their rows or elements do."""
    source = _inputs(instruction, values)[0]
    result = values[instruction.results[0]]
    before, after = Work(source.layout), Work(result.layout)
    if HOST in (before.place, after.place):
        return _data_movement(instruction, values, rates, None)
    rank = len(source.shape)
    order = instruction.attributes.get("permutation")
    if order is None and "dim0" in instruction.attributes:
        axes = list(range(rank))
        first, second = int(instruction.attributes["dim0"]) % rank, int(instruction.attributes["dim1"]) % rank
        axes[first], axes[second] = axes[second], axes[first]
        order = axes
    axes = [int(axis) for axis in order or range(rank)]
    if axes == list(range(rank)):
        return _FREE
    if not after.tiled:
        cost = _data_movement(instruction, values, rates, None)
        if axes[-1] == rank - 1:
            return cost
        # Blocks of 32 by 32 elements are turned, read and written in pieces of a row.
        elements = math.prod(source.shape)
        pieces = sum(elements / max(min(shape[-1], TILE), 1) for shape in (source.shape, result.shape))
        busy = pieces / rates.cores * families.STICK_CYCLES * rates.cycle_us
        return _cost(rates, cost.compute_us, cost.dram_us, max(cost.noc_us, busy), cost.cores)
    cycles = 0.0
    if set(axes[-2:]) != {rank - 2, rank - 1}:
        cycles = families.PERMUTE_ROWS_CYCLES if axes[-1] == rank - 1 else families.PERMUTE_COLUMNS_CYCLES
    more = before if before.pages > after.pages else after
    cores, share = _split(more, rates)
    dram, noc = _traffic((before, after), rates, share)
    return _cost(rates, 0.0, dram, max(noc, more.pages * share * cycles * rates.cycle_us), cores)


def _embedding(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """One row of the table for each index, read whole and, for a tiled result, tilized."""
    result = values[instruction.results[0]]
    out = Work(result.layout)
    rows = max(math.prod(result.shape[:-1]), 1)
    blocks = -(-rows // 16)
    cores = min(rates.cores, blocks)
    each = -(-blocks // cores) * min(16, rows)
    dram = 2 * out.bytes * rates.dram if out.place == DRAM else out.bytes * rates.dram
    noc = each * (families.PADDED_STICK_CYCLES * rates.cycle_us + 2.0 * out.bytes / rows * rates.local)
    compute = out.tiles / cores * families.TILIZE_CYCLES * rates.cycle_us if out.tiled else 0.0
    return _cost(rates, compute, dram, noc, cores, launches=2 if out.tiled else 1)


def _creation(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Written by the host, where a value comes from the Program, or filled on the device."""
    out = Work(values[instruction.results[0]].layout)
    if out.place == HOST:
        return _FREE
    if instruction.op.endswith(".constant"):
        return _hosted([_on_host(out)], [out], rates)
    cores, share = _split(out, rates)
    dram, noc = _traffic((out,), rates, share)
    return _cost(rates, 0.0, dram, noc, cores)


def _on_host(work: Work) -> Work:
    twin = object.__new__(Work)
    twin.pages, twin.page, twin.tiles, twin.bytes = work.pages, work.page, work.tiles, work.bytes
    twin.place, twin.tiled, twin.cores, twin.shards = HOST, work.tiled, 0, None
    return twin


def _collective(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, link: float) -> Cost:
    """The larger side crosses an Ethernet link once."""
    inputs = _inputs(instruction, values)
    works = [Work(spec.layout) for spec in (*inputs, *[values[number] for number in instruction.results])]
    dram, noc = _traffic(works, rates, 1.0 / rates.cores)
    crossed = max((work.bytes for work in works), default=0) * 1e6 / link
    return _cost(rates, 0.0, dram, max(noc, crossed), rates.cores, launches=3)


def _free(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    return _FREE


_MOVEMENT: tuple[Model, Any] = (_data_movement, None)

_ETHERNET = 12.5e9
"""Bytes per second of one 100 Gb/s link, one way (tt-isa-documentation)."""


def _table() -> dict[str, tuple[Model, Any]]:
    from tt_xla.target.sfpu import sfpu_cycles

    table: dict[str, tuple[Model, Any]] = {op: (_elementwise, op) for op in sfpu_cycles("wormhole_b0")}
    table |= {op: (_binary, extra) for op, extra in families.BINARY.items()}
    table |= {op: (_reduction, cycles) for op, cycles in families.REDUCTIONS.items()}
    table |= {op: (_row_op, cycles) for op, cycles in families.ROW_OPS.items()}
    table |= dict.fromkeys(families.MATMULS, (_matmul, None))
    table |= dict.fromkeys(families.CONVOLUTIONS, (_convolution, None))
    table |= dict.fromkeys(families.POOLINGS, (_pooling, None))
    table |= dict.fromkeys(families.ATTENTIONS, (_attention, None))
    table |= dict.fromkeys(families.COLLECTIVES, (_collective, _ETHERNET))
    table |= dict.fromkeys(families.CREATION, (_creation, None))
    table |= dict.fromkeys((*families.FREE, "capture_or_execute_trace", "execute_trace"), (_free, None))
    for op in ("to_layout", "to_memory_config", "to_device", "from_device", "to_tensor_spec"):
        table[op] = (_layout_change, None)
    table |= dict.fromkeys(("slice_static", "slice_dynamic"), (_slice, None))
    return table | {
        "reshape": (_reshape, None),
        "permute": (_permute, None),
        "transpose": (_permute, None),
        "embedding": (_embedding, None),
    }


_MODELS = _table()
