"""The device time of one instruction: a fixed launch, and the longest of computing, DRAM traffic and data movement.

Each op belongs to a family (:mod:`tt_xla.cost.families`), whose model turns shapes, element types, layouts and math
fidelity into work for the busiest core. ``noc_us`` of a :class:`Cost` is all that data-movement cores do besides
waiting for DRAM: pages, sticks, multicast, and the PCIe time of moves between host and device. ``link_us`` is the time
on the links between chips.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tt_xla.cost import collective, families, movement, products, programs
from tt_xla.cost.attention import attention, decode
from tt_xla.cost.convolution import convolution, halo
from tt_xla.cost.rates import FIDELITIES, SHARDED, Rates, Work, rates_of
from tt_xla.cost.shares import FREE, cost_of, fidelity_of, inputs_of, moved, one_after_the_other, split
from tt_xla.ir.layout import TILE
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Cost, Instruction, TensorSpec
from tt_xla.ir.ranks import row_of_ranks
from tt_xla.target import Target

Model = Callable[[Instruction, Sequence[TensorSpec], Rates, Any], Cost]


def instruction_cost(
    instruction: Instruction, values: Sequence[TensorSpec], target: Target, mesh: Mesh | None = None
) -> Cost:
    """Returns the predicted device time of an instruction, in microseconds.

    An op that no family lists counts as a copy of its operands to its results. A trace costs nothing here, because its
    instructions are in another function: see :func:`tt_xla.cost.predicted_device_us`.

    Args:
        instruction: the instruction, whose operands and results are positions in ``values``.
        values: shapes and layouts of the function's values.
        target: the system.
        mesh: the chips that run the program; None for one chip.

    Raises:
        MeshError: the system cannot form the mesh.
    """
    operands = tuple(
        [
            tuple([values[one] for one in each]) if isinstance(each, tuple) else values[each]
            for each in instruction.operands.values()
        ]
    )
    attributes = instruction.attributes
    data = str(attributes) if attributes and not instruction.op.endswith(".constant") else ""
    rates = rates_of(target, row_of_ranks(attributes) or mesh)
    key = (instruction.op, operands, tuple([values[number] for number in instruction.results]), data, id(rates))
    entry = _priced.get(key)
    if entry is None:
        model, parameter = _MODELS.get(instruction.op.rpartition(".")[2], _MOVEMENT)
        if len(_priced) >= _PRICED_LIMIT:
            _priced.clear()
        cost = model(instruction, values, rates, parameter)
        _priced[key] = (cost, rates)  # the rates are kept, so their id stays their own
        return cost
    return entry[0]


def has_rule(op: str) -> bool:
    """Whether an op, such as ``ttnn.add``, belongs to a family. Others count as a copy of operands to results."""
    return op.rpartition(".")[2] in _MODELS


_priced: dict[Any, tuple[Cost, Rates]] = {}
"""Costs by op, tensors and attributes. Layers repeat, and a layout search asks for the same cost many times."""
_PRICED_LIMIT = 65536


def forget_costs() -> None:
    """Drops the costs that are known, so that changed constants of the model count."""
    _priced.clear()


def _elementwise(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, op: str) -> Cost:
    """Returns the cost of a unary or ternary op: one pass through the vector unit. ``op`` is empty for a mere chain."""
    inputs = inputs_of(instruction, values)
    result = values[instruction.results[0]] if instruction.results else inputs[0]  # AdamW writes to its operands
    out = Work(result.layout)
    works = [Work(spec.layout) for spec in inputs]
    cores, share = split(out, rates)
    dram, noc = moved(works, out, rates, share)
    compute = out.tiles * share * rates.sfpu[op] if op else 0.0
    for step in instruction.attributes.get("chain") or ():
        compute += out.tiles * share * rates.sfpu.get(step, 0.0)
    for step in instruction.attributes.get("functions") or ():
        compute += out.tiles * share * rates.sfpu[_row_of(str(dict(step)["op_type"]))]
    return cost_of(rates, compute, dram, noc, cores)


def _row_of(step: str) -> str:
    """Returns the row of the vector unit's table for a function that an op applies to its operands or its result."""
    return families.STEPS.get(step) or families.SIMILAR.get(step, step)


