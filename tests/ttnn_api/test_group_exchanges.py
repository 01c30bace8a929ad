"""Exchanges of experts, of attention states and of sequences between the chips of a mesh, beside torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.ttnn_api.conftest import drawn

pytestmark = pytest.mark.quick

BATCH, ROWS, WIDTH, CHOSEN, EXPERTS = 16, 2, 64, 4, 16


@pytest.fixture
def mesh(ttnn: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("TTXLA_SYSTEM", "n300-llmbox")
    ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
    opened = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
    yield opened
    ttnn.close_mesh_device(opened)
    ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)


@pytest.fixture
def put(ttnn: Any, mesh: Any) -> Any:
    """Returns a function that distributes a tensor along dimensions over the rows and columns of the mesh."""

    def distribute(tensor: torch.Tensor, dims: Any = (None, None), dtype: Any = None) -> Any:
        layout = ttnn.TILE_LAYOUT if dtype is None else ttnn.ROW_MAJOR_LAYOUT
        mapper = ttnn.ShardTensor2dMesh(mesh, mesh_shape=(2, 4), dims=dims)
        options = {"dtype": dtype or ttnn.float32, "layout": layout, "device": mesh, "mesh_mapper": mapper}
        return ttnn.from_torch(tensor, **options)

    return distribute


def parts(ttnn: Any, tensor: Any) -> list[torch.Tensor]:
    return [ttnn.to_torch(each) for each in ttnn.get_device_tensors(tensor)]


def group_of(chip: int, axis: int | None) -> list[int]:
    """Returns the chips that exchange with a chip."""
    grid = torch.arange(8).reshape(2, 4)
    row, column = divmod(chip, 4)
    return (grid.flatten() if axis is None else grid[:, column] if axis == 0 else grid[row]).tolist()


class Tokens:
    """Tokens, the experts of each, and the chip of each expert."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self.tokens = torch.randn(BATCH, ROWS, 1, WIDTH, generator=generator).bfloat16()
        experts = [torch.randperm(EXPERTS, generator=generator)[:CHOSEN] for _ in range(BATCH * ROWS)]
        self.experts = torch.stack(experts).reshape(BATCH, ROWS, 1, CHOSEN)
        self.chip_of = torch.randperm(EXPERTS, generator=generator) // 2
        self.mapping = F.one_hot(self.chip_of, 8)[None, None].to(torch.int32)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_tokens_go_to_experts_and_back(ttnn: Any, mesh: Any, put: Any, axis: int | None) -> None:
    data = Tokens()
    if axis is None:
        mapper = ttnn.ShardTensorToMesh(mesh, dim=0)
    else:
        dims = (0, None) if axis == 0 else (None, 0)
        mapper = ttnn.ShardTensor2dMesh(mesh, mesh_shape=(2, 4), dims=dims)
    tokens = ttnn.from_torch(data.tokens, device=mesh, mesh_mapper=mapper)
    experts = ttnn.from_torch(data.experts.int(), dtype=ttnn.uint16, device=mesh, mesh_mapper=mapper)
    mapping = put(data.mapping, dtype=ttnn.uint16)
    sent, metadata = ttnn.all_to_all_dispatch(tokens, experts, mapping, cluster_axis=axis)
    received = parts(ttnn, sent)
    chips = data.chip_of[data.experts[:, :, 0]]
    for chip in range(8):
        assert torch.equal(received[chip][0], data.tokens[:, :, 0] * (chips == chip).any(-1, keepdim=True))
        assert torch.equal(parts(ttnn, metadata)[chip][0].long(), data.experts[:, :, 0])
    made = torch.cat([received[data.chip_of[expert]] * (expert + 1) for expert in data.chip_of.argsort(stable=True)])
    made = ttnn.from_torch(made, device=mesh, mesh_mapper=ttnn.ShardTensorToMesh(mesh, dim=0))
    returned = parts(ttnn, ttnn.all_to_all_combine(made, metadata, mapping, cluster_axis=axis))
    for chip in range(8):
        group = group_of(chip, axis)
        own = slice(*(BATCH * (group.index(chip) + end) // len(group) for end in (0, 1)))
        for slot in range(CHOSEN):
            expert = data.experts[own, :, 0, slot].unsqueeze(-1)
            inside = torch.isin(data.chip_of[expert], torch.tensor(group))
            expected = (data.tokens[own, :, 0] * (expert + 1)).bfloat16() * inside
            assert torch.equal(returned[chip][slot], expected)


def test_sums_of_a_chips_experts_return_once(ttnn: Any, mesh: Any, put: Any) -> None:
    data = Tokens()
    experts = data.experts.reshape(1, BATCH, ROWS, CHOSEN)
    metadata, mapping = (put(each.int(), dtype=ttnn.uint16) for each in (experts, data.mapping))
    sums = ttnn.from_torch(
        torch.arange(1.0, 9).reshape(8, 1, 1, 1).expand(8, BATCH, ROWS, WIDTH).bfloat16(),
        device=mesh,
        mesh_mapper=ttnn.ShardTensorToMesh(mesh, dim=0),
    )
    options = {"local_reduce": True, "output_shard_dim": 1}
    returned = torch.cat(parts(ttnn, ttnn.all_to_all_combine(sums, metadata, mapping, **options)), 1)
    chips = data.chip_of[data.experts[:, :, 0]]
    for chip in range(8):
        slots = (returned[..., 0] == chip + 1).sum(0)
        assert torch.equal(slots, (chips == chip).any(-1).long())


def test_weights_of_own_experts(ttnn: Any, put: Any) -> None:
    data, weights = Tokens(), torch.rand(1, BATCH, ROWS, EXPERTS).bfloat16()
    experts = put(data.experts.reshape(1, BATCH, ROWS, CHOSEN).int(), dtype=ttnn.uint16)
    operands = put(weights, dtype=ttnn.bfloat16), put(data.mapping, dtype=ttnn.uint16), experts
    local, used = ttnn.moe_expert_token_remap(*operands, reduction_size=8)
    selected = F.one_hot(data.experts[:, :, 0], EXPERTS).sum(-2)
    for chip, (own, flags) in enumerate(zip(parts(ttnn, local), parts(ttnn, used), strict=True)):
        expected = (weights[0] * selected)[..., data.chip_of == chip]
        assert torch.equal(own[0], expected)
        assert torch.equal(flags[0, 0].long(), expected.reshape(-1, 8, 2).ne(0).any(1).long())


def test_weights_are_dealt_to_chips(ttnn: Any, put: Any) -> None:
    weights = torch.zeros(1, 32)
    places = [2, 4, 10, 13, 14, 18, 22, 24]
    weights[0, places] = torch.arange(1.0, 9)
    dealt = parts(ttnn, ttnn.moe_routing_remap(put(weights, dtype=ttnn.bfloat16), 8, 4, 1))
    assert [each.nonzero()[:, 1].tolist() for each in dealt] == [places[n : n + 2] for n in (0, 2, 4, 6)] * 2
    with pytest.raises(RuntimeError, match="should be the same as size of cluster axis"):
        ttnn.moe_routing_remap(put(weights, dtype=ttnn.bfloat16), 8, 2, 1)


def in_shards(ttnn: Any, tensor: Any, cores: int) -> Any:
    shape = [32, tensor.shape[-1]]
    config = ttnn.create_sharded_memory_config(shape, ttnn.CoreGrid(x=cores, y=1), ttnn.ShardStrategy.WIDTH)
    return ttnn.to_memory_config(tensor, config)


def test_states_of_attention_meet_on_one_chip(ttnn: Any, mesh: Any) -> None:
    line = mesh.create_submesh(ttnn.MeshShape(1, 4))
    query, keys, values = drawn(32, 64), drawn(4, 128, 64, seed=1), drawn(4, 128, 64, seed=2)
    scores = query @ keys.mT / 8
    greatest = scores.amax(-1, keepdim=True)
    weights = (scores - greatest).exp()
    state = weights @ values, weights.sum(-1, keepdim=True).expand(4, 32, 32), greatest.expand(4, 32, 32)
    mapper = ttnn.ShardTensorToMesh(line, dim=0)
    operands = [
        in_shards(ttnn, ttnn.from_torch(each, layout=ttnn.TILE_LAYOUT, device=line, mesh_mapper=mapper), 1)
        for each in state
    ]
    result, sums, _ = ttnn.reduce_to_root(*operands, root_coord=ttnn.MeshCoordinate(0, 1))
    expected = F.scaled_dot_product_attention(query, keys.flatten(0, 1), values.flatten(0, 1))
    torch.testing.assert_close(parts(ttnn, result)[1][0], expected, rtol=1e-4, atol=1e-4)
    total = (scores - greatest.amax(0)).exp().sum((0, 2))
    torch.testing.assert_close(parts(ttnn, sums)[1][0, :, 0], total, rtol=1e-4, atol=1e-4)


def test_norms_over_all_chips(ttnn: Any, mesh: Any, put: Any) -> None:
    x, other, gamma = drawn(1, 1, 32, 512), drawn(1, 1, 32, 512, seed=1), drawn(512, seed=2)
    source, residual = (in_shards(ttnn, put(each, (None, 3)), 4) for each in (x, other))
    weight = put(gamma.reshape(16, 32), (None, 0), ttnn.float32)
    semaphore = ttnn.create_global_semaphore(mesh, ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (3, 0))]), 0)
    statistics = put(torch.zeros(1, 1, 32, 4))
    options = {"residual_input_tensor": residual, "weight": weight, "stats": statistics, "epsilon": 1e-5}
    result = ttnn.fused_rms_minimal(source, ttnn.LayerNormDefaultProgramConfig(), 1, mesh, semaphore, **options)
    composer = ttnn.ConcatMesh2dToTensor(mesh, mesh_shape=(2, 4), dims=(0, 3))
    joined = ttnn.to_torch(result, mesh_composer=composer)[:1]
    torch.testing.assert_close(joined, F.rms_norm(x + other, (512,), gamma, 1e-5), rtol=1e-4, atol=1e-4)


