"""Prices, worked out by hand, of ops that compute elementwise, reduce, or go along rows, on a chip of 3 x 4 cores.

Each expected price is written out: how many tiles the busiest core has, times the figure of the chip or of the family
that the documentation names. Shapes have 3 x 5 tiles or the like, so that rows and columns cannot be confused.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.unit.pricing import PAGE, R, expect, price, sharded, spec
from tt_xla.cost import families
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout

pytestmark = pytest.mark.quick

# 15 tiles on 12 cores: 8 cores have work, the busiest 2 tiles.
MATRIX = spec((96, 160))
IN_L1 = spec((96, 160), buffer=BufferType.L1, memory=MemoryLayout.INTERLEAVED)
WAITED = 2 * R.wait + 2 * PAGE * R.arrival
"""Time in which a core fetches two tiles one after the other."""


def test_one_pass_through_the_vector_unit() -> None:
    both = 2 * 15 * PAGE * R.dram
    expect(price("exp", [MATRIX], MATRIX), cores=8, compute=2 * R.sfpu["exp"], dram=both, noc=WAITED)
    expect(price("exp", [IN_L1], IN_L1), cores=8, compute=2 * R.sfpu["exp"], noc=WAITED)
    expect(price("exp", [IN_L1], MATRIX), cores=8, compute=2 * R.sfpu["exp"], dram=both / 2, noc=WAITED)
    assert price("gtz", [MATRIX], MATRIX).compute_us == pytest.approx(2 * R.sfpu["eqz"])
    chained = price("unary_chain", [MATRIX], MATRIX, functions=({"op_type": "exp"}, {"op_type": "square"}))
    assert chained.compute_us == pytest.approx(2 * (R.sfpu["exp"] + R.sfpu["relu"]))
    fused = price("exp", [MATRIX], MATRIX, chain=("sqrt", "exp"))
    assert fused.compute_us == pytest.approx(2 * (2 * R.sfpu["exp"] + R.sfpu["sqrt"]))


def test_the_longer_of_reading_and_writing_takes_the_time() -> None:
    wide = spec((96, 160), DataType.F32)
    for source, result in ((MATRIX, wide), (wide, MATRIX)):
        dram = 15 * (PAGE + 2 * PAGE) * R.dram
        noc = 2 * R.wait + 2 * 2 * PAGE * R.arrival
        expect(price("exp", [source], result), cores=8, compute=2 * R.sfpu["exp"], dram=dram, noc=noc)


def test_shards_are_computed_where_they_are() -> None:
    shards = sharded((96, 160), (3, 5))
    on_cores = sharded((96, 128), (3, 4))
    expect(price("exp", [on_cores], on_cores), cores=12, compute=R.sfpu["exp"])
    rows = sharded((96, 128), (3, 1))  # other shards than those of the result: 4 tiles a core come from other cores
    noc = (12 * R.wait + 12 * PAGE * R.arrival) / 12
    expect(price("exp", [rows], on_cores), cores=12, compute=R.sfpu["exp"], noc=noc)
    dram = 12 * PAGE * R.dram
    expect(price("exp", [on_cores], spec((96, 128))), cores=12, compute=R.sfpu["exp"], dram=dram, noc=noc)
    assert price("exp", [shards], shards).compute_us == pytest.approx(R.sfpu["exp"])


def test_sums_and_products_of_two_tensors() -> None:
    dram, noc = 3 * 15 * PAGE * R.dram, 2 * R.wait + 2 * 2 * PAGE * R.arrival  # two tiles are fetched for each
    tile = families.FPU_TILE_CYCLES * R.cycle_us
    expect(price("add", [MATRIX, MATRIX], MATRIX), cores=8, compute=2 * tile, dram=dram, noc=noc)
    for number, fidelity in enumerate(("lofi", "hifi2", "hifi3", "hifi4")):
        cost = price("multiply", [MATRIX, MATRIX], MATRIX, compute_config={"math_fidelity": fidelity})
        compute = 2 * (families.FPU_TILE_CYCLES + number * families.FPU_PASS_CYCLES) * R.cycle_us
        expect(cost, cores=8, compute=compute, dram=dram, noc=noc)
    for op, function in (("divide", "reciprocal"), ("gt", "eqz"), ("quantize", "round")):
        compute = 2 * (tile + R.sfpu[function])
        expect(price(op, [MATRIX, MATRIX], MATRIX), cores=8, compute=compute, dram=dram, noc=noc)
    one = 2 * 15 * PAGE * R.dram
    expect(price("add", [MATRIX], MATRIX, scalar=2.0), cores=8, compute=2 * tile, dram=one, noc=WAITED + R.fill)


@pytest.mark.parametrize(
    ("shape", "tiles", "fills"),
    [((1, 160), 5, True), ((96, 1), 3, True), ((1, 1), 1, False), ((96, 160), 15, False), ((1,), 1, False)],
)
def test_a_row_or_a_column_is_filled_into_each_tile(shape: tuple[int, ...], tiles: int, fills: bool) -> None:
    cost = price("add", [MATRIX, spec(shape)], MATRIX)
    noc = 2 * R.wait + 2 / 15 * (15 + tiles) * PAGE * R.arrival + fills * 2 * families.BROADCAST_FILLS * R.fill
    compute = 2 * families.FPU_TILE_CYCLES * R.cycle_us
    expect(cost, cores=8, compute=compute, dram=(30 + tiles) * PAGE * R.dram, noc=noc)


def test_functions_before_and_after_a_sum() -> None:
    def steps(*names: str) -> list[dict[str, str]]:
        return [{"op_type": name} for name in names]

    plain = 2 * families.FPU_TILE_CYCLES * R.cycle_us

    def added(**attributes: Any) -> float:
        return price("add", [MATRIX, MATRIX], MATRIX, **attributes).compute_us - plain

    assert added(activations=steps("relu")) == pytest.approx(0)  # the packer clips
    assert added(input_tensor_b_activations=steps("relu")) == pytest.approx(2 * R.sfpu["relu"])
    assert added(activations=steps("relu", "exp")) == pytest.approx(2 * (R.sfpu["relu"] + R.sfpu["exp"]))
    both = {"input_tensor_a_activations": steps("square"), "activations": steps("recip")}
    assert added(**both) == pytest.approx(2 * (R.sfpu["relu"] + R.sfpu["reciprocal"]))


def test_shards_that_are_not_full_are_fetched_tile_by_tile() -> None:
    uneven = sharded((96, 160), (2, 1))  # 3 rows of tiles on 2 cores: the last one has one row of padding
    compute = 15 / 12 * families.FPU_TILE_CYCLES * R.cycle_us
    share = 15 / 12 / 20
    noc = share * (20 * R.wait + 2 * 20 * PAGE * R.arrival)
    expect(price("add", [uneven, uneven], uneven), cores=12, compute=compute, noc=noc)
    full = sharded((128, 160), (2, 1))
    compute = 10 * families.FPU_TILE_CYCLES * R.cycle_us
    expect(price("add", [full, full], full), cores=2, compute=compute)


@pytest.mark.parametrize(
    ("shape", "pages", "cores", "share"),
    [
        ((96, 1), 3, 3, 1 / 3),  # a core for each row of tiles
        ((1, 160), 5, 5, 1 / 5),
        ((1, 1), 1, 3, 1 / 3),  # along rows first
    ],
)
@pytest.mark.parametrize("op", ["sum", "prod", "argmax"])
def test_reductions(op: str, shape: tuple[int, int], pages: int, cores: int, share: float) -> None:
    cost = price(op, [MATRIX], spec(shape))
    compute = 15 * share * families.REDUCTIONS[op] * R.cycle_us
    noc = share * (pages * R.wait + 15 * PAGE * R.arrival)
    expect(cost, cores=cores, compute=compute, dram=(15 + pages) * PAGE * R.dram, noc=noc)


def test_reductions_of_more_rows_than_cores_and_of_shards() -> None:
    tall = spec((15 * 32, 64))
    compute = 30 * 2 / 15 * families.REDUCTIONS["sum"] * R.cycle_us
    noc = 2 / 15 * (15 * R.wait + 30 * PAGE * R.arrival)
    expect(price("sum", [tall], spec((15 * 32, 1))), cores=12, compute=compute, dram=45 * PAGE * R.dram, noc=noc)
    source, result = sharded((96, 160), (3, 1)), sharded((96, 32), (3, 1))
    cost = price("sum", [source], result)
    noc = 1 / 3 * (3 * R.wait + 15 * PAGE * R.arrival)
    expect(cost, cores=3, compute=5 * families.REDUCTIONS["sum"] * R.cycle_us, noc=noc)


@pytest.mark.parametrize("op", ["softmax", "layer_norm", "rms_norm", "rotary_embedding", "batch_norm_training"])
@pytest.mark.parametrize(("rows", "columns", "cores", "own"), [(3, 5, 3, 1), (15, 2, 12, 2)])
def test_ops_along_rows(op: str, rows: int, columns: int, cores: int, own: int) -> None:
    tensor = spec((rows * 32, columns * 32))
    a_tile, a_row, an_op = families.ROW_OPS[op]
    compute = (own * columns * a_tile + own * a_row + an_op) * R.cycle_us
    if op in ("layer_norm", "rms_norm"):
        compute += own * columns * families.NORM_UNPACKS * PAGE * R.unpack + families.NORM_FILLS * R.fill
    elif op != "rotary_embedding":
        compute += families.ROW_OP_FILLS * R.fill
    noc = own * columns * (R.wait + PAGE * R.arrival)
    expect(price(op, [tensor], tensor), cores=cores, compute=compute, dram=2 * rows * columns * PAGE * R.dram, noc=noc)


@pytest.mark.parametrize(("grid", "rows", "exchange"), [((3, 1), 1, 0.0), ((3, 2), 1, families.NORM_EXCHANGE_US)])
def test_cores_of_a_row_exchange_sums(grid: tuple[int, int], rows: int, exchange: float) -> None:
    shards = sharded((96, 128), grid)
    tiles = 4 // grid[1]
    a_tile, a_row, an_op = families.ROW_OPS["layer_norm"]
    compute = (tiles * a_tile + rows * a_row + an_op) * R.cycle_us
    compute += tiles * families.NORM_UNPACKS * PAGE * R.unpack + families.NORM_FILLS * R.fill + exchange
    expect(price("layer_norm", [shards], shards), cores=grid[0] * grid[1], compute=compute)


@pytest.mark.parametrize(
    ("kernel", "cycles"),
    [
        ([3, 2], families.POOL_STICK_CYCLES),
        ([8, 4], families.POOL_STICK_CYCLES),
        ([11, 3], 2 * families.POOL_PASS_CYCLES),
        ([13, 5], 3 * families.POOL_PASS_CYCLES),
    ],
)
def test_pooling(kernel: list[int], cycles: float) -> None:
    """100 positions on 12 cores: 12 of them have 9 positions or fewer, each with 5 columns of tiles, two at a time."""
    source, result = spec((1, 1, 400, 160), tiled=False), spec((1, 1, 100, 160), tiled=False)
    cost = price("max_pool2d", [source], result, kernel_size=kernel)
    noc = (100 * R.wait + 400 * 320 * R.arrival) / 12
    expect(cost, cores=12, compute=9 * 3 * cycles * R.cycle_us, dram=500 * 320 * R.dram, noc=noc)
    tiled = price("max_pool2d", [source], spec((1, 1, 100, 160)), kernel_size=kernel)
    assert tiled.compute_us == pytest.approx(9 * 3 * (cycles + families.POOL_TILED_CYCLES) * R.cycle_us)


def test_pooling_of_shards() -> None:
    """The channels' 5 columns of tiles on 2 columns of cores: 3 for each, two at a time; 96 positions on 3 rows."""
    source = sharded((1, 1, 384, 160), (3, 2), tiled=False)
    result = sharded((1, 1, 96, 160), (3, 2), tiled=False)
    cost = price("max_pool2d", [source], result, kernel_size=[2, 2])
    expect(cost, cores=6, compute=32 * 2 * families.POOL_STICK_CYCLES * R.cycle_us)
    whole = price("global_avg_pool2d", [source], sharded((1, 1, 3, 160), (3, 2), tiled=False))  # 128 positions each
    assert whole.compute_us == pytest.approx(2 * 4 * families.POOL_PASS_CYCLES * R.cycle_us)


