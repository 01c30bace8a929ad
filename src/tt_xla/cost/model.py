"""The device time of one instruction: a fixed launch, and the longest of computing, DRAM traffic and data movement.

Each op belongs to a family (:mod:`tt_xla.cost.families`), whose model turns shapes, element types, layouts and math
fidelity into work for the busiest core. ``noc_us`` of a :class:`Cost` is all that data-movement cores do besides
waiting for DRAM: pages, sticks, multicast, and the PCIe time of moves between host and device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tt_xla.cost import families, movement, programs
from tt_xla.cost.attention import attention, decode
from tt_xla.cost.movement import copy, hosted
from tt_xla.cost.rates import DRAM, FIDELITIES, HOST, L1, SHARDED, TILE_BYTES, Rates, Work, rates_of
from tt_xla.cost.shares import FREE, cost_of, fidelity_of, inputs_of, moved, one_after_the_other, split, traffic
from tt_xla.ir.layout import TILE, round_up
from tt_xla.ir.program import Cost, Instruction, TensorSpec
from tt_xla.target import Target

Model = Callable[[Instruction, Sequence[TensorSpec], Rates, Any], Cost]


def instruction_cost(instruction: Instruction, values: Sequence[TensorSpec], target: Target) -> Cost:
    """Predicted device time of ``instruction``, whose operands and results index ``values``.

    An op that no family lists counts as a copy of its operands to its results. A trace counts nothing here, as its
    instructions are in another function: see :func:`tt_xla.cost.predicted_device_us`.
    """
    operands = tuple(
        [
            tuple([values[one] for one in each]) if isinstance(each, tuple) else values[each]
            for each in instruction.operands.values()
        ]
    )
    attributes = instruction.attributes
    data = str(attributes) if attributes and not instruction.op.endswith(".constant") else ""
    rates = rates_of(target)
    key = (instruction.op, operands, tuple([values[number] for number in instruction.results]), data, id(rates))
    found = _priced.get(key)
    if found is None:
        model, parameter = _MODELS.get(instruction.op.rpartition(".")[2], _MOVEMENT)
        if len(_priced) >= _PRICED_LIMIT:
            _priced.clear()
        cost = model(instruction, values, rates, parameter)
        _priced[key] = (cost, rates)  # the rates are kept, so their id stays their own
        return cost
    return found[0]


def has_rule(op: str) -> bool:
    """Whether the op, ``ttnn.add``, belongs to a family; others count as a copy of their operands to their results."""
    return op.rpartition(".")[2] in _MODELS


_priced: dict[Any, tuple[Cost, Rates]] = {}
"""Costs by op, tensors and attributes: layers repeat, and a search asks for the same again."""
_PRICED_LIMIT = 65536


def _elementwise(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, op: str) -> Cost:
    """Unary and ternary ops: one pass through the vector unit."""
    out = Work(values[instruction.results[0]].layout)
    works = [Work(spec.layout) for spec in inputs_of(instruction, values)]
    cores, share = split(out, rates)
    dram, noc = moved(works, out, rates, share)
    compute = out.tiles * share * rates.sfpu[op]
    for step in instruction.attributes.get("chain") or ():
        compute += out.tiles * share * rates.sfpu.get(step, 0.0)
    return cost_of(rates, compute, dram, noc, cores)


def _binary(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, extra: str) -> Cost:
    """Ops of two tensors on the FPU, and what the vector unit does after."""
    result = values[instruction.results[0]]
    out = Work(result.layout)
    inputs = inputs_of(instruction, values)
    works = [Work(spec.layout) for spec in inputs]
    cores, share = split(out, rates)
    if any(not _full(spec) for spec in (*inputs, result)):
        for work in (*works, out):
            work.uneven = work.place == SHARDED
        cores, share = rates.cores, _tiles(result) / rates.cores / max(out.tiles, 1)
    dram, noc = moved(works, out, rates, share)
    if instruction.attributes.get("scalar"):
        noc += rates.fill
    cycles = families.FPU_TILE_CYCLES
    if instruction.op.endswith(".multiply"):
        cycles += families.FPU_PASS_CYCLES * FIDELITIES.index(fidelity_of(instruction))
    tiles = out.tiles * share
    compute = tiles * cycles * rates.cycle_us
    if extra:
        compute += tiles * rates.sfpu[extra]
    for side in (*families.STEPS_BEFORE, families.STEPS_AFTER):
        for step in instruction.attributes.get(side) or ():
            function = str(dict(step)["op_type"])
            compute += tiles * rates.sfpu[families.STEPS.get(function, function)]
    shape = result.shape
    for spec in inputs:
        if _broadcast_in_tile(spec.shape, shape):
            noc += tiles * families.BROADCAST_FILLS * rates.fill
    return cost_of(rates, compute, dram, noc, cores)


def _full(spec: TensorSpec) -> bool:
    """Whether all shards are full; of others, binary kernels take no shard in place (profiler: 93 us where 12)."""
    layout = spec.layout
    if not layout.is_sharded or not layout.tiled or not layout.row_strides:
        return True
    rows = -(-layout.row_strides[0] * spec.shape[0] // TILE) if len(spec.shape) > 1 else 1
    return rows % layout.shard[0] == 0 and _columns(spec) % layout.shard[1] == 0


def _tiles(spec: TensorSpec) -> int:
    """Tiles of a tensor without those of shards that are not full."""
    rows = spec.layout.row_strides[0] * spec.shape[0] if spec.layout.row_strides and len(spec.shape) > 1 else 1
    return -(-rows // TILE) * _columns(spec)


def _columns(spec: TensorSpec) -> int:
    """Of tiles."""
    sizes = tuple(spec.shape)
    return -(-(sizes[-1] if sizes else 1) // TILE)


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
    spec = inputs_of(instruction, values)[0]
    source = Work(spec.layout)
    out = Work(values[instruction.results[0]].layout)
    groups = max(min(out.pages if out.tiled else math.ceil(out.tiles), source.pages), 1)
    if groups == 1 and source.tiled:  # all of it: along rows first, then their results
        groups = max(spec.layout.shard[0], 1)
    local = source.cores if out.cores else 0
    cores = local or min(rates.cores, groups)
    share = 1.0 / local if local else -(-groups // cores) / groups
    dram, noc = moved([source], out, rates, share)
    compute = source.tiles * share * cycles * rates.cycle_us
    return cost_of(rates, compute, dram, noc, min(cores, rates.cores))


def _row_op(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, cycles: tuple[float, float]) -> Cost:
    """Softmax and norms: a core keeps a row of tiles in L1 and passes over it several times."""
    result = values[instruction.results[0]]
    out = Work(result.layout)
    works = [Work(spec.layout) for spec in inputs_of(instruction, values)]
    if out.cores:
        cores, share = min(out.cores, rates.cores), 1.0 / out.cores
    else:
        rows = max(result.layout.shard[0] if out.tiled else -(-result.layout.shard[0] // TILE), 1)
        cores = min(rates.cores, rows)
        share = -(-rows // cores) / rows
    dram, noc = moved(works, out, rates, share)
    compute = (out.tiles * share * cycles[0] + cycles[1]) * rates.cycle_us + families.ROW_OP_FILLS * rates.fill
    return cost_of(rates, compute, dram, noc, cores)


def _matmul(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    a, b, *others = inputs_of(instruction, values)
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
    if (instruction.attributes.get("matmul_program_config") or {}).get("config") == "dram_sharded":
        return _from_banks(instruction, rates, works, Work(result.layout), -(-inner // TILE), -(-columns // TILE))
    return _products(
        instruction, rates, works, Work(result.layout), batch, row_tiles, -(-inner // TILE), -(-columns // TILE)
    )


def _from_banks(instruction: Instruction, rates: Rates, works: list[Work], out: Work, inner: int, columns: int) -> Cost:
    """One row of tiles by weights that are cut over the DRAM banks.

    The core next to each bank reads its shard and computes with it; it is sent the row block by block, and sends its
    part of the result to the cores that hold it.
    """
    config = instruction.attributes["matmul_program_config"]
    each = -(-columns // rates.banks)
    product = max(rates.tile_product[fidelity_of(instruction)], (works[0].page + works[1].page) * rates.unpack)
    compute = each * (inner * product + out.page * rates.pack + _activation(instruction, rates))
    blocks = -(-inner // int(config["in0_block_w"]))
    noc = inner * works[0].page * rates.multicast + blocks * families.BLOCK_HANDSHAKE_US
    noc += each * out.page * rates.local
    return cost_of(rates, compute, sum([work.bytes for work in works[1:]]) * rates.sharded, noc, rates.banks)


def _activation(instruction: Instruction, rates: Rates) -> float:
    """Time per tile of the function that a product applies to its result."""
    config = instruction.attributes.get("matmul_program_config") or {}
    name = instruction.attributes.get("activation") or (config.get("fused_activation") or {}).get("op_type")
    return rates.sfpu.get(name, 0.0) if isinstance(name, str) else 0.0


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
    product = rates.tile_product[fidelity_of(instruction)]
    config = instruction.attributes.get("matmul_program_config") or {}
    width = 0 if gather else int(config.get("out_subblock_w") or 0)
    unpack = (page_b if width else page_a + page_b) * rates.unpack
    if unpack > product:
        product = unpack
    after = _activation(instruction, rates)
    pack = out.page * rates.pack if out.tiled else 0.0
    paged = [work.bytes if work.place in (DRAM, L1) else 0 for work in (*works, out)]
    waiting = rates.stream * families.MATMUL_STREAM_FACTOR
    best = math.inf
    compute = noc = 0.0
    used = 1
    in_turns = _in_turns(config, works, out, inner)
    if width:  # the left tile is fetched anew for each subblock's columns
        product += families.SUBBLOCK_CYCLES * (1 / width - 1 / families.SUBBLOCK_WIDTH) * rates.cycle_us
    for split_rows, split_columns in _splits(config, rates, batch, rows, columns):
        block_rows = -(-rows // split_rows)
        block_columns = -(-columns // split_columns)
        option_compute = block_rows * block_columns * (inner * product + pack + after)
        received = block_columns * inner * page_b if split_rows > 1 and rows > 1 else 0
        if split_columns > 1 and columns > 1 and not gather:  # on the other of the two networks
            received = max(received, block_rows * inner * page_a)
        if in_turns:  # the right operand comes once for each block of rows, and computing waits for it
            turns = -(-block_rows // int(config.get("out_block_h") or block_rows))
            option_compute += turns * block_columns * inner * page_b * rates.multicast
            received = 0
        option_noc = received * rates.multicast
        if not gather and not in_turns and (rows > 1 or columns > 1):
            wide = config.get("in0_block_w") or (-(-inner // split_columns) if config else families.INNER_BLOCK)
            blocks = -(-inner // int(wide))
            option_noc += blocks * families.BLOCK_HANDSHAKE_US
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
        elif in_turns:
            read = 0.0
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
    return cost_of(rates, compute, traffic * rates.dram, noc, used)


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
    inputs = inputs_of(instruction, values)
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
    copied = copy(source, source, rates) if source.place != SHARDED else FREE  # into shards, with halo
    if host:
        copied = one_after_the_other(copied, hosted(host, [out], rates))
    return one_after_the_other(cost, copied)


def _pooling(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    result = values[instruction.results[0]]
    out = Work(result.layout)
    inputs = inputs_of(instruction, values)
    works = [Work(spec.layout) for spec in inputs]
    kernel = instruction.attributes.get("kernel_size")
    positions = max(math.prod(result.shape[:-1]), 1)
    window = math.prod(kernel) if kernel else math.prod(inputs[0].shape[:-1]) // positions
    columns = -(-(result.shape[-1] if result.shape else 1) // TILE)
    each = -(-positions // rates.cores)
    cores = -(-positions // each)
    cycles = families.POOL_STICK_CYCLES + families.POOL_WINDOW_CYCLES * window
    dram, noc = moved(works, out, rates, 1.0 / cores)
    compute = each * -(-columns // 2) * cycles * rates.cycle_us
    return cost_of(rates, compute, dram, noc, cores, launches=2)


def _collective(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, link: float) -> Cost:
    """The larger side crosses an Ethernet link once."""
    inputs = inputs_of(instruction, values)
    works = [Work(spec.layout) for spec in (*inputs, *[values[number] for number in instruction.results])]
    dram, noc = traffic(works, rates, 1.0 / rates.cores)
    crossed = max((work.bytes for work in works), default=0) * 1e6 / link
    return cost_of(rates, 0.0, dram, max(noc, crossed), rates.cores, launches=3)


def _free(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    return FREE


_MOVEMENT: tuple[Model, Any] = (movement.data_movement, None)

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
    table |= {op: (decode if "decode" in op else attention, None) for op in families.ATTENTIONS}
    table |= dict.fromkeys(families.COLLECTIVES, (_collective, _ETHERNET))
    table |= dict.fromkeys(families.CREATION, (movement.creation, None))
    table |= dict.fromkeys((*families.FREE, "capture_or_execute_trace", "execute_trace"), (_free, None))
    for op in ("to_layout", "to_memory_config", "to_device", "from_device", "to_tensor_spec"):
        table[op] = (movement.layout_change, None)
    table |= dict.fromkeys(families.PAGED_MOVES, (programs.joined, None))
    table |= dict.fromkeys(families.CACHE_WRITES, (programs.cache_write, None))
    table |= dict.fromkeys(families.PLAIN_MOVES, _MOVEMENT)
    table |= {"adamw": (_elementwise, "relu"), "dropout": (_elementwise, "relu")}
    table |= dict.fromkeys(("slice_static", "slice_dynamic"), (movement.slice_, None))
    return table | {
        "fill_cache": (movement.cache_write, None),
        "paged_update_cache": (movement.cache_write, None),
        "reshape": (movement.reshape, None),
        "permute": (movement.permute, None),
        "transpose": (movement.permute, None),
        "embedding": (movement.embedding, None),
        "copy": (programs.waiting_copy, None),
        "move": (programs.waiting_copy, None),
        "split": (programs.waiting_copy, None),
        "slice_write": (programs.waiting_copy, None),
        "halo": (programs.halo, None),
        "padded_slice": (programs.padded_slice, None),
        "grid_sample": (programs.grid_sample, None),
        "group_norm": (programs.group_norm, families.ROW_OPS["group_norm"]),
        "integral_image": (programs.prefix_sum, None),
        "minimal_matmul": (programs.minimal_matmul, None),
    }


_MODELS = _table()
