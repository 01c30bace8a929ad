"""Images, volumes and deformable attention of hand-written TT-NN agree with PyTorch, for each optional argument."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.registry import find

pytestmark = pytest.mark.quick

Tensor = torch.Tensor


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def call(op: str, *operands: Any, **attributes: Any) -> Any:
    return find(f"ttnn.{op}").function(None, *operands, **attributes)


def close(actual: Any, expected: Any, **tolerance: float) -> None:
    torch.testing.assert_close(actual, expected, **{"rtol": 1e-5, "atol": 1e-6, **tolerance})


IMAGES = numbers(2, 5, 7, 3)
"""[N, H, W, C]"""
BY_CHANNEL = IMAGES.permute(0, 3, 1, 2)


@pytest.mark.parametrize("size", [2, (3, 4)])
def test_pooling_to_a_size(size: Any) -> None:
    rows = IMAGES.reshape(1, 1, 70, 3)
    for op, pool in (("avg", F.adaptive_avg_pool2d), ("max", F.adaptive_max_pool2d)):
        expected = pool(BY_CHANNEL, size).permute(0, 2, 3, 1).reshape(1, 1, -1, 3)
        close(call(f"adaptive_{op}_pool2d", rows, 2, 5, 7, 3, size), expected)


GRID = numbers(2, 4, 3, 2, seed=1) * 0.8


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border"])
def test_samples_of_images(mode: str, corners: bool, padding: str) -> None:
    expected = F.grid_sample(BY_CHANNEL, GRID, mode, padding, corners).permute(0, 2, 3, 1)
    close(call("grid_sample", IMAGES, GRID, mode, padding, corners), expected)
    if padding == "zeros":
        prepared = call("prepare_grid_sample_grid", GRID, list(IMAGES.shape), mode, corners)
        result = call("grid_sample", IMAGES, prepared, mode, use_precomputed_grid=True)
        close(result, expected, rtol=2**-6, atol=2**-6)


def test_several_places_for_a_point() -> None:
    pairs = GRID.reshape(2, 4, 1, 6)
    expected = F.grid_sample(BY_CHANNEL, GRID, align_corners=False).permute(0, 2, 3, 1)
    close(call("grid_sample", IMAGES, pairs), expected)
    close(call("grid_sample", IMAGES, pairs, batch_output_channels=True), expected.reshape(2, 4, 1, 9))
    close(call("grid_sample", IMAGES, GRID, batch_output_channels=True), expected)
    prepared = call("prepare_grid_sample_grid", GRID, list(IMAGES.shape)).to("meta")
    assert call("grid_sample", IMAGES.to("meta"), prepared, use_precomputed_grid=True).shape == (2, 4, 3, 3)


def test_samples_by_default() -> None:
    expected = F.grid_sample(BY_CHANNEL, GRID, align_corners=False).permute(0, 2, 3, 1)
    close(call("grid_sample", IMAGES, GRID), expected)


def test_turned_images() -> None:
    square = numbers(1, 4, 4, 2)
    close(call("rotate", square, 90.0), square.rot90(1, (1, 2)))
    close(call("rotate", IMAGES, 180.0), IMAGES.flip(1, 2))
    around = call("rotate", square, 90.0, center=(1.0, 1.0), fill=5.0)
    close(around[:, :3, :3], square[:, :3, :3].rot90(1, (1, 2)))
    close(around[:, 3, :3], square[:, :3, 3].new_full((1, 3, 2), 5.0))
    diagonal = torch.zeros(1, 3, 3, 1)
    diagonal[0, 0, 1] = 1
    turned = call("rotate", diagonal, 45.0, interpolation_mode="bilinear")[0, :, :, 0]
    assert (turned[0, 0] > turned[1, 0], turned[0, 2] < 0.01) == (True, True)
    assert call("rotate", IMAGES.to("meta"), 30.0).shape == IMAGES.shape


@pytest.mark.parametrize(
    ("attributes", "padded"),
    [
        ({}, {}),
        ({"stride": (2, 1, 1), "padding": (1, 0, 2), "dilation": (1, 2, 1)}, None),
        ({"padding": (1, 0, 2), "padding_mode": "replicate"}, {"mode": "replicate"}),
        ({"groups": 2}, {}),
    ],
)
def test_convolutions_of_volumes(attributes: dict[str, Any], padded: Any) -> None:
    volume, groups = numbers(1, 4, 5, 6, 4), attributes.get("groups", 1)
    kernel = numbers(6, 4 // groups, 2, 3, 2, seed=1)
    rows = F.pad(kernel.permute(2, 3, 4, 1, 0).reshape(-1, 6), (0, 2, 0, 5))
    bias = numbers(1, 8, seed=2)
    image, window = volume.permute(0, 4, 1, 2, 3), {key: attributes[key] for key in attributes if key != "padding_mode"}
    if "padding_mode" in attributes:
        image = F.pad(image, (2, 2, 0, 0, 1, 1), **padded)
        del window["padding"]
    for shift in (None, bias):
        expected = F.conv3d(image, kernel, None if shift is None else shift[0, :6], **window)
        result = call("experimental.conv3d", volume, rows, 6, (2, 3, 2), **attributes, bias_tensor=shift)
        close(result, expected.permute(0, 2, 3, 4, 1), rtol=1e-4, atol=1e-5)


def test_colours() -> None:
    matrix = ((0.5, 0.25, 0.125, 16.0), (-0.5, 0.0, 0.25, 128.0), (1.0, -0.75, 0.0, 300.0))
    red, green, blue = planes = numbers(3, 4, 6, 1) * 40
    luma, first, second = call("rgb_to_yuv", planes, matrix)
    close(luma, (0.5 * red + 0.25 * green + 0.125 * blue + 16).round().clamp(0, 255)[None])
    halved = [each.unfold(0, 2, 2).unfold(1, 2, 2).mean((-1, -2)) for each in (red, green, blue)]
    close(first, (-0.5 * halved[0] + 0.25 * halved[2] + 128).round().clamp(0, 255)[None])
    close(second, (halved[0] - 0.75 * halved[1] + 300).round().clamp(0, 255)[None])
    wide = call("rgb_to_yuv", planes, matrix, wide_rows=True)
    assert [each.shape for each in wide] == [(1, 4, 6), (1, 2, 3), (1, 2, 3)]


@pytest.mark.parametrize("corners", [False, True])
def test_deformable_attention(corners: bool) -> None:
    """Two maps of 3 x 4 and 2 x 5, two heads, four points for each of three queries."""
    shapes, heads = [(3, 4), (2, 5)], 2
    value, places = numbers(1, 22, heads, 6), torch.rand(1, 3, heads, 2, 4, 2, generator=seeded(3))
    weights = torch.rand(1, 3, heads, 2, 4, generator=seeded(4))
    expected = torch.zeros(1, 3, heads, 6)
    for head in range(heads):
        for level, (rows, columns) in enumerate(shapes):
            part = value[:, :12, head] if level == 0 else value[:, 12:, head]
            image = part.reshape(1, rows, columns, 6).permute(0, 3, 1, 2)
            samples = F.grid_sample(image, 2 * places[:, :, head, level] - 1, align_corners=corners)
            expected[:, :, head] += (samples.permute(0, 2, 3, 1) * weights[:, :, head, level, :, None]).sum(2)
    expected = expected.flatten(2)
    op = "experimental.fused_msda"
    close(call(op, value, places, weights, shapes, corners), expected)
    close(call(op, value, 2 * places - 1, weights, shapes, corners, locations_in_grid_space=True), expected)
    reference = torch.rand(1, 3, 2, 2, generator=seeded(5))
    sizes = torch.tensor([[columns - corners, rows - corners] for rows, columns in shapes])
    for mode, points in (
        ("level", reference[:, :, None, :, None]),
        ("pillar", reference.repeat(1, 1, 2, 1)[:, :, None, None]),
    ):
        offsets = (places - points) * sizes[:, None]
        by_offsets = call(f"{op}_from_offsets", value, reference, offsets, weights, shapes, mode, corners)
        close(by_offsets, expected, rtol=1e-4, atol=1e-5)
    image, grid, share = IMAGES, GRID.reshape(2, 12, 1, 2), torch.rand(2, 4, 3, generator=seeded(6))
    samples = F.grid_sample(BY_CHANNEL, GRID, align_corners=corners).permute(0, 2, 3, 1)
    one_map = call("experimental.multi_scale_deformable_attn", image, grid, share, corners)
    close(one_map, (samples * share[..., None]).sum(2))
    if not corners:
        close(call("experimental.multi_scale_deformable_attn", image, grid, share), one_map)
        close(call(op, value, places, weights, shapes), expected)
        close(call(f"{op}_from_offsets", value, reference, offsets, weights, shapes, "pillar"), by_offsets)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
