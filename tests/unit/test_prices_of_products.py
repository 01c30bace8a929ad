"""Prices, worked out by hand, of matrix products, convolutions and attention, on a chip of 3 x 4 cores."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.unit.pricing import CHIP, PAGE, R, price, sharded, spec
from tt_xla.cost import attention, families, instruction_cost
from tt_xla.cost.products import math_us
from tt_xla.cost.rates import rates_of
from tt_xla.ir.layout import BufferType, DataType
from tt_xla.ir.program import Cost, Instruction, TensorSpec
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

BF8_PAGE = 1088
"""Bytes of a tile of bfloat8_b."""
CYCLE = R.cycle_us


def figures(cost: Cost) -> tuple[float, ...]:
    return cost.total_us, cost.compute_us, cost.dram_us, cost.noc_us, cost.launch_us, cost.cores


def launch(cores: int) -> float:
    return R.launch + cores * R.launch_core


def product_time(fidelity: str, unpacked: float) -> float:
    """Returns the time of a product of two tiles: of the matrix unit, or of unpacking the operands."""
    return max(R.tile_product[fidelity], unpacked * R.unpack)


def in_subblocks(fidelity: str, streamed: float, kept: int, length: int) -> float:
    """Returns the time of a product of two tiles in a subblock, along which products share a tile of ``kept`` bytes."""
    fetched = families.SUBBLOCK_CYCLES * CYCLE * kept / PAGE / length
    return max(R.tile_product[fidelity], streamed + fetched)


def block(tiles: int, page: int, *, shared: bool = True) -> float:
    """Returns the time until a block of an operand in DRAM has arrived."""
    read = families.MATMUL_READ_US + tiles * max(page * R.blocks, families.MATMUL_READ_PAGE_CYCLES * CYCLE)
    return read + (families.BLOCK_HANDSHAKE_US + tiles * page * R.linked if shared else 0.0)


@pytest.mark.parametrize("fidelity", ["lofi", "hifi4"])
def test_a_product_of_blocks_on_all_cores(fidelity: str) -> None:
    """9 x 10 by 10 x 8 tiles: 3 x 2 tiles for each of 12 cores, as the config says, in 5 blocks of 2."""
    config = {"config": "multi_cast", "per_core_m": 3, "per_core_n": 2, "in0_block_w": 2, "out_subblock_w": 2}
    a, b, result = spec((288, 320)), spec((320, 256), DataType.BFP_BF8), spec((288, 256))
    cost = price("matmul", [a, b], result, matmul_program_config=config, compute_config={"math_fidelity": fidelity})
    product = in_subblocks(fidelity, BF8_PAGE * R.unpack_right, PAGE, 2)
    arrival = max(block(3 * 2, PAGE), block(2 * 2, BF8_PAGE))
    step = max(6 * 2 * product, 6 * 2 * PAGE * R.pack)  # the packer adds up in L1 at half its speed
    pack = 6 * PAGE * R.pack
    written = max(72 * PAGE * R.written, 6 * PAGE * CYCLE / families.MATMUL_WRITE_BYTES_PER_CYCLE)
    computed = 6 * 2 * product + pack
    compute, noc = 4 * step + computed, 5 * arrival + written
    dram = (90 * PAGE + 80 * BF8_PAGE + 72 * PAGE) * R.dram
    total = arrival + 4 * max(step, arrival) + max(computed, written) + R.wait
    assert figures(cost) == pytest.approx((launch(12) + max(total, dram), compute, dram, noc, launch(12), 12))


def test_parts_of_a_result_follow_each_other() -> None:
    """A core computes 4 x 2 of 8 x 4 tiles at a time; it reads no operand while it writes the last ones."""
    config = {"config": "multi_cast", "per_core_m": 8, "per_core_n": 4, "in0_block_w": 2, "out_subblock_w": 2}

    def total(part: tuple[int, int], columns: int = 16) -> float:
        fields = config | {"out_block_h": part[0], "out_block_w": part[1], "per_core_n": columns // 4}
        a, b, result = spec((768, 320)), spec((320, 32 * columns)), spec((768, 32 * columns))
        return price("matmul", [a, b], result, matmul_program_config=fields).total_us - launch(12)

    assert total((8, 2)) == pytest.approx(2 * total((8, 2), columns=8))
    assert total((4, 2)) > total((8, 2)) > total((8, 4))


def test_the_longer_side_of_a_subblock_shares_a_tile() -> None:
    def compute(high: int, wide: int) -> float:
        config = {"config": "multi_cast", "per_core_m": 4, "per_core_n": 4, "in0_block_w": 2}
        config |= {"out_subblock_h": high, "out_subblock_w": wide}
        a, b, result = spec((384, 320)), spec((320, 512)), spec((384, 512))
        fields = {"matmul_program_config": config, "compute_config": {"math_fidelity": "lofi"}}
        return price("matmul", [a, b], result, **fields).compute_us

    left, right = PAGE * R.unpack_left, PAGE * R.unpack_right
    difference = in_subblocks("lofi", right, PAGE, 4) - in_subblocks("lofi", left, PAGE, 4)
    assert compute(1, 4) - compute(4, 2) == pytest.approx(16 * 10 * difference)
    difference = in_subblocks("lofi", right, PAGE, 1) - in_subblocks("lofi", right, PAGE, 4)
    assert compute(1, 1) - compute(1, 4) == pytest.approx(16 * 10 * difference)


def test_results_that_are_divided_along_one_side_are_written_more_slowly() -> None:
    p150 = load_target("p150")
    rates = rates_of(p150)
    values = [spec((3520, 32)), spec((32, 3520)), spec((3520, 3520))]

    def written(rows: int, columns: int) -> float:
        config = {"config": "multi_cast", "per_core_m": rows, "per_core_n": columns, "in0_block_w": 1}
        attributes = {"matmul_program_config": config, "compute_config": {"math_fidelity": "lofi"}}
        product = Instruction("ttnn.matmul", {"a": 0, "b": 1}, (2,), attributes)
        return instruction_cost(product, values, p150).total_us - math_us(product, values, rates)

    slower = 110 * 110 * PAGE * (families.MATMUL_WRITTEN * rates.dram - rates.written)
    assert slower > 50
    assert written(1, 110) - written(11, 10) == pytest.approx(slower, rel=0.05)


def test_a_bias_is_added_to_sums_that_were_packed() -> None:
    config = {"config": "multi_cast", "per_core_m": 3, "per_core_n": 2, "in0_block_w": 2}
    a, b, result = spec((288, 320)), spec((320, 256)), spec((288, 256))
    plain, biased = (
        price("matmul", [a, b, *more], result, matmul_program_config=config) for more in ([], [spec((1, 256))])
    )
    arrival = families.BLOCK_HANDSHAKE_US + families.MATMUL_READ_US
    assert biased.compute_us - plain.compute_us == pytest.approx(6 * PAGE * (R.pack + R.unpack) + arrival)


def test_a_function_without_a_config_is_a_program_of_its_own() -> None:
    a, b, result = spec((288, 320)), spec((320, 256)), spec((288, 256))
    plain, applied = (price("matmul", [a, b], result, **more) for more in ({}, {"activation": "gelu"}))
    assert applied.total_us == pytest.approx(plain.total_us + price("gelu", [result], result).total_us)
    config = {"matmul_program_config": {"config": "multi_cast", "per_core_m": 3, "per_core_n": 2}}
    plain, applied = (price("matmul", [a, b], result, **config, **more) for more in ({}, {"activation": "gelu"}))
    assert applied.compute_us == pytest.approx(plain.compute_us + 6 * R.sfpu["gelu"])
    assert applied.launch_us == plain.launch_us


def test_one_left_matrix_stays_for_all_right_ones() -> None:
    config = {"config": "multi_cast_1d", "per_core_m": 8, "per_core_n": 2, "in0_block_w": 2}
    weights, result = spec((5, 64, 64)), spec((5, 3072, 64))
    once, again = (
        price("matmul", [left, weights], result, matmul_program_config=config)
        for left in (spec((1, 3072, 64)), spec((5, 3072, 64)))
    )
    whole = families.BLOCK_HANDSHAKE_US + (192 * families.MATMUL_READ + 4) * PAGE * R.dram
    assert whole > block(4, PAGE)
    assert again.noc_us - once.noc_us == pytest.approx(5 * (whole - block(4, PAGE)))


@pytest.mark.parametrize(("wide", "partial"), [(False, PAGE), (True, 2 * PAGE)])
def test_partial_sums_that_the_compute_core_fetches_again(wide: bool, partial: int) -> None:
    config = {"config": "multi_cast", "per_core_m": 3, "per_core_n": 2, "in0_block_w": 2, "out_subblock_w": 2}
    compute_config = {"math_fidelity": "lofi", "fp32_dest_acc_en": wide, "packer_l1_acc": False}
    cost = price(
        *("matmul", [spec((288, 320)), spec((320, 256))], spec((288, 256))),
        matmul_program_config=config,
        compute_config=compute_config,
        activation="gelu",
    )
    product = in_subblocks("lofi", PAGE * R.unpack_right, PAGE, 2)
    step = 6 * 2 * product + 6 * partial * (R.pack + R.unpack) * families.RELOAD_FACTOR
    expected = 4 * step + 6 * 2 * product + 6 * (R.sfpu["gelu"] + PAGE * R.pack)
    assert cost.compute_us == pytest.approx(expected)


def test_shards_are_read_in_place_and_written_in_place() -> None:
    config = {"config": "multi_cast_1d", "per_core_m": 3, "per_core_n": 8, "in0_block_w": 10, "out_block_h": 1}
    a, result = sharded((288, 320), (3, 1)), sharded((288, 256), (3, 1))
    cost = price(
        *("matmul", [a, spec((320, 256))], result),
        matmul_program_config=config,
        compute_config={"math_fidelity": "hifi2"},
    )
    product = in_subblocks("hifi2", PAGE * R.unpack, PAGE, 8)
    compute = 24 * (10 * product + PAGE * R.pack) + 3 * 8 * 10 * PAGE * R.multicast  # in three turns
    dram = 80 * PAGE * R.dram
    assert figures(cost) == pytest.approx((launch(3) + max(compute, dram), compute, dram, 0.0, launch(3), 3))


def test_the_plain_kernel_waits_for_both_tiles_of_each_product() -> None:
    """Tensors in L1 whose squares of 16 x 16 tiles are more than the cores."""
    place = {"buffer": BufferType.L1}
    a, b, result = spec((2048, 64), **place), spec((64, 2080), **place), spec((2048, 2080), **place)
    cost = price("matmul", [a, b], result, compute_config={"math_fidelity": "lofi"})
    tiles = math.ceil(64 * 65 / 12)
    noc = tiles * 2 * 2 * (R.wait + PAGE * R.arrival)
    compute = tiles * (2 * product_time("lofi", 2 * PAGE) + PAGE * R.pack)
    assert figures(cost) == pytest.approx((launch(12) + noc, compute, 0.0, noc, launch(12), 12))


def test_matrices_of_a_batch_follow_each_other() -> None:
    def compute(batch: int, *, one_weight: bool, **attributes: Any) -> float:
        weight = spec((320, 256) if one_weight else (batch, 320, 256))
        return price("matmul", [spec((batch, 288, 320)), weight], spec((batch, 288, 256)), **attributes).compute_us

    assert compute(5, one_weight=False) == pytest.approx(5 * compute(1, one_weight=False))
    assert compute(5, one_weight=True) == pytest.approx(5 * compute(1, one_weight=True))  # TT-NN joins no rows
    config = {"matmul_program_config": {"config": "multi_cast", "per_core_m": 15, "per_core_n": 2}}
    rows = price("matmul", [spec((1440, 320)), spec((320, 256))], spec((1440, 256)), **config)
    assert compute(5, one_weight=True, **config) == pytest.approx(rows.compute_us)  # unless a config says so
    turned = price("matmul", [spec((320, 288)), spec((320, 256))], spec((288, 256)), transpose_a=True)
    assert turned == price("matmul", [spec((288, 320)), spec((320, 256))], spec((288, 256)))


def test_weights_over_the_banks() -> None:
    """One row of 20 tiles by 20 x 50 tiles on 12 banks: 5 columns for the busiest, in 5 blocks of 4."""
    config = {"config": "dram_sharded", "in0_block_w": 4, "per_core_m": 1, "per_core_n": 5}
    row, weight = sharded((32, 640), (1, 10)), spec((640, 1600), DataType.BFP_BF8)
    result = sharded((32, 1600), (1, 10))
    cost = price(
        *("matmul", [row, weight], result),
        matmul_program_config=config,
        compute_config={"math_fidelity": "hifi2"},
    )
    each = math.ceil(50 / R.banks)
    product = product_time("hifi2", BF8_PAGE)
    product += families.SUBBLOCK_CYCLES * (1 / min(each, 4) - 1 / 4) * CYCLE
    blocks = 5 * families.BLOCK_HANDSHAKE_US
    compute = each * (20 * product + PAGE * R.pack) + blocks
    noc = 20 * PAGE * R.multicast + blocks + each * PAGE * R.local
    dram = 1000 * BF8_PAGE * R.sharded
    total = launch(12) + max(compute, dram, noc)
    assert figures(cost) == pytest.approx((total, compute, dram, noc, launch(12), 12))


def test_the_minimal_product() -> None:
    a, b, result = spec((288, 320)), spec((320, 256), DataType.BFP_BF8), spec((288, 256))
    cost = price("minimal_matmul", [a, b], result, compute_config={"math_fidelity": "hifi2"})
    dram = (90 * PAGE + 80 * BF8_PAGE + 72 * PAGE) * R.dram * families.MINIMAL_DRAM_FACTOR
    dram += families.MINIMAL_BLOCKS * families.MINIMAL_BLOCK_TILES * BF8_PAGE * R.block
    compute = 9 * 80 / 12 * R.tile_product["hifi2"]
    total = launch(12) + max(compute, dram)
    assert figures(cost) == pytest.approx((total, compute, dram, 0.0, launch(12), 12))


# Convolutions: 1 x 24 x 16 positions with 64 channels, height-sharded on 3 cores of 4 x 2 tiles, to 96 channels.
SOURCE, RESULT = sharded((1, 1, 384, 64), (3, 1)), sharded((1, 1, 384, 96), (3, 1))
WEIGHT = spec((1, 1, 384, 96), DataType.BFP_BF8)
WINDOW = {"kernel_size": [3, 2], "in_channels": 64, "compute_config": {"math_fidelity": "hifi2"}}


def convolution(**attributes: Any) -> Cost:
    return price("conv2d", [SOURCE, WEIGHT], RESULT, **WINDOW, **attributes)


@pytest.mark.parametrize(("block", "rows", "turns"), [(None, 4, 1), (64, 2, 2), (32, 1, 4)])
def test_a_convolution_of_shards(block: int | None, rows: int, turns: int) -> None:
    """Each of the window's 3 rows has 2 x 64 elements: 4 tiles for 32 positions, times 3 columns of weights."""
    cost = convolution(**({} if block is None else {"conv2d_config": {"act_block_h_override": block}}))
    product = product_time("hifi2", BF8_PAGE)
    product += families.SUBBLOCK_CYCLES * (1 / min(max(rows, 3), 4) - 1 / 4) * CYCLE
    tiles = rows * 4
    compute = (tiles * families.TILIZE_CYCLES + families.CONVOLUTION_BLOCK_CYCLES) * CYCLE
    compute += max(tiles * 3 * product, rows * 3 * 2 * PAGE * R.pack)
    compute += rows * 3 * PAGE * R.pack / 3
    readers = 2 if rows > 1 else 1
    reading = rows * 32 * (families.GATHER_READ_CYCLES + 2 * 128 / families.GATHER_BYTES_PER_CYCLE) * CYCLE / readers
    weights = families.BLOCK_HANDSHAKE_US + R.wait + 4 * 3 * BF8_PAGE * R.multicast
    step = max(compute, reading)
    total = 3 * (weights + step) if turns == 1 else weights + 3 * (max(weights, step) + (turns - 1) * step)
    dram = 36 * BF8_PAGE * R.dram
    noc = 3 * (turns * reading + weights)
    expected = (launch(3) + max(total, dram), 3 * turns * compute, dram, noc, launch(3), 3)
    assert figures(cost) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("attributes", "shared_rows", "width", "shared_columns"),
    [
        ({}, 2, 16, 1),  # a window of 3 x 2 reaches 2 rows and a column further
        ({"padding": [1, 3]}, 2, 16 + 6, 1),
        ({"padding": [1, 2, 3, 4]}, 2, 16 + 7, 1),  # top, bottom, left, right
        ({"stride": [2, 1]}, 1, 16, 1),
        ({"stride": [3, 2]}, 0, 16, 0),
        ({"dilation": [2, 3]}, 4, 16, 3),
    ],
)
@pytest.mark.parametrize("moved", [True, False])
def test_rows_of_neighbours(
    attributes: dict[str, Any], shared_rows: int, width: int, shared_columns: int, moved: bool
) -> None:
    """Cores copy their own rows, untilized, and send those that others need; then they move both together."""
    config = {"conv2d_config": {"reallocate_halo_output": moved}}
    halo = convolution(**attributes, **config, input_width=16).total_us - convolution(**attributes, **config).total_us
    own, remote = 384 * 64 * 2, 3 * (shared_rows * width + shared_columns) * 64 * 2
    untilized = 4 * (families.UNTILIZE_ROW_CYCLES + 2 * families.TILIZE_CYCLES) * CYCLE
    copied = own / 3 * R.local + remote * R.local / 3 + families.HALO_US  # 3 cores carry less than 8 streams
    expected = R.launch_local + max(untilized + families.HALO_US, copied)
    expected += (R.launch_local + (own + remote) / 3 * R.local) if moved else 0.0
    assert halo == pytest.approx(expected)


