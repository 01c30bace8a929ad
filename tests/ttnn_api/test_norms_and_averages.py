"""Functions of TT-NN beside their definitions: norms by statistics, weights of group norm and averages."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

pytestmark = pytest.mark.quick


def placed(ttnn: Any, device: Any, tensor: torch.Tensor, **options: Any) -> Any:
    options = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT} | options
    return ttnn.from_torch(tensor, device=device, **options)


def test_norms_by_statistics(ttnn: Any, device: Any) -> None:
    """The halves of a row have statistics of their own; a norm by both is that of the whole row."""
    x, weight = torch.randn(1, 1, 32, 128) + 1, torch.randn(128)
    halves = [placed(ttnn, device, half, dtype=ttnn.float32) for half in x.split(64, -1)]
    for name, expected in (
        ("layer_norm", F.layer_norm(x, (128,), weight, eps=1e-5)),
        ("rms_norm", F.rms_norm(x, (128,), weight, eps=1e-5)),
    ):
        before, after = getattr(ttnn, f"{name}_pre_all_gather"), getattr(ttnn, f"{name}_post_all_gather")
        stats = ttnn.concat([before(half, dtype=ttnn.float32) for half in halves], -1)
        assert stats.shape[-1] == 2 * 32 * (2 if name == "layer_norm" else 1)
        parts = [
            after(half, stats, epsilon=1e-5, weight=placed(ttnn, device, part.reshape(1, -1), dtype=ttnn.float32))
            for half, part in zip(halves, weight.split(64), strict=True)
        ]
        whole = torch.cat([ttnn.to_torch(part) for part in parts], -1)
        torch.testing.assert_close(whole, expected, atol=1e-4, rtol=1e-4)
    with pytest.raises(RuntimeError, match="stats have 32 columns, expected a multiple of 64"):
        ttnn.layer_norm_post_all_gather(halves[0], ttnn.rms_norm_pre_all_gather(halves[0]))


def test_statistics_of_a_sum(ttnn: Any, device: Any) -> None:
    x, y = torch.randn(2, 1, 1, 32, 64)
    stats = ttnn.rms_norm_pre_all_gather(
        placed(ttnn, device, x, dtype=ttnn.float32),
        dtype=ttnn.float32,
        residual_input_tensor=placed(ttnn, device, y, dtype=ttnn.float32),
    )
    torch.testing.assert_close(ttnn.to_torch(stats)[..., 0], (x + y).square().sum(-1))


def test_exponential_moving_average(ttnn: Any, device: Any) -> None:
    x = torch.randn(1, 2, 32, 40).bfloat16()
    average = ttnn.to_torch(ttnn.ema(placed(ttnn, device, x), 0.75)).float()
    assert torch.equal(average[..., 0], 0.25 * x[..., 0].float())
    wide = x.float()
    weights = torch.tensor([[0.25 * 0.75 ** (t - i) if i <= t else 0.0 for i in range(40)] for t in range(40)])
    expected = wide @ weights.T
    torch.testing.assert_close(average, expected, atol=0.02, rtol=0.01)
    with pytest.raises(RuntimeError, match=r"must be 4D \[1, B, C, T\], got rank 2"):
        ttnn.ema(placed(ttnn, device, torch.zeros(32, 32)), 0.5)


def test_group_norm_of_weights_from_torch(ttnn: Any, device: Any) -> None:
    x, weight, bias = torch.randn(1, 1, 64, 96), torch.randn(96), torch.randn(96)
    (scale, shift), mask = ttnn.dram_group_norm_params_from_torch([weight, bias], 96, 3, device)
    assert (mask.shape, scale.shape) == ([1, 3, 32, 32], [1, 1, 3, 32])
    source = placed(ttnn, device, x, dtype=ttnn.float32)
    options = {"num_groups": 3, "input_mask": mask, "weight": scale, "bias": shift}
    normalized = ttnn.group_norm(source, inplace=False, **options)
    with pytest.raises(RuntimeError, match="Tile layout requires non-inplace tensors"):
        ttnn.group_norm(source, **options)
    expected = F.group_norm(x.transpose(1, 3), 3, weight.bfloat16().float(), bias.bfloat16().float(), 1e-12)
    torch.testing.assert_close(ttnn.to_torch(normalized), expected.transpose(1, 3), atol=1e-4, rtol=1e-4)
    alone = ttnn.dram_group_norm_params_from_torch(
        weight, 96, 3, None, core_grid=ttnn.CoreGrid(x=8, y=8), return_mask=False
    )
    assert torch.equal(ttnn.to_torch(alone).flatten(), weight.bfloat16())


@pytest.mark.parametrize(
    ("grid", "channels", "groups", "positions", "batches", "expected"),
    [
        ((13, 10), 960, 2, 96, 3, (6, 1)),
        ((8, 8), 1280, 4, 96, 3, (4, 3)),
        ((13, 10), 128, 2, 4096, 2, (8, 8)),
        ((13, 10), 128, 32, 96, 3, (12, 1)),
        ((11, 10), 256, 2, 32, 1, (2, 1)),
    ],
)
def test_cores_of_a_group_norm_in_dram(
    ttnn: Any,
    grid: tuple[int, int],
    channels: int,
    groups: int,
    positions: int,
    batches: int,
    expected: tuple[int, int],
) -> None:
    """The cores are those of TT-NN 0.81."""

    class Chip:
        def compute_with_storage_grid_size(self) -> Any:
            return ttnn.CoreCoord(*grid)

    chosen = ttnn.determine_expected_group_norm_dram_grid_size(
        device=Chip(), num_channels=channels, num_groups=groups, input_nhw=positions, num_batches=batches
    )
    assert (chosen.x, chosen.y) == expected


def test_configs_of_norms(ttnn: Any, device: Any) -> None:
    """The configs that TT-NN makes, with a norm of shards that takes one, and the table of reciprocals."""
    for name, approximate in (("layernorm", False), ("rmsnorm", True)):
        config = getattr(ttnn, f"{name}_default_compute_config")(device.arch())
        fields = (config.math_fidelity, config.math_approx_mode, config.fp32_dest_acc_en, config.packer_l1_acc)
        assert fields == (ttnn.MathFidelity.HiFi4, approximate, not approximate, False)
    assert type(ttnn.create_layernorm_program_config()) is ttnn.LayerNormDefaultProgramConfig
    cores = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(1, 1), ttnn.CoreCoord(4, 2))})
    spec = ttnn.ShardSpec(cores, (64, 96), ttnn.ShardOrientation.ROW_MAJOR)
    config = ttnn.create_layernorm_program_config(spec)
    grid = config.compute_with_storage_grid_size
    assert (grid.x, grid.y, config.subblock_w, config.block_h, config.block_w, config.inplace) == (4, 2, 1, 2, 3, False)
    assert ttnn.create_layernorm_program_config(spec, tile_height=16).block_h == 4
    table = ttnn.create_layer_norm_reciprocals(device, cores, 5)
    assert table.memory_config().memory_layout is ttnn.TensorMemoryLayout.HEIGHT_SHARDED
    assert torch.equal(ttnn.to_torch(table), torch.tensor([[1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]]).repeat(8, 1))


def test_weights_of_the_first_expert(ttnn: Any, device: Any) -> None:
    x, experts, kept = torch.randn(1, 1, 32, 64), torch.zeros(1, 1, 1, 64), torch.full((1, 1, 1, 32), -torch.inf)
    experts[..., 40:], kept[..., :8] = -torch.inf, 0
    x = x.bfloat16().float()
    given = [placed(ttnn, device, each) for each in (x, experts, kept)]
    result = ttnn.moe(*given, 32)
    values, positions = torch.topk(x + experts, 32)
    expected = (torch.softmax(values + kept, -1) * (positions == 0)).sum(-1, keepdim=True)
    assert 0 < expected.count_nonzero() < 32
    assert result.shape == (1, 1, 32, 1)
    torch.testing.assert_close(ttnn.to_torch(result).float(), expected, atol=0.01, rtol=0.02)
    for arguments, message in (
        ((*given, 8), "K must be equal to 32"),
        ((given[0], given[1], given[0], 32), "Topk mask must be row-broadcastable with last dim == k"),
        ((ttnn.concat([given[0], given[0][..., :32]], -1), given[1], given[2], 32), "must be a power of 2"),
        ((ttnn.reshape(given[0], [32, 64]), given[1], given[2], 32), "Input shape must be 4D, got 2"),
        ((ttnn.to_layout(given[0], ttnn.ROW_MAJOR_LAYOUT), given[1], given[2], 32), "must be in tiled format"),
    ):
        with pytest.raises(RuntimeError, match=message):
            ttnn.moe(*arguments)


def test_products_in_parts(ttnn: Any, device: Any) -> None:
    x, weight, bias = torch.randn(64, 64), torch.randn(64, 192), torch.randn(1, 192)
    given = [placed(ttnn, device, each) for each in (x, weight)]
    parts = ttnn.experimental.minimal_matmul_split(*given, chunks=2, bias_tensor=placed(ttnn, device, bias))
    whole = ttnn.experimental.minimal_matmul(*given, bias_tensor=placed(ttnn, device, bias))
    assert [tuple(part.shape) for part in parts] == [(64, 96), (64, 96)]
    assert torch.equal(torch.cat([ttnn.to_torch(part) for part in parts], -1), ttnn.to_torch(whole))
    for options, message in (
        ({"chunks": 5}, "Output width N=192 must be divisible by chunks=5"),
        ({"chunks": 4}, "Each chunk size N/chunks=48 must be a multiple of TILE_WIDTH=32"),
        ({"dim": 1}, "currently only supports dim=-1, got dim=1"),
        ({"chunks": 0}, "requires chunks >= 1, got chunks=0"),
    ):
        with pytest.raises(RuntimeError, match=message):
            ttnn.experimental.minimal_matmul_split(*given, **options)


def test_a_batch_norm_in_training_moves_the_running_statistics(ttnn: Any, device: Any) -> None:
    x, mean, variance = torch.randn(2, 3, 32, 32), torch.zeros(3), torch.ones(3)
    running = [placed(ttnn, device, each.reshape(1, 3, 1, 1), dtype=ttnn.float32) for each in (mean, variance)]
    source = placed(ttnn, device, x, dtype=ttnn.float32)
    result = ttnn.batch_norm(source, running_mean=running[0], running_var=running[1], training=True, momentum=0.3)
    expected = F.batch_norm(x, mean, variance, training=True, momentum=0.3)
    torch.testing.assert_close(ttnn.to_torch(result), expected, atol=1e-4, rtol=1e-4)
    for each, moved in zip(running, (mean, variance), strict=True):
        torch.testing.assert_close(ttnn.to_torch(each).reshape(3), moved, atol=1e-5, rtol=1e-5)


def test_a_residual_has_the_shape_of_the_input(ttnn: Any, device: Any) -> None:
    x, row = placed(ttnn, device, torch.randn(32, 64)), placed(ttnn, device, torch.randn(1, 64))
    with pytest.raises(RuntimeError, match="Input and residual logical and padded shapes must match"):
        ttnn.layer_norm(x, residual_input_tensor=row)


def test_the_average_of_whole_images_lies_in_no_shards(ttnn: Any, device: Any) -> None:
    rows = placed(ttnn, device, torch.randn(1, 1, 128, 64), layout=ttnn.ROW_MAJOR_LAYOUT)
    whole = ttnn.avg_pool2d(rows, 2, 8, 8, 64, [8, 8], [1, 1], [0, 0])
    assert whole.memory_config() == ttnn.DRAM_MEMORY_CONFIG
    assert list(whole.shape) == [1, 1, 2, 64]
    assert ttnn.avg_pool2d(rows, 2, 8, 8, 64, [8, 7], [1, 1], [0, 0]).memory_config().is_sharded()
    blocks = ttnn.to_layout(ttnn.typecast(ttnn.to_layout(rows, ttnn.TILE_LAYOUT), ttnn.bfloat8_b), ttnn.TILE_LAYOUT)
    assert ttnn.avg_pool2d(blocks, 2, 8, 8, 64, [8, 8], [1, 1], [0, 0]).dtype == ttnn.bfloat16


@pytest.mark.parametrize("numerics", ["silicon", "bit_exact"])
def test_running_sums_of_integers(ttnn: Any, device: Any, numerics: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_NUMERICS", numerics)
    x = torch.arange(64, dtype=torch.int32).reshape(1, 1, 2, 32)
    rows = placed(ttnn, device, x, dtype=ttnn.int32)
    assert torch.equal(ttnn.to_torch(ttnn.moreh_cumsum(rows, 3)), x.cumsum(3).int())
    assert torch.equal(ttnn.to_torch(ttnn.moreh_cumsum_backward(rows, 3)), x.flip(3).cumsum(3).flip(3).int())
