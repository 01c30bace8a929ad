"""Specs cut into shards, forms of tiles and JSON, as TT-NN gives them in mock mode."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.quick


@pytest.fixture
def grid(ttnn: Any) -> Any:
    return ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 1))])


@pytest.fixture
def tiles(ttnn: Any) -> Any:
    return ttnn.TensorSpec([2, 64, 128], ttnn.bfloat16, ttnn.TILE_LAYOUT)


@pytest.fixture
def rows(ttnn: Any) -> Any:
    return ttnn.TensorSpec([2, 60, 100], ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT, ttnn.BufferType.L1)


def _cut(spec: Any) -> tuple[str, list[int]]:
    memory = spec.memory_config
    shape = memory.nd_shard_spec.shard_shape if memory.shard_spec is None else memory.shard_spec.shape
    return memory.memory_layout.name, list(shape)


@pytest.mark.parametrize(
    ("dims", "of_tiles", "of_rows"),
    [
        ([0], ("HEIGHT_SHARDED", [64, 128]), ("HEIGHT_SHARDED", [60, 128])),
        ([1], ("ND_SHARDED", [2, 32, 128]), ("ND_SHARDED", [2, 1, 128])),
        ([-1], ("WIDTH_SHARDED", [128, 32]), ("WIDTH_SHARDED", [120, 32])),
        ([0, 2], ("BLOCK_SHARDED", [64, 32]), ("BLOCK_SHARDED", [60, 32])),
        ([], ("WIDTH_SHARDED", [128, 128]), ("WIDTH_SHARDED", [120, 128])),
    ],
)
def test_specs_are_cut_along_dimensions(
    tiles: Any,
    rows: Any,
    grid: Any,
    dims: list[int],
    of_tiles: tuple[str, list[int]],
    of_rows: tuple[str, list[int]],
) -> None:
    assert _cut(tiles.sharded_across_dims(dims, grid)) == of_tiles
    assert _cut(rows.sharded_across_dims(dims, grid)) == of_rows
    others = sorted({0, 1, 2} - {each % 3 for each in dims})
    assert tiles.sharded_across_dims_except(others, grid) == tiles.sharded_across_dims(dims, grid)


def test_shards_are_aligned_as_asked(ttnn: Any, tiles: Any, rows: Any, grid: Any) -> None:
    alignments = ttnn.ShardShapeAlignment
    assert _cut(tiles.sharded([1, 20, 50], grid)) == ("ND_SHARDED", [1, 32, 64])
    assert _cut(rows.sharded([1, 20, 50], grid)) == ("ND_SHARDED", [1, 20, 64])
    assert _cut(rows.sharded([1, 20, 50], grid, alignments.REQUIRED)) == ("ND_SHARDED", [1, 20, 50])
    with pytest.raises(RuntimeError, match="must be tile"):
        tiles.sharded([1, 20, 50], grid, alignments.NONE)
    spec = ttnn.NdShardSpec([1, 32, 64], grid, ttnn.ShardOrientation.COL_MAJOR, ttnn.ShardDistributionStrategy.GRID_2D)
    assert _cut(tiles.sharded(spec)) == ("BLOCK_SHARDED", [32, 64])


def test_blocks_of_rows_fill_sixty_four_bytes(ttnn: Any, rows: Any, grid: Any) -> None:
    assert _cut(rows.block_sharded(grid)) == ("BLOCK_SHARDED", [60, 32])
    other = ttnn.TensorSpec([2, 60, 100], ttnn.uint8, ttnn.ROW_MAJOR_LAYOUT)
    assert _cut(other.block_sharded(grid)) == ("BLOCK_SHARDED", [60, 64])
    lone = ttnn.CoreRange(ttnn.CoreCoord(5, 5), ttnn.CoreCoord(5, 5))
    with pytest.raises(RuntimeError, match="requires a single CoreRange"):
        rows.block_sharded(ttnn.CoreRangeSet([*grid.ranges(), lone]))


@pytest.mark.parametrize(
    ("shape", "face", "faces", "narrow", "partial", "size"),
    [
        ((32, 32), [16, 16], 4, 0, 0, 1088),
        ((16, 32), [16, 16], 2, 0, 1, 544),
        ((32, 16), [16, 16], 2, 1, 0, 544),
        ((16, 16), [16, 16], 1, 1, 1, 272),
        ((4, 32), [4, 16], 2, 0, 1, 144),
        ((1, 32), [1, 16], 2, 0, 1, 48),
    ],
)
def test_a_tile_tells_of_its_faces(
    ttnn: Any, shape: tuple[int, int], face: list[int], faces: int, narrow: int, partial: int, size: int
) -> None:
    tile = ttnn.Tile(shape)
    assert tile.tile_shape == list(shape)
    assert (tile.face_shape, tile.num_faces) == (face, faces)
    assert (tile.narrow_tile, tile.partial_face) == (narrow, partial)
    assert tile.get_tile_size(ttnn.bfloat8_b) == size
    assert not tile.transpose_of_faces
    assert ttnn.Tile(shape, transpose_tile=True).transpose_within_face


def test_values_are_written_as_ttnn_writes_them(ttnn: Any, grid: Any) -> None:
    spec = ttnn.ShardSpec(grid, [32, 64], ttnn.ShardOrientation.ROW_MAJOR)
    cores = '"grid":[{"end":{"x":3,"y":1},"start":{"x":0,"y":0}}]'
    text = f'{{{cores},"orientation":0,"shape":[32,64]}}'
    assert spec.to_json() == text
    memory = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, spec)
    assert memory.to_json() == (
        '{"buffer_type":1,"created_with_nd_shard_spec":false,"memory_layout":2,"per_core_allocation":false,'
        f'"shard_spec":{text}}}'
    )
    cut = ttnn.MemoryConfig(ttnn.BufferType.L1, ttnn.NdShardSpec([1, 32, 64], grid))
    for each in (spec, memory, cut, grid, ttnn.DRAM_MEMORY_CONFIG, ttnn.CoreCoord(1, 2)):
        assert type(each).from_json(each.to_json()) == each


@pytest.mark.parametrize(
    "text", ["junk", "[]", "{}", '{"memory_layout":2}', '{"memory_layout":99,"buffer_type":0}', "3"]
)
def test_text_that_is_no_memory_is_refused(ttnn: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=r"MemoryConfig\.from_json: .* is no text of to_json"):
        ttnn.MemoryConfig.from_json(text)


def test_a_device_tells_where_its_cores_are(ttnn: Any, device: Any) -> None:
    banks = device.get_optimal_dram_bank_to_logical_worker_assignment(ttnn.NOC.NOC_0)
    assert len(banks) == device.dram_grid_size().x
    chip = ttnn.MeshCoordinate(0, 0)
    assert device.get_optimal_dram_bank_to_logical_worker_assignment(ttnn.NOC.NOC_0, chip)[1] == banks[1]
    grid = device.compute_with_storage_grid_size()
    last = ttnn.CoreCoord(grid.x - 1, grid.y - 1)
    place = device.worker_core_from_logical_core(last)
    assert device.logical_core_from_worker_core(place) == last
    assert place.x > last.x
    for find in (device.worker_core_from_logical_core, device.logical_core_from_worker_core):
        with pytest.raises(RuntimeError, match="No core coordinate found"):
            find(ttnn.CoreCoord(50, 0))


def test_columns_of_other_cores_are_counted_on_blackhole(ttnn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    device = ttnn.open_device(device_id=0)
    places = [device.worker_core_from_logical_core(ttnn.CoreCoord(x, 0)).x for x in (0, 6, 7)]
    ttnn.close_device(device)
    assert places == [1, 7, 10]


def test_the_chips_special_numbers_are_told(device: Any) -> None:
    assert (device.sfpu_eps(), device.sfpu_nan(), device.sfpu_inf()) == (1.19209e-07, 7.0040e19, 1.7014e38)


def test_identifiers_are_numbers_with_names(ttnn: Any, device: Any) -> None:
    assert ttnn.QueueId(1) == 1
    assert repr(ttnn.QueueId(1)) == "QueueId(1)"
    assert isinstance(ttnn.record_event(device, ttnn.QueueId(0)), ttnn.MeshEvent)
    trace = ttnn.begin_trace_capture(device, cq_id=ttnn.QueueId(0))
    ttnn.end_trace_capture(device, trace, cq_id=ttnn.QueueId(0))
    assert isinstance(trace, ttnn.MeshTraceId)
    assert isinstance(ttnn.init_device_compute_kernel_config(device.arch()), ttnn.DeviceComputeKernelConfig)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ProgramDescriptor", "runs no kernels of a user's own"),
        ("MeshSocket", "a mesh lies in one process"),
        ("PagedCacheGeometryOverride", r"the emulated card does not\."),
    ],
)
def test_absent_classes_say_why(ttnn: Any, name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=f"TT-NN has it, but .*{words}"):
        getattr(ttnn, name)