def test_group_norm() -> None:
    tensor = spec((1, 1, 96, 160))
    a_tile, _, an_op = families.ROW_OPS["group_norm"]
    compute = (2 * a_tile + an_op) * R.cycle_us
    noc = 2 * 2 * PAGE * R.stream
    expect(price("group_norm", [tensor], tensor), cores=8, compute=compute, dram=30 * PAGE * R.dram, noc=noc)
    shards = sharded((1, 1, 192, 256), (3, 2))  # 2 x 4 tiles a core, 3 of 6 groups, one column of tiles each
    work = 3 * (families.GROUP_CYCLES + 3 * families.GROUP_CORE_CYCLES) + 3 * 2 * 1 * families.GROUP_TILE_CYCLES
    expect(price("group_norm", [shards], shards, num_groups=6), cores=6, compute=work * R.cycle_us)
    rows = sharded((1, 1, 192, 256), (3, 2), tiled=False)
    expect(price("group_norm", [rows], rows, num_groups=6), cores=6, compute=work * R.cycle_us)


def test_running_and_prefix_sums() -> None:
    tensor = spec((7, 96, 160))
    for dim, length, lines in ((0, 7, 15), (1, 3, 35), (2, 5, 21)):
        each = math.ceil(lines / 12) * length
        cost = price("cumsum", [tensor], tensor, dim=dim)
        compute, noc = each * families.RUNNING_CYCLES * R.cycle_us, each * (R.wait + PAGE * R.arrival)
        expect(cost, cores=12, compute=compute, dram=2 * 105 * PAGE * R.dram, noc=noc)
    cost = price("integral_image", [tensor], tensor)
    expect(cost, cores=5, compute=21 * families.PREFIX_SUM_CYCLES * R.cycle_us, dram=2 * 105 * PAGE * R.dram)