def chunks(ttnn: Any) -> Any:
    return ttnn.SDPAProgramConfig(compute_with_storage_grid_size=ttnn.CoreCoord(8, 6), q_chunk_size=32, k_chunk_size=32)


@pytest.fixture
def ring(ttnn: Any, mesh: Any, put: Any) -> Any:
    """Returns a function that computes attention of a sequence that is split over the columns of the mesh."""

    def attend(*tensors: torch.Tensor, **options: Any) -> list[torch.Tensor]:
        sequence = [put(each, (1, 2)) for each in tensors[:3]]
        second = [put(each, (1, None)) for each in tensors[3:]]
        buffers = [put(torch.zeros_like(each), (1, None)) for each in tensors[1:3]]
        common = {"joint_strategy": "rear", "dim": 2, "num_links": 1, "cluster_axis": 1}
        common |= {"program_config": chunks(ttnn)}
        common |= {"multi_device_global_semaphore": [], "mesh_device": mesh, "topology": ttnn.Topology.Linear}
        common |= {"ccl_core_grid_offset": (0, 6), "logical_n": tensors[0].shape[2]}
        named = dict(zip(("persistent_output_buffer_k", "persistent_output_buffer_v"), buffers, strict=True))
        function = ttnn.transformer.ring_joint_scaled_dot_product_attention
        outputs = function(*sequence, *second, **named, **(common | options))
        dims = [(1, 2), (1, 0), (1, 2)]
        composers = [ttnn.ConcatMesh2dToTensor(mesh, mesh_shape=(2, 4), dims=each) for each in dims]
        return [ttnn.to_torch(each, mesh_composer=composer) for each, composer in zip(outputs, composers, strict=True)]

    return attend


