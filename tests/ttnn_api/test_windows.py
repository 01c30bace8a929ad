"""Where results of convolutions and poolings lie, as TT-NN 0.81 puts them in its mock mode on p150."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import ttnn

from conformance.ttnn_run_calls import shown, tensor_on

pytestmark = pytest.mark.quick

HEIGHT = ttnn.TensorMemoryLayout.HEIGHT_SHARDED
WIDTH = ttnn.TensorMemoryLayout.WIDTH_SHARDED
BLOCK = ttnn.TensorMemoryLayout.BLOCK_SHARDED


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    opened = ttnn.open_device(device_id=0, l1_small_size=65536)
    yield opened
    ttnn.close_device(opened)


def convolve(
    device: Any,
    source: str,
    images: tuple[int, int, int],
    channels: tuple[int, int],
    window: tuple[int, int, int],
    *,
    transposed: bool = False,
    dilation: int = 1,
    config: Any = None,
    weight: Any = None,
    **options: Any,
) -> Any:
    """Calls a convolution of ``images`` (number, height, width) by a window (size, stride, padding)."""
    dtype, layout, memory = source.split()
    batch, height, width = images
    inputs, outputs = channels
    size, stride, padding = window
    tensor = tensor_on(device)
    shape = (inputs, outputs, size, size) if transposed else (outputs, inputs, size, size)
    function = ttnn.conv_transpose2d if transposed else ttnn.conv2d
    return function(
        input_tensor=tensor((1, 1, batch * height * width, inputs), dtype, layout, memory),
        weight_tensor=tensor(shape, "float32", "row_major", "host") if weight is None else weight,
        device=device,
        in_channels=inputs,
        out_channels=outputs,
        batch_size=batch,
        input_height=height,
        input_width=width,
        kernel_size=(size, size),
        stride=(stride, stride),
        padding=(padding, padding),
        dilation=(dilation, dilation),
        conv_config=config,
        **options,
    )


@pytest.mark.parametrize(
    ("source", "images", "channels", "window", "options", "memory"),
    [
        ("bfloat16 row_major height", (1, 32, 10), (32, 8), (3, 2, 0), {}, "HEIGHT_SHARDED [32, 32] on (0, 0)-(7, 0)"),
        (
            *("float32 tile l1", (4, 32, 10), (8, 8), (3, 1, 1), {"dilation": 2}),
            "HEIGHT_SHARDED [32, 32] on (0, 0)-(10, 1) (0, 2)-(7, 2)",
        ),
        (
            *("float32 tile l1", (1, 16, 16), (32, 512), (1, 2, 0), {"config": {"transpose_shards": True}}),
            "BLOCK_SHARDED [32, 64] on (0, 0)-(1, 7)",
        ),
        ("bfloat8_b tile l1", (1, 8, 8), (128, 32), (1, 2, 0), {}, "WIDTH_SHARDED [32, 32] on (0, 0)-(0, 0)"),
        (
            "bfloat16 row_major l1",
            (2, 7, 7),
            (24, 256),
            (2, 2, 1),
            {"dilation": 2},
            "WIDTH_SHARDED [32, 32] on (0, 0)-(7, 0)",
        ),
        ("bfloat8_b tile block", (1, 16, 16), (24, 16), (7, 1, 0), {}, "BLOCK_SHARDED [32, 32] on (0, 0)-(0, 7)"),
        (
            *("bfloat8_b tile dram", (1, 28, 28), (8, 64), (1, 1, 0), {"config": {"shard_layout": BLOCK}}),
            "BLOCK_SHARDED [96, 64] on (0, 0)-(0, 8)",
        ),
        ("bfloat16 row_major l1", (2, 16, 16), (32, 64), (1, 1, 0), {}, "DRAM"),
        ("bfloat16 tile dram", (2, 16, 16), (32, 64), (3, 1, 1), {}, "DRAM"),
        (
            *("float32 tile width", (1, 14, 14), (64, 16), (1, 1, 1), {"transposed": True}),
            "WIDTH_SHARDED [160, 32] on (0, 0)-(0, 0)",
        ),
        (
            *("bfloat16 row_major l1", (2, 14, 14), (3, 64), (5, 1, 2), {"transposed": True}),
            "HEIGHT_SHARDED [32, 64] on (0, 0)-(10, 0) (0, 1)-(1, 1)",
        ),
        (
            *("float32 tile l1", (1, 7, 7), (320, 64), (2, 2, 1), {"transposed": True}),
            "BLOCK_SHARDED [32, 32] on (0, 0)-(1, 4)",
        ),
        (
            *("bfloat8_b tile block", (1, 32, 10), (24, 16), (3, 2, 1)),
            {"transposed": True, "config": {"shard_layout": WIDTH, "reshard_if_not_optimal": True}},
            "WIDTH_SHARDED [1216, 32] on (0, 0)-(0, 0)",
        ),
    ],
)
def test_results_of_convolutions(
    device: Any,
    source: str,
    images: tuple[int, int, int],
    channels: tuple[int, int],
    window: tuple[int, int, int],
    options: dict[str, Any],
    memory: str,
) -> None:
    config = options.pop("config", None)
    result = convolve(
        device, source, images, channels, window, config=config and ttnn.Conv2dConfig(**config), **options
    )
    assert shown(result).endswith(memory)


@pytest.mark.parametrize(
    ("source", "call", "memory"),
    [
        (
            "bfloat8_b tile block",
            "max_pool2d(x, 1, 7, 7, 640, [3, 3], [2, 2], [1, 1], [1, 1])",
            "[8, 128] on (0, 0)-(4, 1)",
        ),
        (
            "bfloat16 tile height",
            "max_pool2d(x, 1, 28, 10, 16, [3, 3], [1, 1], [1, 1], [1, 1])",
            "[94, 16] on (0, 0)-(2, 0)",
        ),
        (
            "bfloat16 row_major dram",
            "avg_pool2d(x, 1, 56, 16, 128, [5, 5], [1, 1], [1, 1])",
            "[76, 32] on (0, 0)-(3, 9)",
        ),
        ("bfloat16 row_major l1", "avg_pool2d(x, 1, 8, 8, 64, [7, 7], [2, 2], [0, 0])", "[1, 16] on (0, 0)-(3, 0)"),
        (
            "bfloat16 tile l1",
            "max_pool2d(x, 2, 8, 8, 96, [1, 1], [1, 1], [0, 0], [1, 1], output_layout=ttnn.TILE_LAYOUT)",
            "[32, 32] on (0, 0)-(2, 3)",
        ),
        (
            "bfloat16 row_major l1",
            "avg_pool2d(x, 1, 8, 8, 24, [3, 3], [2, 2], [1, 1], applied_shard_scheme=BLOCK)",
            "[2, 32] on (0, 0)-(0, 7)",
        ),
    ],
)
def test_results_of_poolings(device: Any, source: str, call: str, memory: str) -> None:
    batch, height, width, channels = map(int, call.split(", ")[1:5])
    x = tensor_on(device)((1, 1, batch * height * width, channels), *source.split())
    assert shown(eval(f"ttnn.{call}", {"ttnn": ttnn, "x": x, "BLOCK": BLOCK})).endswith(memory)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("stored", [None, ttnn.bfloat16, ttnn.bfloat8_b])
def test_prepared_weights_come_back(device: Any, stored: Any, transposed: bool) -> None:
    config = None if stored is None else ttnn.Conv2dConfig(weights_dtype=stored)
    bias = tensor_on(device)((1, 1, 1, 64), "float32", "row_major", "host")
    sizes: Any = ("bfloat16 tile dram", (1, 8, 8), (32, 64), (3, 1, 1))
    options = {"transposed": transposed, "config": config}
    plain = convolve(device, *sizes, bias_tensor=bias, **options)
    first, (height, width), (weight, prepared) = convolve(
        device, *sizes, bias_tensor=bias, **options, return_output_dim=True, return_weights_and_bias=True
    )
    assert (height, width) == (8, 8)
    assert list(weight.shape) == [1, 1, 9 * 32, 64]
    expected = ttnn.float32 if stored is None else stored
    assert weight.dtype == expected
    second, (again, _) = convolve(
        device, *sizes, weight=weight, bias_tensor=prepared, **options, return_weights_and_bias=True
    )
    assert again is weight
    for each in (first, second):
        torch.testing.assert_close(ttnn.to_torch(each), ttnn.to_torch(plain), rtol=0, atol=0)


@pytest.mark.parametrize(("memory", "kept"), [("l1", False), ("dram", True)])
def test_deallocated_activations(device: Any, memory: str, kept: bool) -> None:
    x = tensor_on(device)((1, 1, 64, 32), "bfloat16", "tile", memory)
    sizes: dict[str, Any] = {
        "in_channels": 32,
        "out_channels": 32,
        "batch_size": 1,
        "input_height": 8,
        "input_width": 8,
    }
    weight = tensor_on(device)((32, 32, 3, 3), "float32", "row_major", "host")
    config = ttnn.Conv2dConfig(deallocate_activation=True)
    options = {"device": device, "kernel_size": (3, 3), "padding": (1, 1), "conv_config": config}
    ttnn.conv2d(input_tensor=x, weight_tensor=weight, **sizes, **options)
    assert x.is_allocated() is kept


@pytest.mark.parametrize(
    ("source", "window", "config", "words"),
    [
        ("bfloat8_b tile l1", (3, 1, 1), {"output_layout": ttnn.ROW_MAJOR_LAYOUT}, "can't be in Row Major"),
        ("bfloat16 tile width", (1, 1, 0), {}, "Unsupported memory layout TensorMemoryLayout::WIDTH_SHARDED"),
        ("bfloat16 row_major height", (1, 1, 0), {}, "but got TensorMemoryLayout::INTERLEAVED"),
        ("bfloat16 tile l1", (7, 3, 0), {"act_block_h_override": 64}, "output block size 2 exceeds the per-core"),
        ("bfloat16 tile height", (3, 1, 1), {"override_sharding_config": True}, "core_grid must be set as well"),
        ("bfloat16 tile dram", (3, 1, 1), {"padding_mode": ttnn.PaddingMode.Replicate}, "pads images of convolutions"),
        ("float32 tile l1", (7, 1, 3), {"shard_layout": WIDTH}, "which is beyond max L1 size of 1572864 B"),
    ],
)
def test_refused_configs(
    device: Any, source: str, window: tuple[int, int, int], config: dict[str, Any], words: str
) -> None:
    height = 64 if "beyond" in words else 8
    with pytest.raises(RuntimeError) as refused:
        convolve(device, source, (1, height, 8), (32, 64), window, config=ttnn.Conv2dConfig(**config))
    assert words in str(refused.value)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("kind", [ttnn.Op2DDRAMSliceHeight, ttnn.Op2DDRAMSliceWidth])
def test_slices_of_convolutions(device: Any, kind: Any, transposed: bool) -> None:
    """Slices have the values of the whole and go to DRAM; TT-NN cuts widths at tiles and reads DRAM only."""
    name = "dram_slice_config" if transposed else "slice_config"
    sizes: Any = ((1, 40, 40), (8, 16), (3, 1, 1))

    def sliced(count: int, source: str = "bfloat16 row_major dram", **options: Any) -> Any:
        slices = ttnn.Op2DSliceConfig(slice_type=kind, num_slices=count)
        return convolve(device, source, *sizes, transposed=transposed, **{name: slices}, **options)

    whole = convolve(device, "bfloat16 row_major l1", *sizes, transposed=transposed)
    assert whole.memory_config().buffer_type is ttnn.BufferType.L1
    result = sliced(2, memory_config=ttnn.L1_MEMORY_CONFIG)
    assert shown(result).endswith("DRAM")
    assert torch.equal(ttnn.to_torch(result), ttnn.to_torch(whole))
    rows = ttnn.Conv2dConfig(output_layout=ttnn.ROW_MAJOR_LAYOUT)
    assert [sliced(count, config=rows).layout for count in (1, 2)] == [ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT]
    most = 40 if kind is ttnn.Op2DDRAMSliceHeight else 2
    assert shown(sliced(most)).endswith("DRAM")
    with pytest.raises(RuntimeError, match=rf"Number of slices \({most + 1}\) exceeds the maximum allowed \({most}\)"):
        sliced(most + 1)
    with pytest.raises(RuntimeError, match=r"Conv DRAM expects the input tensor to be in DRAM\."):
        sliced(2, "bfloat16 row_major l1")


@pytest.mark.parametrize("kind", [ttnn.Op2DDRAMSliceHeight, ttnn.Op2DDRAMSliceWidth])
def test_slices_of_poolings(device: Any, kind: Any) -> None:
    """A pooling in slices returns images in DRAM; one whose input lies in L1 is not cut."""

    def pooled(count: int, memory: str = "dram", **options: Any) -> Any:
        slices = ttnn.Op2DSliceConfig(slice_type=kind, num_slices=count)
        x = tensor_on(device)((1, 1, 2 * 32 * 32, 16), "bfloat16", "row_major", memory)
        window = ([3, 3], [2, 2], [1, 1], [1, 1])
        return ttnn.max_pool2d(x, 2, 32, 32, 16, *window, dram_slice_config=slices, **options)

    whole, result = pooled(8, "l1"), pooled(8, memory_config=ttnn.L1_MEMORY_CONFIG)
    assert whole.memory_config().is_sharded()
    assert pooled(1).memory_config().is_sharded()
    assert pooled(8, return_indices=True)[0].memory_config().is_sharded()
    assert (tuple(result.shape), result.memory_config()) == ((2, 16, 16, 16), ttnn.DRAM_MEMORY_CONFIG)
    assert torch.equal(ttnn.to_torch(result).reshape(1, 1, -1, 16), ttnn.to_torch(whole))
    with pytest.raises(RuntimeError, match=r"smallest input slice \(size=2\) .* effective kernel size \(3\)"):
        pooled(11)


def test_weights_along_one_dimension_are_prepared(ttnn: Any, device: Any) -> None:
    weight = ttnn.from_torch(torch.rand(32, 16, 3), dtype=ttnn.bfloat16)
    sizes = {"in_channels": 16, "out_channels": 32, "batch_size": 1, "input_height": 64, "input_width": 1, "groups": 1}
    window = {"kernel_size": (3, 1), "stride": (1, 1), "padding": (1, 0), "dilation": (1, 1), "has_bias": False}
    prepared = ttnn.prepare_conv_weights(
        weight_tensor=weight,
        input_memory_config=ttnn.DRAM_MEMORY_CONFIG,
        input_layout=ttnn.ROW_MAJOR_LAYOUT,
        weights_format="OIHW",
        device=device,
        input_dtype=ttnn.bfloat16,
        **sizes,
        **window,
    )
    assert prepared.shape == [1, 1, 48, 32]
