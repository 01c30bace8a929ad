"""Every optional argument of the functions of images and volumes, with shapes that differ by dimension."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.ttnn_api.conftest import Card, close, drawn

pytestmark = pytest.mark.quick


def test_rotation_of_a_wide_image(card: Card) -> None:
    image = drawn(2, 4, 6, 8)
    expected = torch.full_like(image, 3.0)
    expected[:, :, 1:5] = image.rot90(1, (1, 2))[:, 1:5]  # what fits of an image that is 6 high and 4 wide
    close(card("rotate", image, 90.0, fill=3.0), expected)
    close(card("rotate", image, 180.0), image.flip(1, 2))


def test_rotation_around_a_point(card: Card) -> None:
    image = drawn(2, 4, 6, 8)
    half_turn = torch.full_like(image, 3.0)
    half_turn[:, 1:4, :4] = image[:, 1:4, :4].flip(1, 2)  # the point at column 1.5 and row 2
    close(card("rotate", image, 180.0, center=(1.5, 2.0), fill=3.0), half_turn)
    row = torch.arange(6.0).reshape(1, 1, 6, 1).expand(1, 1, 6, 8).contiguous()
    between = torch.tensor([3.5, 2.5, 1.5, 0.5, (0.0 + 9.0) / 2, 9.0]).reshape(1, 1, 6, 1).expand_as(row)
    options = {"center": (1.75, 0.0), "fill": 9.0, "interpolation_mode": "bilinear"}
    close(card("rotate", row, 180.0, **options), between)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_samples(card: Card, mode: str, align_corners: bool) -> None:
    image, grid = drawn(2, 5, 7, 32), torch.rand(2, 4, 3, 2, 2, generator=torch.Generator().manual_seed(1)) * 2.4 - 1.2
    channels_first, options = image.permute(0, 3, 1, 2), {"mode": mode, "align_corners": align_corners}
    for padding in ("zeros", "border"):
        expected = F.grid_sample(channels_first, grid.flatten(2, 3), mode, padding, align_corners).permute(0, 2, 3, 1)
        result = card("grid_sample", image, grid.flatten(3), padding_mode=padding, **options)
        close(result, expected)  # two places a point lie beside each other in a row
        result = card(
            "grid_sample", image, grid.flatten(3), padding_mode=padding, batch_output_channels=True, **options
        )
        close(result, expected.reshape(2, 4, 3, 64))


def test_a_grid_is_prepared_for_images_whose_corners_are_aligned(card: Card) -> None:
    ttnn = card.ttnn
    grid = ttnn.from_torch(torch.tensor([[[[0.25, -0.5]]]]))
    row, column = (-0.5 + 1) / 2 * 8, (0.25 + 1) / 2 * 4
    for aligned, place in ((True, (row, column)), (False, (-0.5 * 4.5 + 4, 0.25 * 2.5 + 2))):
        prepared = ttnn.to_torch(ttnn.prepare_grid_sample_grid(grid, [1, 9, 5, 32], align_corners=aligned))
        corner = prepared.flatten()[:2].view(torch.int16).tolist()
        down, right = (each - int(each) for each in place)
        assert corner == [int(each) for each in place]
        weights = [(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right]
        assert prepared.flatten()[2:].tolist() == torch.tensor(weights).bfloat16().tolist()


@pytest.mark.parametrize("size", [[3, 2], 4])
def test_poolings_to_a_size(card: Card, size: Any) -> None:
    rows = drawn(1, 1, 2 * 6 * 9, 8)
    image = rows.reshape(2, 6, 9, 8).permute(0, 3, 1, 2)
    for name, pool in (("avg", F.adaptive_avg_pool2d), ("max", F.adaptive_max_pool2d)):
        pooled = card(f"adaptive_{name}_pool2d", rows, 2, 6, 9, 8, size)
        close(pooled, pool(image, size).permute(0, 2, 3, 1).reshape(1, 1, -1, 8))


@pytest.mark.parametrize("padding_mode", ["zeros", "replicate"])
def test_convolutions_of_volumes(card: Card, padding_mode: str) -> None:
    volume, weight, bias = drawn(2, 4, 5, 6, 8), drawn(6, 4, 2, 3, 1, seed=1), drawn(6, seed=2)
    window = {"stride": [1, 2, 3], "padding": [0, 1, 2], "dilation": [2, 1, 1], "groups": 2}
    result = card(
        "experimental.conv3d",
        input_tensor=volume,
        weight_tensor=weight.permute(2, 3, 4, 1, 0).reshape(-1, 6),
        bias_tensor=bias.reshape(1, 6),
        dtype=card.ttnn.float32,
        output_channels=6,
        kernel_size=[2, 3, 1],
        padding_mode=padding_mode,
        **window,
    )
    layer = torch.nn.Conv3d(8, 6, (2, 3, 1), padding_mode=padding_mode, **window).requires_grad_(requires_grad=False)
    layer.weight.copy_(weight)
    layer.bias.copy_(bias)
    close(result, layer(volume.permute(0, 4, 1, 2, 3)).permute(0, 2, 3, 4, 1))


def test_weights_of_a_volume_become_a_matrix(card: Card) -> None:
    weight = drawn(6, 4, 2, 3, 5)
    matrix = card("experimental.prepare_conv3d_weights", weight_tensor=weight, groups=1)
    close(matrix, weight.permute(2, 3, 4, 1, 0).reshape(-1, 6))


@pytest.mark.parametrize(
    ("factor", "mode", "expected"),
    [
        ([2, 3], "nearest", lambda x: x.repeat_interleave(2, 1).repeat_interleave(3, 2)),
        (2, "nearest", lambda x: x.repeat_interleave(2, 1).repeat_interleave(2, 2)),
        ([1.5, 0.5], "nearest", lambda x: x[:, [0, 0, 1, 2, 2, 3]][:, :, ::2]),
    ],
)
def test_scaled_images(card: Card, factor: Any, mode: str, expected: Any) -> None:
    ttnn, image = card.ttnn, drawn(2, 4, 6, 32)
    source = card.put(image, ttnn.ROW_MAJOR_LAYOUT)
    close(card.back(ttnn.upsample(source, factor, mode=mode)), expected(image))


def test_scaled_images_of_tiles(card: Card) -> None:
    image = drawn(1, 2, 32, 64)
    close(card("upsample", image, [2, 3]), image.repeat_interleave(2, 1).repeat_interleave(3, 2))


def test_images_scaled_by_interpolation(card: Card) -> None:
    ttnn, image = card.ttnn, drawn(2, 4, 6, 32).bfloat16()
    result = card.back(ttnn.upsample(card.put(image, ttnn.ROW_MAJOR_LAYOUT), [2, 3], mode="bilinear"))
    scaled = F.interpolate(image.float().permute(0, 3, 1, 2), scale_factor=(2, 3), mode="bilinear")
    # A bfloat16 has 8 significant bits; weights and results are rounded.
    torch.testing.assert_close(result.float(), scaled.permute(0, 2, 3, 1), rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize("as_images", [False, True])
@pytest.mark.parametrize(("padding", "sides"), [(2, (2, 2)), ((1, 3), (1, 3))])
def test_convolutions_of_one_dimension(card: Card, padding: Any, sides: tuple[int, int], as_images: bool) -> None:
    x, weight, bias = drawn(2, 11, 8), drawn(6, 4, 3, seed=1), drawn(6, seed=2)
    ttnn = card.ttnn
    result, length = ttnn.conv1d(
        input_tensor=card.put(x[:, :, None] if as_images else x, ttnn.ROW_MAJOR_LAYOUT),
        weight_tensor=ttnn.from_torch(weight[..., None] if as_images else weight),
        bias_tensor=ttnn.from_torch(bias.reshape(1, 1, 1, 6)),
        device=card.device,
        in_channels=8,
        out_channels=6,
        batch_size=2,
        input_length=11,
        kernel_size=3,
        stride=2,
        padding=padding,
        dilation=2,
        groups=2,
        return_output_dim=True,
    )
    expected = F.conv1d(F.pad(x.mT, sides), weight, bias, stride=2, dilation=2, groups=2)
    assert length == expected.shape[-1]
    rows = card.back(result).reshape(2, -1, 6)
    # The matrix unit multiplies numbers of 19 bits, of which 11 are significant.
    torch.testing.assert_close(rows, expected.mT, rtol=2**-10, atol=12 * 2**-10)