def test_attention_of_two_sequences(ring: Any) -> None:
    first, second = (
        [drawn(1, 2, rows, 64, seed=seed) for seed in seeds] for rows, seeds in ((256, (0, 1, 2)), (32, (3, 4, 5)))
    )
    output, joint, _ = ring(*first, *second, logical_n=250)
    query = torch.cat([first[0], second[0]], 2)
    keys, values = (torch.cat([one[:, :, :250], other], 2) for one, other in zip(first[1:], second[1:], strict=True))
    expected = F.scaled_dot_product_attention(query, keys, values)
    torch.testing.assert_close(torch.cat([output, joint[:1]], 2), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("balanced", [False, True])
def test_causal_attention_of_a_sequence(ring: Any, balanced: bool) -> None:
    tensors = [drawn(1, 2, 256, 64, seed=seed) for seed in (0, 1, 2)]
    order = torch.arange(256)
    if balanced:
        chunks = order.chunk(8)
        order = torch.cat([chunks[place] for pair in range(4) for place in (pair, 7 - pair)])
    output, _, _ = ring(*(each[:, :, order] for each in tensors), is_causal=True, is_balanced=balanced)
    expected = F.scaled_dot_product_attention(*tensors, is_causal=True)
    torch.testing.assert_close(output, expected[:, :, order], rtol=1e-4, atol=1e-4)


def test_latent_attention_of_a_sequence(ttnn: Any, mesh: Any, put: Any) -> None:
    query, latents = drawn(1, 2, 256, 64), drawn(1, 1, 256, 64, seed=1)
    options = {"head_dim_v": 32, "logical_n": 256, "dim": 2, "num_links": 1, "cluster_axis": 1}
    options |= {"program_config": chunks(ttnn)}
    options |= {"multi_device_global_semaphore": [], "mesh_device": mesh, "topology": ttnn.Topology.Linear}
    buffer = put(torch.zeros_like(latents))
    output, _ = ttnn.transformer.ring_mla(
        put(query, (1, 2)),
        put(latents, (None, 2)),
        persistent_output_buffer_kv=buffer,
        ccl_core_grid_offset=(0, 6),
        **options,
    )
    composer = ttnn.ConcatMesh2dToTensor(mesh, mesh_shape=(2, 4), dims=(1, 2))
    keys = latents.expand(1, 2, -1, -1)
    expected = F.scaled_dot_product_attention(query, keys, keys[..., :32], is_causal=True)
    torch.testing.assert_close(ttnn.to_torch(output, mesh_composer=composer), expected, rtol=1e-4, atol=1e-4)
    assert torch.equal(parts(ttnn, buffer)[3], latents)


def test_queries_are_dealt_from_both_ends(ttnn: Any, put: Any) -> None:
    tensors = [drawn(1, 2, 512, 64, seed=seed) for seed in (0, 1, 2)]
    function = ttnn.transformer.ring_distributed_scaled_dot_product_attention
    chunks = F.scaled_dot_product_attention(*tensors, is_causal=True).chunk(16, 2)
    results = parts(ttnn, function(*map(put, tensors), 8))
    for chip, result in enumerate(results):
        expected = torch.cat([chunks[chip], chunks[15 - chip]], 2)
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
    chosen = parts(ttnn, function(*map(put, tensors), 8, 3))[0]
    torch.testing.assert_close(chosen, torch.cat([chunks[3], chunks[12]], 2), rtol=1e-4, atol=1e-4)


def test_topologies(ttnn: Any, put: Any) -> None:
    x = put(torch.zeros(32, 32))
    assert ttnn.get_usable_topology(x) is ttnn.Topology.Linear
    assert ttnn.get_usable_topology(x, ttnn.Topology.Ring, cluster_axis=0) is ttnn.Topology.Linear
    assert ttnn.get_physical_mesh_shapes() == {0: [2, 4]}