def test_a_window_of_one_position_needs_no_neighbours() -> None:
    window = {"kernel_size": [1, 1], "in_channels": 64}

    def total(**more: Any) -> float:
        return price("conv2d", [SOURCE, spec((1, 1, 64, 96))], RESULT, **window, **more).total_us

    assert total(input_width=16) == total()
    assert total(input_width=16, padding=[0, 1]) > total()
    assert total(input_width=16, stride=[1, 2]) > total()


def test_a_pooling_pays_for_rows_of_neighbours_too() -> None:
    source, result = sharded((1, 1, 384, 64), (3, 1), tiled=False), sharded((1, 1, 384, 64), (3, 1), tiled=False)
    window = {"kernel_size": [3, 2], "padding": [1, 3]}
    with_halo = price("max_pool2d", [source], result, input_width=16, **window).total_us
    own, remote = 384 * 128, 3 * (2 * (16 + 6) + 1) * 128
    exchange = R.launch_local + own / 3 * R.local + remote * R.local / 3 + families.HALO_US
    expected = exchange + R.launch_local + (own + remote) / 3 * R.local
    assert with_halo - price("max_pool2d", [source], result, **window).total_us == pytest.approx(expected)


def test_cores_that_share_channels_send_them_to_each_other() -> None:
    """On 3 x 2 cores the weights have 2 of 3 columns for a core, and come again for each block of rows."""
    source, result = sharded((1, 1, 384, 64), (3, 2)), sharded((1, 1, 384, 96), (3, 2))
    cost = price("conv2d", [source, WEIGHT], result, **WINDOW, act_block_tiles=2)
    product = product_time("hifi2", BF8_PAGE) + families.SUBBLOCK_CYCLES * (1 / 2 - 1 / 4) * CYCLE
    compute = (8 / 2 * families.TILIZE_CYCLES + families.CONVOLUTION_BLOCK_CYCLES) * CYCLE
    compute += max(8 * 2 * product, 4 * 2 * PAGE * R.pack) + 4 * PAGE * R.pack / 3
    reading = 64 * (families.GATHER_READ_CYCLES + 256 / families.GATHER_BYTES_PER_CYCLE) * CYCLE / 2 / 2
    reading = max(reading, 8 * PAGE * R.multicast)
    weights = families.BLOCK_HANDSHAKE_US + R.wait + 4 * 2 * BF8_PAGE * R.multicast
    step = max(compute, reading)
    total = weights + 3 * 2 * max(weights, step)
    dram, noc = 36 * BF8_PAGE * R.dram, 3 * (2 * reading + 2 * weights)
    assert figures(cost) == pytest.approx((launch(6) + max(total, dram), 6 * compute, dram, noc, launch(6), 6))