def _binary(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, extra: str) -> Cost:
    """Returns the cost of an op of two tensors on the FPU, and of functions that the vector unit applies to them."""
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
    sides = (*families.STEPS_BEFORE, families.STEPS_AFTER)
    steps = [str(dict(step)["op_type"]) for side in sides for step in instruction.attributes.get(side) or ()]
    if steps != ["relu"] or not instruction.attributes.get(families.STEPS_AFTER):  # the packer clips a lone relu
        compute += tiles * sum(rates.sfpu[_row_of(step)] for step in steps)
    shape = result.shape
    for spec in inputs:
        if _broadcast_in_tile(spec.shape, shape):
            noc += tiles * families.BROADCAST_FILLS * rates.fill
    return cost_of(rates, compute, dram, noc, cores)


def _full(spec: TensorSpec) -> bool:
    """Whether all shards are full. If not, binary kernels read no shard in place (profiler: 93 us instead of 12)."""
    layout = spec.layout
    if not layout.is_sharded or not layout.tiled or not layout.row_strides:
        return True
    rows = -(-layout.row_strides[0] * spec.shape[0] // TILE) if len(spec.shape) > 1 else 1
    return rows % layout.shard[0] == 0 and _columns(spec) % layout.shard[1] == 0


def _tiles(spec: TensorSpec) -> int:
    """Returns the number of a tensor's tiles, without the padding of shards that are not full."""
    rows = spec.layout.row_strides[0] * spec.shape[0] if spec.layout.row_strides and len(spec.shape) > 1 else 1
    return -(-rows // TILE) * _columns(spec)


def _columns(spec: TensorSpec) -> int:
    """Returns the number of columns of tiles."""
    sizes = tuple(spec.shape)
    return -(-(sizes[-1] if sizes else 1) // TILE)


def _broadcast_in_tile(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether one row or one column of ``shape`` is repeated within each tile. A scalar is filled only once."""
    rows = shape[-2] if len(shape) > 1 else 1
    columns = shape[-1] if shape else 1
    out_rows = into[-2] if len(into) > 1 else 1
    out_columns = into[-1] if into else 1
    by_row = rows == 1 and out_rows > 1
    by_column = columns == 1 and out_columns > 1
    return (by_row and columns > 1) or (by_column and rows > 1)


def _reduction(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, cycles: float) -> Cost:
    """Returns the cost of a reduction. One core reduces a row or column of tiles, so few results use few cores."""
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


def _row_op(
    instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, cycles: tuple[float, float, float]
) -> Cost:
    """Returns the cost of a softmax or norm. A core keeps a row of tiles in L1 and passes over it several times.

    If shards cut rows, the cores of a row exchange sums.
    """
    result = values[instruction.results[0]]
    out = Work(result.layout)
    works = [Work(spec.layout) for spec in inputs_of(instruction, values)]
    rows = max(result.layout.shard[0] if out.tiled else -(-result.layout.shard[0] // TILE), 1)
    exchanged = 0.0
    if out.cores:
        cores, share = min(out.cores, rates.cores), 1.0 / out.cores
        if out.shards is not None and out.shards[1][1] > 1:
            exchanged = families.NORM_EXCHANGE_US
    else:
        cores = min(rates.cores, rows)
        share = -(-rows // cores) / rows
        rows = -(-rows // cores)
    dram, noc = moved(works, out, rates, share)
    compute = (out.tiles * share * cycles[0] + rows * cycles[1] + cycles[2]) * rates.cycle_us
    op = instruction.op.rpartition(".")[2]
    if op in families.NORMS:
        compute += out.tiles * share * families.NORM_UNPACKS * works[0].page * rates.unpack
        compute += families.NORM_FILLS * rates.fill + exchanged
    elif op not in families.UNFILLED:
        compute += families.ROW_OP_FILLS * rates.fill
    return cost_of(rates, compute, dram, noc, cores)


def _distributed_norm(
    instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, cycles: tuple[float, float, float]
) -> Cost:
    """Returns the cost of a norm whose rows are split over chips, which exchange the sums of their rows."""
    cost = _row_op(instruction, values, rates, cycles)
    return collective.with_statistics(cost, instruction, values, rates)


def _ring_attention(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, buffers: int) -> Cost:
    """Returns the cost of attention over the keys of all chips, which it gathers into its last results.

    Args:
        buffers: number of these results: keys, and values unless they are a part of the keys.
    """
    query, *sources = list(instruction.operands.values())[: 1 + buffers]
    gathered = instruction.results[-buffers:]
    operands = {"query": query, "key": gathered[0], "value": gathered[-1]}
    local = Instruction(instruction.op, operands, instruction.results[:1], instruction.attributes)
    cost = attention(local, values, rates, None)
    for source, buffer in zip(sources, gathered, strict=True):
        gather = Instruction("ttnn.all_gather", {"input": source}, (buffer,), instruction.attributes)
        cost = one_after_the_other(cost, collective.collective(gather, values, rates, ("all_gather",)))
    return cost


def _pooling(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    result = values[instruction.results[0]]
    out = Work(result.layout)
    inputs = inputs_of(instruction, values)
    works = [Work(spec.layout) for spec in inputs]
    kernel = instruction.attributes.get("kernel_size")
    positions = max(math.prod(result.shape[:-1]), 1)
    window = math.prod(kernel) if kernel else math.prod(inputs[0].shape[:-1]) // positions
    columns = -(-(result.shape[-1] if result.shape else 1) // TILE)
    rows, wide = (max(rates.cores, 1), 1) if out.shards is None else out.shards[1]
    columns = -(-columns // max(wide, 1))
    each = -(-positions // max(rows, 1))
    cores = -(-positions // each) * max(wide, 1)
    passes = -(-window // families.POOL_PASS_POSITIONS)
    cycles = families.POOL_STICK_CYCLES if passes == 1 else passes * families.POOL_PASS_CYCLES
    if out.tiled:
        cycles += families.POOL_TILED_CYCLES
    dram, noc = moved(works, out, rates, 1.0 / cores)
    if works[0].place == out.place == SHARDED:  # a core has the windows of its positions
        noc = 0.0
    compute = each * -(-columns // 2) * cycles * rates.cycle_us
    pooled = cost_of(rates, compute, dram, noc, cores)
    return one_after_the_other(pooled, halo(instruction.attributes, inputs[0], works[0], out, rates))


def _free(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    return FREE


_MOVEMENT: tuple[Model, Any] = (movement.data_movement, None)


def _table() -> dict[str, tuple[Model, Any]]:
    from tt_xla.target.sfpu import sfpu_cycles

    table: dict[str, tuple[Model, Any]] = {op: (_elementwise, op) for op in sfpu_cycles("wormhole_b0")}
    table |= {op: (_elementwise, similar) for op, similar in families.SIMILAR.items()}
    table |= {op: (_binary, extra) for op, extra in families.BINARY.items()}
    table |= {op: (_reduction, cycles) for op, cycles in families.REDUCTIONS.items()}
    table |= {op: (_row_op, cycles) for op, cycles in families.ROW_OPS.items()}
    table |= dict.fromkeys(families.MATMULS, (products.matmul, None))
    table |= dict.fromkeys(families.CONVOLUTIONS, (convolution, None))
    table |= dict.fromkeys(families.POOLINGS, (_pooling, None))
    table |= {op: (decode if "decode" in op else attention, None) for op in families.ATTENTIONS}
    table |= {op: (collective.collective, steps) for op, steps in collective.STEPS.items()}
    table |= dict.fromkeys(families.CREATION, (movement.creation, None))
    table |= dict.fromkeys((*families.FREE, "capture_or_execute_trace", "execute_trace"), (_free, None))
    for op in ("to_layout", "to_memory_config", "to_device", "from_device", "to_tensor_spec"):
        table[op] = (movement.layout_change, None)
    table |= dict.fromkeys(families.PAGED_MOVES, (programs.joined, None))
    table |= dict.fromkeys(families.CACHE_WRITES, (programs.cache_write, None))
    table |= dict.fromkeys(families.PLAIN_MOVES, _MOVEMENT)
    table |= {"adamw": (_elementwise, "relu"), "dropout": (_elementwise, "relu"), "unary_chain": (_elementwise, "")}
    table |= {"bcast": (_elementwise, ""), "running_statistics": (_elementwise, "")}
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
        "point_to_point": (collective.point_to_point, None),
        "slice_write": (programs.waiting_copy, None),
        "halo": (programs.halo, None),
        "padded_slice": (programs.padded_slice, None),
        "convert_to_hwc": (programs.rows_of_channels, None),
        "grid_sample": (programs.grid_sample, None),
        "group_norm": (programs.group_norm, families.ROW_OPS["group_norm"]),
        "cumprod": (programs.running, None),
        "cumsum": (programs.running, None),
        "distributed_layer_norm": (_distributed_norm, families.ROW_OPS["distributed_layer_norm"]),
        "distributed_rms_norm": (_distributed_norm, families.ROW_OPS["distributed_rms_norm"]),
        "integral_image": (programs.prefix_sum, None),
        "mesh_partition": (movement.slice_, None),
        "minimal_matmul": (programs.minimal_matmul, None),
        "ring_joint_scaled_dot_product_attention": (_ring_attention, 2),
        "ring_mla": (_ring_attention, 1),
    }


_MODELS = _table()
