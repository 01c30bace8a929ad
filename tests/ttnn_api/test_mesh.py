"""Tensors on a mesh of chips: mappers, composers, collectives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tt_xla.cost import instruction_cost
from tt_xla.cost.rates import rates_of
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Instruction

pytestmark = pytest.mark.quick


@pytest.fixture
def mesh(ttnn: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("TTXLA_SYSTEM", "n300-llmbox")
    ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
    opened = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
    yield opened
    ttnn.close_mesh_device(opened)
    ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)


def put(ttnn: Any, mesh: Any, tensor: torch.Tensor, mapper: Any = None) -> Any:
    return ttnn.from_torch(tensor, ttnn.float32, layout=ttnn.TILE_LAYOUT, device=mesh, mesh_mapper=mapper)


def shards(ttnn: Any, tensor: Any) -> list[torch.Tensor]:
    return [ttnn.to_torch(each) for each in ttnn.get_device_tensors(tensor)]


def test_a_split_tensor_is_joined_again(ttnn: Any, mesh: Any) -> None:
    x = torch.randn(64, 128)
    grid = put(ttnn, mesh, x, ttnn.ShardTensor2dMesh(mesh, mesh_shape=(2, 4), dims=(0, 1)))
    assert grid.shape == [32, 32]
    assert torch.equal(shards(ttnn, grid)[5], x[32:, 32:64])
    composer = ttnn.ConcatMesh2dToTensor(mesh, mesh_shape=(2, 4), dims=(0, 1))
    assert torch.equal(ttnn.to_torch(grid, mesh_composer=composer), x)
    row = put(ttnn, mesh, x, ttnn.ShardTensorToMesh(mesh, dim=-1))
    assert torch.equal(ttnn.to_torch(row, mesh_composer=ttnn.ConcatMeshToTensor(mesh, dim=1)), x)
    with ttnn.distribute(ttnn.ShardTensorToMesh(mesh, dim=0)):
        assert ttnn.from_torch(x).shape == [8, 128]
    with ttnn.distribute(ttnn.ConcatMeshToTensor(mesh, dim=1)):
        assert torch.equal(ttnn.to_torch(row), x)
    with pytest.raises(RuntimeError, match="Supply a mesh composer"):
        ttnn.to_torch(row)


def test_what_chips_hold_alike_is_computed_once(ttnn: Any, mesh: Any) -> None:
    x = put(ttnn, mesh, torch.randn(32, 32), ttnn.ReplicateTensorToMesh(mesh))
    y = put(ttnn, mesh, torch.randn(64, 32), ttnn.ShardTensor2dMesh(mesh, mesh_shape=(2, 4), dims=(0, None)))
    assert len({id(each) for each in ttnn.exp(x).contents.shards}) == 1
    assert len({id(each) for each in ttnn.add(x, y).contents.shards}) == 2
    assert len(ttnn.zeros([32, 32], device=mesh).contents.shards) == 8


def test_collectives_along_rows_and_columns(ttnn: Any, mesh: Any) -> None:
    x = torch.randn(64, 512)
    t = put(ttnn, mesh, x, ttnn.ShardTensor2dMesh(mesh, mesh_shape=(2, 4), dims=(0, 1)))
    part = [x[row : row + 32, column : column + 128] for row in (0, 32) for column in range(0, 512, 128)]
    gathered = shards(ttnn, ttnn.all_gather(t, dim=1, cluster_axis=1))
    assert [torch.equal(each, x[:32] if chip < 4 else x[32:]) for chip, each in enumerate(gathered)] == [True] * 8
    assert torch.equal(shards(ttnn, ttnn.all_gather(t, dim=0, cluster_axis=0))[6], x[:, 256:384])
    expected = [torch.stack(part[row : row + 4]).sum(0) for row in (0, 4)]
    for chip, each in enumerate(shards(ttnn, ttnn.all_reduce(t, cluster_axis=1))):
        torch.testing.assert_close(each, expected[chip // 4])
    for chip, each in enumerate(shards(ttnn, ttnn.reduce_scatter(t, dim=1, cluster_axis=1))):
        torch.testing.assert_close(each, expected[chip // 4][:, 32 * (chip % 4) :][:, :32])
    listed = ttnn.all_broadcast(t, cluster_axis=0)
    assert torch.equal(shards(ttnn, listed[1])[2], part[6])
    assert torch.equal(shards(ttnn, ttnn.broadcast(t, ttnn.MeshCoordinate(0, 2), cluster_axis=1))[7], part[6])
    pieces = shards(ttnn, ttnn.mesh_partition(ttnn.all_gather(t, dim=1, cluster_axis=1), dim=1, cluster_axis=1))
    assert all(torch.equal(*pair) for pair in zip(pieces, part, strict=True))
    sent = shards(ttnn, ttnn.point_to_point(t, ttnn.MeshCoordinate(0, 0), ttnn.MeshCoordinate(0, 3)))
    assert torch.equal(sent[3], part[0])
    assert torch.equal(sent[2], part[2])
    turned = ttnn.experimental.all_to_all_async_generic(t, in_dim=0, out_dim=1, cluster_axis=1)
    assert torch.equal(shards(ttnn, turned)[1], torch.cat([each[:, 32:64] for each in part[:4]]))


def test_an_exchange_takes_the_time_and_memory_of_compiled_programs(ttnn: Any, mesh: Any) -> None:
    t = put(ttnn, mesh, torch.randn(64, 512), ttnn.ShardTensorToMesh(mesh, dim=1))
    before = mesh.predicted_us
    gathered = ttnn.all_gather(t, dim=1, cluster_axis=1)
    grid = Mesh((2, 4), ("rows", "columns"))
    step = Instruction("ttnn.all_gather", {"input": 0}, (1,), {"all_gather_dim": 1, "cluster_axis": 1})
    cost = instruction_cost(step, [t.type.spec, gathered.type.spec], mesh.target, grid)
    expected = cost.total_us + rates_of(mesh.target, grid).gap_untraced
    assert mesh.predicted_us - before == pytest.approx(expected)
    used = mesh.memory.dram.used
    del gathered
    assert mesh.memory.dram.used < used


def test_a_product_after_a_gather(ttnn: Any, mesh: Any) -> None:
    row = mesh.create_submesh(ttnn.MeshShape(1, 4))
    x, weight = torch.randn(32, 256), torch.randn(256, 64)
    split = put(ttnn, row, x, ttnn.ShardTensorToMesh(row, dim=1))
    factor = put(ttnn, row, weight, ttnn.ReplicateTensorToMesh(row))
    options = {"dim": 1, "multi_device_global_semaphore": [], "all_gather_core_grid_offset": (0, 4)}
    gathered, product = ttnn.experimental.all_gather_matmul_async(split, factor, **options)
    assert torch.equal(shards(ttnn, gathered)[3], x)
    torch.testing.assert_close(shards(ttnn, product)[3], x @ weight, rtol=0.02, atol=0.2)


def test_writes_to_a_replicated_tensor_part_the_chips(ttnn: Any, mesh: Any) -> None:
    cache = put(ttnn, mesh, torch.zeros(1, 1, 64, 32), ttnn.ReplicateTensorToMesh(mesh))
    rows = torch.arange(8.0).repeat_interleave(32).reshape(8, 1, 1, 32).expand(8, 1, 32, 32)
    ttnn.fill_cache(cache, put(ttnn, mesh, rows, ttnn.ShardTensorToMesh(mesh, dim=0)), 0)
    assert [each[0, 0, 5, 0].item() for each in shards(ttnn, cache)] == list(range(8))


def test_a_submesh_has_chips_of_its_mesh(ttnn: Any, mesh: Any) -> None:
    lower = mesh.create_submesh(ttnn.MeshShape(1, 4), ttnn.MeshCoordinate(1, 0))
    assert lower.get_device_ids() == mesh.get_device_ids()[4:]
    t = put(ttnn, lower, torch.randn(32, 128), ttnn.ShardTensorToMesh(lower, dim=1))
    assert ttnn.all_gather(t, dim=1).shape == [32, 128]
    with pytest.raises(RuntimeError, match="on the same device"):
        ttnn.add(t, put(ttnn, mesh, torch.randn(32, 32)))
    ttnn.close_mesh_device(mesh)
    with pytest.raises(RuntimeError, match="Device is not open"):
        ttnn.exp(t)


def test_chips_without_a_network_do_not_exchange(ttnn: Any, mesh: Any) -> None:
    ttnn.close_mesh_device(mesh)
    ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)
    with ttnn.create_mesh_device(ttnn.MeshShape(1, 2)) as pair, pytest.raises(RuntimeError, match="set_fabric_config"):
        ttnn.all_gather(put(ttnn, pair, torch.randn(32, 32)), dim=0)
    with pytest.raises(RuntimeError, match="n300-llmbox has 8 chips"):
        ttnn.open_mesh_device(ttnn.MeshShape(4, 4))


def test_parts_on_other_chips_do_not_mix(ttnn: Any, mesh: Any) -> None:
    t = put(ttnn, mesh, torch.randn(32, 256), ttnn.ShardTensorToMesh(mesh, dim=1))
    first, second, *_ = ttnn.get_device_tensors(t)
    with pytest.raises(RuntimeError, match="different chips"):
        ttnn.add(first, second)
    part = ttnn.exp(second)
    assert part.device_coords() == [ttnn.MeshCoordinate(0, 1)]
    joined = ttnn.combine_device_tensors(tensors=[ttnn.exp(each) for each in ttnn.get_device_tensors(t)])
    assert torch.equal(shards(ttnn, joined)[1], ttnn.to_torch(part))


def test_meshes_and_tensors_are_shown(ttnn: Any, mesh: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ttnn.distributed.visualize_mesh_device(mesh)
    assert f"Dev. ID: {mesh.get_device_ids()[7]}" in capsys.readouterr().out
    ttnn.visualize_system_mesh()
    assert "SystemMesh Global Shape: (2, 4)" in capsys.readouterr().out
    x = torch.zeros(64, 256)
    grid = ttnn.from_torch(x, mesh_mapper=ttnn.ShardTensor2dMesh(mesh, mesh_shape=(2, 4), dims=(0, 1)))
    ttnn.visualize_tensor(grid)
    shown = capsys.readouterr().out
    assert "[32:64, 128:1" in shown
    assert "PlacementShard(1)" in shown


def test_semaphores_have_addresses(ttnn: Any, mesh: Any) -> None:
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 1))])
    first, second = (ttnn.create_global_semaphore(mesh, cores, 0) for _ in range(2))
    assert ttnn.get_global_semaphore_address(first) != ttnn.get_global_semaphore_address(second)
    ttnn.reset_global_semaphore_value(first, 3)
    t = put(ttnn, mesh, torch.randn(32, 256), ttnn.ShardTensorToMesh(mesh, dim=1))
    gathered = ttnn.experimental.all_gather_async(
        t, dim=1, cluster_axis=1, multi_device_global_semaphore=[first, second]
    )
    assert gathered.shape == [32, 128]