def attended(query: TensorSpec, keys: TensorSpec, **attributes: Any) -> Cost:
    return price("scaled_dot_product_attention_decode", [query, keys, keys], query, **attributes)


def test_decoding_reads_all_keys_and_values() -> None:
    """5 sequences with 6 heads of 64 on 2 heads of 256 keys each: 10 groups of 8 x 2 tiles on 12 cores."""
    query, keys = spec((1, 5, 6, 64)), spec((5, 2, 256, 64), DataType.BFP_BF8)
    size = 5 * 2 * 8 * 2 * BF8_PAGE
    noc = 2 * size / 12 / attention.FORWARDED_BYTES_PER_CYCLE * CYCLE
    passes = R.unpack / CYCLE * attention.MEASURED_UNPACK_BYTES
    softmax = (attention.SCORE_TILE_CYCLES + attention.SCORE_ROW_CYCLES) * passes * CYCLE
    product = product_time("hifi4", BF8_PAGE)
    compute = 10 * 8 / 12 * (4 * product + softmax)
    answered = 2 * 160 / R.banks * attention.PAGE_CYCLES * CYCLE
    dram = max(2 * size * R.dram / attention.DRAM_FACTOR, answered)
    started = launch(12) + attention.DECODE_US
    expected = (started + max(compute, dram, noc), compute, dram, noc, started, 12)
    assert figures(attended(query, keys)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("causal", "rows", "blocks", "forwarded", "uneven"),
    [
        (False, 256, 2.0, True, 1.0),
        (False, 192, 2.0, False, 1.0),  # fewer queries than keys
        (True, 256, (1 + 1 + 2 + 2) / 4, False, attention.CAUSAL_UNEVEN),  # 4 chunks on 3 cores
    ],
)
def test_attention_of_many_queries(causal: bool, rows: int, blocks: float, forwarded: bool, uneven: float) -> None:
    """4 heads of 64 on 12 cores: 3 cores for the chunks of 64 queries of a head, which go through 2 chunks of keys."""
    query, keys = spec((1, 4, rows, 64)), spec((1, 4, 256, 96), DataType.BFP_BF8)
    key = spec((1, 4, 256, 64), DataType.BFP_BF8)
    config = {"q_chunk_size": 64, "k_chunk_size": 128}
    result = spec((1, 4, rows, 96))
    cost = price("scaled_dot_product_attention", [query, key, keys], result, is_causal=causal, program_config=config)
    chunks = rows // 64
    own = math.ceil(chunks / 3)
    passes = R.unpack / CYCLE * attention.MEASURED_UNPACK_BYTES
    softmax = (2 * 4 * attention.SCORE_TILE_CYCLES + 2 * attention.SCORE_ROW_CYCLES) * passes * CYCLE
    block = 2 * 4 * (2 + 3) * product_time("hifi4", BF8_PAGE) + softmax
    compute = uneven * own * blocks * block
    read = blocks * 4 * (2 + 3) * BF8_PAGE
    rate = attention.FORWARDED_BYTES_PER_CYCLE if forwarded else attention.CORE_BYTES_PER_CYCLE
    noc = own * read / rate * CYCLE
    whole = 4 * (rows // 32 * 2 * PAGE + 8 * (2 + 3) * BF8_PAGE)
    dram = whole * R.dram if forwarded else 4 * chunks * read * R.dram / attention.DRAM_FACTOR
    expected = (launch(12) + max(compute, dram, noc), compute, dram, noc, launch(12), 12)
    assert figures(cost) == pytest.approx(expected)


def test_options_of_attention() -> None:
    query = spec((1, 4, 256, 64))

    def priced(*more: TensorSpec, op: str = "scaled_dot_product_attention", **attributes: Any) -> Cost:
        config = {"q_chunk_size": 64, "k_chunk_size": 128} | attributes.pop("config", {})
        return price(op, [query, query, query, *more], query, program_config=config, **attributes)

    plain = priced()
    exact = priced(config={"exp_approx_mode": False})  # 2 chunks of 64 queries a core, by 2 chunks of 128 keys
    longer = 2 * 2 * 8 * (attention.EXACT_TILE_CYCLES - attention.SCORE_TILE_CYCLES) * CYCLE
    assert exact.compute_us - plain.compute_us == pytest.approx(longer)
    mask = priced(spec((1, 1, 256, 256)))
    read = 4 * 4 * 2 * 2 * 4 * PAGE * R.dram / attention.DRAM_FACTOR
    assert mask.dram_us - plain.dram_us == pytest.approx(read)
    paged = priced(op="chunked_scaled_dot_product_attention")
    assert paged.dram_us == pytest.approx(plain.dram_us / attention.PAGED_FACTOR)
    narrow = priced(is_causal=True, sliding_window_size=64)
    assert narrow.compute_us / priced(is_causal=True).compute_us == pytest.approx((1 + 1 + 2 + 1) / (1 + 1 + 2 + 2))


def test_decoding_through_a_page_table_and_with_a_mask() -> None:
    query, keys = spec((1, 5, 6, 64)), spec((5, 2, 256, 64))
    plain, mask = attended(query, keys), spec((5, 1, 32, 256))
    operands = {"query": 0, "key": 1, "value": 2, "attention_mask": 3}
    masked = instruction_cost(
        Instruction("ttnn.scaled_dot_product_attention_decode", operands, (4,), {}),
        [query, keys, keys, mask, query],
        CHIP,
    )
    read = (2 * 160 + 5 * 8 * 2) * PAGE * R.dram / attention.DRAM_FACTOR
    assert masked.dram_us == pytest.approx(read)
    paged = price("paged_scaled_dot_product_attention_decode", [query, keys, keys], query)
    size = 2 * 160 * PAGE / 12 / attention.CORE_BYTES_PER_CYCLE * CYCLE
    assert paged.noc_us == pytest.approx(size)
    assert paged.launch_us - plain.launch_us == pytest.approx(attention.DECODE_PART_US)  # one of 10 groups on a core
