"""Prices, worked out by hand, of ops that move data, on a chip of 3 x 4 cores."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.unit.pricing import CHIP, PAGE, R, expect, price, sharded, spec
from tt_xla.cost import families
from tt_xla.cost.memory import bytes_per_bank
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout
from tt_xla.ir.program import Cost, TensorSpec

pytestmark = pytest.mark.quick

MATRIX = spec((96, 160))
ROWS = spec((96, 160), tiled=False)
HOST = spec((96, 160), tiled=False, buffer=BufferType.SYSTEM_MEMORY)
IN_L1 = spec((96, 160), buffer=BufferType.L1, memory=MemoryLayout.INTERLEAVED)
ROWS_IN_L1 = spec((96, 160), tiled=False, buffer=BufferType.L1, memory=MemoryLayout.INTERLEAVED)
STICK = 320
"""Bytes of a row of 160 elements."""
CYCLE = R.cycle_us


def local(cost: Cost, busy: float, cores: int, dram: float = 0.0) -> None:
    """Compares a price with that of a program that only copies from or to shards."""
    figures = (cost.total_us, cost.compute_us, cost.dram_us, cost.noc_us, cost.launch_us, cost.cores)
    assert figures == pytest.approx((R.launch_local + max(busy, dram), 0.0, dram, busy, R.launch_local, cores))


def test_moves_over_pcie() -> None:
    size = 15 * PAGE
    up, down = price("to_device", [HOST], MATRIX), price("from_device", [spec((96, 160), DataType.F32)], HOST)
    assert (up.total_us, up.noc_us, up.cores) == pytest.approx((R.transfer + size * R.to_device, size * R.to_device, 0))
    assert down.total_us == pytest.approx(R.transfer + 2 * size * R.from_device)
    joined = price("concat", [HOST, MATRIX], spec((192, 160)))
    assert joined.total_us == pytest.approx(R.transfer + 96 * STICK * R.to_device)
    assert price("constant", [], MATRIX).total_us == pytest.approx(R.transfer + size * R.to_device)
    assert price("concat", [HOST, HOST], HOST) == price("full", [], HOST) == Cost()


def test_tilize_and_untilize() -> None:
    """3 rows of 5 tiles, a row for each core."""
    dram = (15 * PAGE + 96 * STICK) * R.dram
    noc = max(1 / 3 * (15 * PAGE + 96 * STICK) * R.stream, 32 * families.STICK_CYCLES * CYCLE)
    for source, result in ((ROWS, MATRIX), (MATRIX, ROWS)):
        cost = price("to_layout", [source], result)
        expect(cost, cores=3, compute=5 * families.TILIZE_CYCLES * CYCLE, dram=dram, noc=noc)


def test_rows_with_padding_are_stored_word_by_word() -> None:
    """19 rows of 40 elements in 2 tiles on one core."""
    source, result = spec((19, 40), tiled=False), spec((19, 40))
    missing = (2 * 1024 - 19 * 40) * 2 / 4
    cycles = 19 * families.PADDED_STICK_CYCLES + missing * families.WORD_CYCLES
    dram, compute = (2 * PAGE + 19 * 80) * R.dram, 2 * families.TILIZE_CYCLES * CYCLE
    expect(price("to_layout", [source], result), cores=1, compute=compute, dram=dram, noc=cycles * CYCLE)
    cycles = 19 * families.PADDED_STICK_CYCLES
    expect(price("to_layout", [result], source), cores=1, compute=compute, dram=dram, noc=cycles * CYCLE)


def test_wide_rows_are_shared_by_cores() -> None:
    """One row of 50 tiles on 12 cores: the busiest has 5."""
    source, result = spec((32, 1600), tiled=False), spec((32, 1600))
    share = 5 / 50
    noc = max(2 * 50 * PAGE * R.stream * share, 32 * share * families.STICK_CYCLES * CYCLE)
    cost = price("to_layout", [source], result)
    expect(cost, cores=12, compute=5 * families.TILIZE_CYCLES * CYCLE, dram=100 * PAGE * R.dram, noc=noc)


def test_shards_are_untilized_in_place() -> None:
    source, result = sharded((96, 160), (3, 1)), sharded((96, 160), (3, 1), tiled=False)
    cycles = families.UNTILIZE_ROW_CYCLES + 5 * families.TILIZE_CYCLES
    noc = 1 / 3 * 2 * 15 * PAGE * R.local
    expect(price("to_layout", [source], result), cores=3, compute=cycles * CYCLE, noc=noc)
    expect(price("to_layout", [result], source), cores=3, compute=5 * families.TILIZE_CYCLES * CYCLE, noc=noc)


def test_copies_into_and_out_of_shards() -> None:
    shards, size = sharded((96, 160), (3, 1)), 15 * PAGE
    into = price("to_memory_config", [MATRIX], shards)
    local(into, size / 3 * R.stream * families.ONE_SIDED, 3, size * R.dram)
    out_of = price("to_memory_config", [shards], MATRIX)
    local(out_of, size / 3 * R.block, out_of.cores, size * R.dram * families.WRITTEN)
    from_l1 = price("to_memory_config", [IN_L1], shards)
    local(from_l1, size / min(3 * families.FROM_L1, families.FROM_L1_CORES) * R.local, 3)
    into_l1 = price("to_memory_config", [shards], IN_L1)
    local(into_l1, size / min(3 * families.INTO_L1, families.INTO_L1_CORES) * R.local, into_l1.cores)


def test_rows_into_shards() -> None:
    shards = sharded((96, 160), (3, 1), tiled=False)
    cycles = families.L1_STICK_CYCLES + STICK / families.L1_STICK_BYTES_PER_CYCLE
    read = 96 * STICK / (3 * families.FROM_L1) * R.local
    local(price("to_memory_config", [ROWS_IN_L1], shards), max(read, 32 * cycles * CYCLE), 3)
    cost = price("to_memory_config", [ROWS], shards)
    local(cost, 32 * families.COPY_STICK_CYCLES * CYCLE, 3, 96 * STICK * R.dram)


def test_slices_read_what_they_return() -> None:
    part, rows = spec((64, 96)), spec((64, 96), tiled=False)
    expect(price("slice_static", [MATRIX], part), cores=6, dram=12 * PAGE * R.dram, noc=2 * PAGE * R.stream)
    waited = 6 * families.STICK_CYCLES * CYCLE + R.wait  # 64 rows on 12 cores
    expect(price("slice_static", [ROWS], rows), cores=11, dram=2 * 64 * 192 * R.dram, noc=waited)
    shards = sharded((64, 96), (2, 1))
    expect(price("slice_static", [MATRIX], shards), cores=2, dram=6 * PAGE * R.dram, noc=6 * PAGE * R.local)


def test_concatenations_wait_for_each_page() -> None:
    result = spec((96, 416))  # 39 tiles: 4 a core on 10 cores
    sources = [MATRIX, spec((96, 256))]
    noc = max(4 / 39 * 78 * PAGE * R.stream, 4 * R.wait)
    expect(price("concat", sources, result), cores=10, dram=78 * PAGE * R.dram, noc=noc)
    shards = [sharded((96, 160), (3, 1)), sharded((96, 256), (3, 1))]
    noc = 13 * families.SHARD_PAGE_CYCLES * CYCLE
    expect(price("concat", shards, sharded((96, 416), (3, 1))), cores=3, noc=noc)
    rows = [spec((96, 160), tiled=False), spec((5, 160), tiled=False)]
    size, share = 101 * STICK, 9 / 101
    noc = max(share * 2 * size * R.stream, 9 * families.STICK_CYCLES * CYCLE)
    expect(price("concat", rows, spec((101, 160), tiled=False)), cores=12, dram=2 * size * R.dram, noc=noc)


@pytest.mark.parametrize(
    ("source", "result", "pieces", "fetched"),
    [
        # Rows of 32 columns from rows of 160: 32 rows in two pieces; each of 5 rows lies in another tile of a row.
        ((96, 160), (480, 32), 32 * 2, 1 + 31 * 1.0 + 1),
        # Rows of 320 columns from two of 160: a row of a tile has two pieces; rows are two apart in tiles of 32.
        ((96, 160), (48, 320), 24 * 2, 1 + 23 * (2 / 32) + 1),
    ],
)
def test_reshapes_copy_pieces_of_rows(
    source: tuple[int, int], result: tuple[int, int], pieces: float, fetched: float
) -> None:
    cost = price("reshape", [spec(source)], spec(result))
    pages = math.ceil(result[0] / 32) * math.ceil(result[1] / 32)
    each = math.ceil(pages / 12)
    time = pieces * families.RESHAPE_PIECE_CYCLES * CYCLE + fetched * (R.wait + PAGE * R.arrival)
    noc = max(each / pages * (15 + pages) * PAGE * R.stream, each * time)
    expect(cost, cores=math.ceil(pages / each), dram=(15 + pages) * PAGE * R.dram, noc=noc)


def test_reshapes_that_keep_tiles_or_rows_are_free() -> None:
    free = [
        ((96, 160), (3, 32, 160), True),
        ((2, 48, 160), (96, 160), False),
        ((3, 20, 160), (1, 3, 20, 160), True),
    ]
    for source, result, tiled in free:
        assert price("reshape", [spec(source, tiled=tiled)], spec(result, tiled=tiled)) == Cost()
    assert price("reshape", [spec((2, 48, 160))], spec((96, 160))).total_us > 0
    assert price("reshape", [MATRIX], spec((3, 32, 160), buffer=BufferType.L1)).total_us > 0
    assert price("reshape", [HOST], spec((480, 32), tiled=False, buffer=BufferType.SYSTEM_MEMORY)) == Cost()


@pytest.mark.parametrize(("columns", "unaligned"), [(40, False), (36, True)])
def test_reshapes_of_rows(columns: int, unaligned: bool) -> None:
    """96 rows of 160 elements become others; rows that are no multiple of 16 bytes are copied element by element."""
    rows = 96 * 160 // columns if not unaligned else 96
    source = spec((96, 160), tiled=False) if not unaligned else spec((48, 72), tiled=False)
    result = spec((rows, columns), tiled=False)
    busy = rows * families.STICK_CYCLES + (rows * columns * families.UNALIGNED_ELEMENT_CYCLES if unaligned else 0)
    size = math.prod(source.shape) * 2
    each = math.ceil(rows / 12)
    noc = max(each / rows * 2 * size * R.stream, each * families.STICK_CYCLES * CYCLE, busy * CYCLE / 12)
    cost = price("reshape", [source], result)
    expect(cost, cores=math.ceil(rows / each), dram=2 * size * R.dram, noc=noc)


def permuted(shape: tuple[int, ...], order: tuple[int, ...], **layout: Any) -> tuple[TensorSpec, TensorSpec, Cost]:
    source, result = spec(shape, **layout), spec(tuple(shape[axis] for axis in order), **layout)
    return source, result, price("permute", [source], result, permutation=order)


def test_permutations_of_tiles_rows_and_elements() -> None:
    _, _, cost = permuted((3, 96, 160), (0, 2, 1))  # whole tiles move, 4 of 45 on each of 12 cores
    expect(cost, cores=12, dram=90 * PAGE * R.dram, noc=4 / 45 * 90 * PAGE * R.stream)
    _, _, cost = permuted((3, 96, 160), (1, 0, 2))  # rows move into 96 x 5 tiles, of which a core has 40
    noc = 4 * (R.wait + PAGE * R.arrival) + 40 * families.PERMUTE_ROWS_CYCLES * CYCLE
    expect(cost, cores=12, dram=(45 + 480) * PAGE * R.dram, noc=max(noc, 40 / 480 * 525 * PAGE * R.stream))
    _, _, cost = permuted((3, 96, 160), (2, 1, 0))  # columns move into 160 x 3 tiles
    noc = 40 * families.PERMUTE_COLUMNS_CYCLES * CYCLE
    expect(cost, cores=12, dram=(45 + 480) * PAGE * R.dram, noc=noc)
    _, _, cost = permuted((3, 96, 160), (0, 2, 1), tiled=False)
    busy = (3 * 96 * 160 / 32 * 2) / 12 * families.PERMUTE_PIECE_CYCLES * CYCLE
    size = 3 * 96 * 160 * 2
    noc = max(busy, 2 * size / 12 * R.stream, 40 * families.STICK_CYCLES * CYCLE)
    expect(cost, cores=12, dram=2 * size * R.dram, noc=noc)
    assert permuted((3, 96, 160), (0, 1, 2))[2] == Cost()
    source, result = spec((3, 96, 160)), spec((3, 160, 96))
    turned = price("transpose", [source], result, dim0=-1, dim1=1)
    assert turned == price("permute", [source], result, permutation=(0, 2, 1))


def test_embeddings_read_a_row_for_each_index() -> None:
    indices, table = spec((1, 200), tiled=False), spec((1000, 160), tiled=False)
    result = spec((1, 200, 160), tiled=False)  # 13 blocks of 16 rows on 12 cores
    noc = 32 * (R.wait + STICK * R.arrival)
    expect(price("embedding", [indices, table], result), cores=12, dram=2 * 200 * STICK * R.dram, noc=noc)
    tiled = spec((1, 200, 160))  # 7 x 5 tiles
    noc = 32 * (R.wait + 35 * PAGE / 200 * R.arrival)
    compute = 35 / 12 * families.TILIZE_CYCLES * CYCLE
    cost = price("embedding", [indices, table], tiled)
    expect(cost, cores=12, compute=compute, dram=2 * 35 * PAGE * R.dram, noc=noc, launches=2)


def test_writes_to_caches() -> None:
    """fill_cache copies the tiles of the new rows; update_cache touches a row of tiles for each sequence."""
    cache, new = spec((3, 2, 256, 96)), spec((1, 2, 64, 96))
    expect(price("fill_cache", [cache, new], cache), cores=12, dram=24 * PAGE * R.dram, noc=2 * PAGE * R.stream)
    new = spec((1, 3, 2, 96))
    cost = price("paged_update_cache", [cache, new], cache)  # 3 sequences, 2 heads, 3 tiles
    expect(cost, cores=9, dram=2 * 18 * PAGE * R.dram, noc=2 / 18 * 2 * 18 * PAGE * R.stream)
    part = spec((1, 2, 64, 96))
    noc = R.wait + PAGE * R.arrival
    expect(price("update_cache", [cache, part], cache), cores=12, dram=2 * 12 * PAGE * R.dram, noc=noc)


def test_creation_writes_only() -> None:
    expect(price("full", [], MATRIX), cores=8, dram=15 * PAGE * R.dram, noc=2 * PAGE * R.stream)


def test_plain_moves_read_and_write_everything_once() -> None:
    indices = spec((96, 160), DataType.U32)
    noc = 2 / 15 * (15 * PAGE * 2 + 15 * 2 * PAGE) * R.stream
    expect(price("gather", [MATRIX, indices], MATRIX), cores=8, dram=60 * PAGE * R.dram, noc=noc)


def test_copies_that_wait_for_each_page() -> None:
    noc = 2 * R.wait + 2 * PAGE * R.arrival
    expect(price("copy", [MATRIX], MATRIX), cores=8 + 4, dram=30 * PAGE * R.dram, noc=noc)
    few = price("copy", [MATRIX], MATRIX, core_count=4)
    expect(few, cores=4, dram=30 * PAGE * R.dram, noc=4 * (R.wait + PAGE * R.arrival))
    shards = sharded((96, 160), (3, 1))
    local(price("move", [shards], shards), 5 * PAGE * R.local, 3)
    part = spec((32, 160))
    noc = R.wait + PAGE * R.arrival
    expect(price("slice_write", [part, MATRIX], MATRIX), cores=5, dram=5 * PAGE * R.dram, noc=noc)
    rows = sharded((96, 160), (3, 1), tiled=False)
    noc = 8 * families.STICK_CYCLES * CYCLE + 8 * STICK * R.arrival
    expect(price("copy", [rows], ROWS), cores=12, dram=96 * STICK * R.dram, noc=noc)


def test_samples_fetch_four_rows_for_each_point() -> None:
    image, grid = spec((1, 9, 7, 96), tiled=False), spec((1, 5, 8, 2), tiled=False)
    result = spec((1, 5, 8, 96), tiled=False)  # 40 points on 12 cores
    noc = 4 * (R.wait + 4 * 192 * R.arrival)
    expect(price("grid_sample", [image, grid], result), cores=12, dram=40 * 192 * R.dram, noc=noc)


def test_a_halo_exchange() -> None:
    """4 x 2 tiles on each of 3 cores, untilized, and 50 rows that cores get from others."""
    source, result = sharded((1, 1, 384, 64), (3, 1)), sharded((1, 1, 434, 64), (3, 1), tiled=False)
    own, all_rows = 384 * 128, 3 * math.ceil(434 / 3) * 128
    compute = 4 * (families.UNTILIZE_ROW_CYCLES + 2 * families.TILIZE_CYCLES) * CYCLE
    noc = own / 3 * R.local + (all_rows - own) * R.local / 3 + families.HALO_US
    cost = price("halo", [source], result)
    figures = (cost.total_us, cost.compute_us, cost.noc_us, cost.launch_us, cost.cores)
    total = R.launch_local + max(compute + families.HALO_US, noc)
    assert figures == pytest.approx((total, compute, noc, R.launch_local, 3))
    blocks = price("halo", [sharded((1, 1, 384, 64), (3, 2))], sharded((1, 1, 434, 64), (3, 2), tiled=False))
    noc = own / 6 * R.local + (all_rows - own) * R.local / 6 + families.HALO_US
    assert blocks.noc_us == pytest.approx(noc)


def test_slices_into_rows_of_shards() -> None:
    result = sharded((1, 1, 96, 160), (3, 1), tiled=False)
    cycles = 32 * families.SLICED_STICK_CYCLES + 32 * STICK / families.SLICED_BYTES_PER_CYCLE
    waited = 5 * (R.wait + PAGE * R.arrival)
    expect(price("padded_slice", [spec((1, 1, 200, 160))], result), cores=3, noc=max(cycles * CYCLE, waited))
    rows = spec((1, 1, 200, 160), tiled=False)
    expect(price("padded_slice", [rows], result), cores=3, noc=32 * families.STICK_CYCLES * CYCLE)


def test_rows_of_positions_become_rows_of_channels() -> None:
    source, result = sharded((1, 1, 32, 288), (1, 3)), sharded((1, 1, 288, 40), (3, 1), tiled=False)
    tiles = 96 / 32 * 2
    cycles = 96 * families.SLICED_STICK_CYCLES + 96 * 80 / families.SLICED_BYTES_PER_CYCLE
    noc = 9 * PAGE / 3 * R.stream + (cycles * CYCLE + tiles * R.wait) / 2
    cost = price("convert_to_hwc", [source], result)
    expect(cost, cores=3, compute=3 * tiles * families.TILIZE_CYCLES * CYCLE, noc=noc)


@pytest.mark.parametrize(
    ("tensor", "size"),
    [
        (MATRIX, 2 * PAGE),  # 15 tiles over 12 banks
        (spec((96, 30), tiled=False), 8 * 64),  # rows of 60 bytes, aligned to 32
        (IN_L1, 2 * PAGE),
        (ROWS_IN_L1, 8 * STICK),
        (sharded((96, 160), (3, 2)), 3 * PAGE),
        (sharded((96, 30), (3, 1), tiled=False), 32 * 64),
        (HOST, 0),
    ],
)
def test_bytes_in_each_bank(tensor: TensorSpec, size: int) -> None:
    assert (CHIP.dram_banks, CHIP.dram_align, CHIP.noc_l1_align) == (12, 32, 16)
    assert bytes_per_bank(tensor.layout, CHIP) == size
