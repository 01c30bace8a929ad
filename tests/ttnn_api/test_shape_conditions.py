"""Conditions on shapes, bounds and numbers: what TT-NN's mock mode says of each call, then what to do."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.ttnn_api.test_conditions import put

pytestmark = pytest.mark.quick

__all__ = ["put"]

_SDPA = "ttnn.transformer.scaled_dot_product_attention"
_HEADS = "put((1, 4, 64, 64))"
_CONV = "device=device, in_channels=32, out_channels=64, batch_size=1, input_width=8, kernel_size=(3, 3)"
_BIAS = "bias_tensor=ttnn.from_torch(torch.ones(1, 1, 1, 32))"
_WEIGHT = "weight_tensor=ttnn.from_torch(torch.ones(64, 32, 3, 3))"
_IMAGE = "input_tensor=put((1, 1, 64, 32), layout='ROW_MAJOR')"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            "put((64, 32))[:100]",
            "Ends 128 must be less than or equal to the shape of the tensor 64.*end dimension 0",
        ),
        (
            "put((64, 32), layout='ROW_MAJOR')[:100]",
            "Ends 100 must be less than or equal to the shape of the tensor 64",
        ),
        ("put((64, 32))[70:]", "End 64 must be greater than or equal to start 70"),
        ("put((64, 32))[-70:]", "End 64 must be greater than or equal to start 4294967290"),
        ("put((64, 32))[:-100]", "must be less than or equal to the shape of the tensor 64"),
        ("put((64, 32))[::-1]", r"Steps must be greater than 0, got \[-1, 1\]"),
        ("ttnn.slice(put((64, 32)), [70, 0], [80, 32])", r"Slice start\[0\] \(70\) must be less than .* \(64\)"),
        ("ttnn.from_device(put((64, 32)))[::2]", "Host tensors cannot be accessed with non-unit stride.*to_device"),
        ("ttnn.from_device(put((64, 32)))[:100]", "from 0 to 100 in dimension 0 of size 64"),
        (
            "ttnn.pad(put((1, 1, 64, 32)), [1, 1, 32, 32], [0, 0, 0, 0], 0.0)",
            "Output size cannot fit input with",
        ),
        (
            "ttnn.pad(put((64, 32)), [1, 1, 80, 32], [0, 0, 0, 0], 0.0)",
            r"ShapeBase\[\] index out of range. 2 not in \[-4",
        ),
        ("ttnn.expand(put((2, 32)), [4, 32])", "Only size 1 dimensions can be expanded in the output shape"),
        ("ttnn.expand(put((1, 32)), [32])", "Output rank must be >= input rank for expand"),
        ("ttnn.expand(put((1, 32)), [-1, 1, 32])", r"Leading dimension must be non-negative \(got -1\)"),
        ("ttnn.expand(put((32, 1)), [32, -2])", r"Expand dimension size must be -1 or non-negative \(got -2\)"),
        ("ttnn.unsqueeze(put((64, 32)), 3)", r"expected to be in range of \[-3,2\], but got 3"),
        ("ttnn.unsqueeze(put((64, 32)), -4)", r"expected to be in range of \[-3,2\], but got -4"),
        ("ttnn.stack([put((64, 32))] * 2, 3)", r"expected to be in range of \[-3,2\], but got 3"),
        ("ttnn.stack([], 0)", "Stack expects at least one tensor"),
        ("ttnn.squeeze(put((64, 32)), 2)", r"expected to be in range of \[-2,1\], but got 2"),
        ("ttnn.squeeze(put((1, 1, 64)), [0, -3])", "dim 0 appears multiple times in the list of dims"),
        ("ttnn.unsqueeze_to_4D(put((1, 1, 1, 1, 32)))", "Tensor rank is greater than 4"),
        ("ttnn.repeat_interleave(put((2, 32)), 0, 0)", "expected a non-empty list of Tensors"),
        (
            "ttnn.embedding(put((2, 8), 'uint32'), put((2, 10, 32)))",
            "First two dimensions for the weights must be 1",
        ),
        (
            "ttnn.permute(put((2, 64, 32)), [0, 1])",
            "does not match the length of the desired ordering.*name each",
        ),
        ("ttnn.permute(put((2, 64, 32)), [0, 0, 1])", r"dims \[0, 0, 1\] names a dimension twice.*no kernel writes"),
        ("ttnn.reshape(put((64, 32)), [-1, -1])", r"more than 1 elements that is set to -1! Shape used: \(-1,-1,\)"),
        ("ttnn.reshape(put((64, 32)), [0, -1])", r"0 elements into shape \(0,-1,\) because the unspecified dimension"),
        ("ttnn.topk(put((64, 64)), 500)", "K cannot be larger than the dimension size! K=500, dimension size=64"),
        ("ttnn.chunk(put((64, 64)), 3, 4)", "Invalid dimension for chunk operation, 2 needs to be greater than 4"),
        ("ttnn.chunk(put((64, 64)), 0, 0)", "Number of chunks must be greater than zero"),
        ("ttnn.split(put((64, 64)), 0, 0)", "split_size must be greater than 0, but got: 0"),
        ("ttnn.split(put((64, 64)), [0, 64], 0)", "split_size should be greater than 0, instead got: {0, 64}"),
        ("ttnn.split(put((64, 64)), [], 0)", "split_sizes must not be empty"),
        (f"{_SDPA}(*[put((4, 64, 64))] * 3)", r"ShapeBase\[\] index out of range. 3 not in \[-4, 3\).*\[batch, heads"),
        (f"{_SDPA}({_HEADS}, put((2, 4, 64, 64)), put((2, 4, 64, 64)))", "K and V batch must match. Got K: 2, V: 2"),
        (f"{_SDPA}({_HEADS}, {_HEADS}, put((1, 2, 64, 64)))", "K and V num_heads must match. Got K: 4, V: 2"),
        (f"{_SDPA}({_HEADS}, {_HEADS}, put((1, 4, 32, 64)))", "K and V sequence length must match. Got K: 64, V: 32"),
        (f"{_SDPA}({_HEADS}, {_HEADS}, put((1, 4, 64, 32)))", "K and V hidden dim must match. Got K: 64, V: 32"),
        (f"{_SDPA}({_HEADS}, *[put((1, 3, 64, 64))] * 2)", "Q num_heads must be >= K num_heads.*Got Q: 4, K: 3"),
        (f"{_SDPA}({_HEADS}, *[put((1, 4, 32, 64))] * 2)", "requires Q and K to have the same sequence length"),
        (
            f"{_SDPA}(*[{_HEADS}] * 3, attn_mask={_HEADS})",
            "is_causal and attn_mask cannot both be present.*Pass is_causal",
        ),
        (f"{_SDPA}(*[{_HEADS}] * 3, attn_mask=put((64, 64)), is_causal=False)", "Mask batch dim must either be 1"),
        (
            f"{_SDPA}(*[{_HEADS}] * 3, attn_mask=put((1, 2, 64, 64)), is_causal=False)",
            "Mask num_heads must either be",
        ),
        (f"{_SDPA}(*[{_HEADS}] * 3, attn_mask=put((1, 1, 1, 64)), is_causal=False)", "length must match Q sequence"),
        (f"{_SDPA}(*[{_HEADS}] * 3, attn_mask=put((1, 1, 64, 32)), is_causal=False)", "length must match K sequence"),
        (
            f"{_SDPA}(put((1, 4, 32, 64)), *[{_HEADS}] * 2, attn_mask=put((1, 1, 64, 64)), is_causal=False)",
            "length must match Q sequence length.*The mask has shape",
        ),
        ("ttnn.transformer.concatenate_heads(put((4, 64, 64)))", "Input tensor must have rank 4. Shape: Shape"),
        (
            "ttnn.experimental.nlp_concat_heads(put((4, 64, 64)))",
            r"ShapeBase\[\] index out of range. 3 not in \[-4, 3\)",
        ),
        (
            "ttnn.experimental.nlp_create_qkv_heads(put((1, 2, 64, 96)), num_heads=1)",
            "length 2 is not equal to 1",
        ),
        (
            "ttnn.upsample(put((4, 4, 32), layout='ROW_MAJOR'), 2)",
            r"ShapeBase\[\] index out of range. 3 .*\[N, H, W",
        ),
        ("ttnn.upsample(put((1, 4, 4, 32), layout='ROW_MAJOR'), 0)", "scale_factor_h must be positive, got 0"),
        (
            "ttnn.upsample(put((1, 4, 4, 32), layout='ROW_MAJOR'), 2, mode='cubic')",
            "mode must be 'nearest' or",
        ),
        (
            "ttnn.upsample(put((1, 4, 4, 32)), 1.5, mode='bilinear')",
            r"integer scale factors, got \(1.5, 1.5\)",
        ),
        (
            "pooled((1, 1, 64, 32), (8, 8, 32), padding=[2, 2])",
            r"Padding \(2, 2, 2\) should not exceed half",
        ),
        ("pooled((1, 1, 64, 32), (8, 8, 32), dilation=[0, 1])", r"Dilation must be greater than 0 .* got \(0, 1\)"),
        ("pooled((1, 1, 64, 32), (8, 8, 32), stride=[0, 2])", r"stride \[0, 2\] must be greater than 0"),
        ("pooled((1, 1, 64, 32), (9, 8, 32))", "fewer rows than its images.*have 72 rows"),
        ("pooled((1, 1, 64, 32), (8, 8, 16))", r"reshape between two shapes with different volumes.* \[1, 8, 8, 16\]"),
        ("pooled((64, 32), (8, 8, 32))", "batch_size and channels must be 1, got batch_size=1, channels=32"),
        ("pooled((1, 64, 32), (8, 8, 32))", "dimensions must match: input_h=8, input_w=8, channels=32"),
        ("ttnn.global_avg_pool2d(put((1, 1, 8, 8, 32)))", "expects rank 2, 3, or 4 input, got rank 5"),
        (f"ttnn.conv2d({_IMAGE}, {_WEIGHT}, input_height=9, {_CONV})", "MeshBuffer must be large enough.*have 72 rows"),
        (f"ttnn.conv2d({_IMAGE}, {_WEIGHT}, input_height=8, stride=(0, 0), {_CONV})", "stride must be greater than 0"),
        (
            f"ttnn.conv2d({_IMAGE}, {_WEIGHT}, {_BIAS}, input_height=8, {_CONV})",
            "Bias must have the same length as output channels",
        ),
        (
            f"ttnn.conv2d({_IMAGE}, weight_tensor=ttnn.from_torch(torch.ones(64, 16, 3, 3)), input_height=8, {_CONV})",
            r"Invalid weight shape. Incorrect weight tensor.* make them \[64, 32, 3, 3\]",
        ),
        (
            "ttnn.create_sharded_memory_config((1, 1, 64, 32), ttnn.CoreGrid(y=1, x=3), ttnn.ShardStrategy.HEIGHT)",
            "Invalid sharding core_grid. Choose as many cores as divide 64; 3 do not",
        ),
        (
            "ttnn.create_sharded_memory_config((1, 1, 64, 32), ttnn.CoreGrid(y=1, x=2), 'height')",
            "Invalid sharding strategy. Pass ttnn.ShardStrategy.HEIGHT",
        ),
        (
            "ttnn.Tensor([1, 2, 3], [4], ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT)",
            "Buffer size 3 differs from shape",
        ),
    ],
)
def test_shapes_and_bounds_are_refused_in_tt_nns_words(ttnn: Any, put: Any, device: Any, call: str, words: str) -> None:
    def pooled(shape: tuple[int, ...], images: tuple[int, int, int], **window: Any) -> Any:
        sizes = {"kernel_size": [2, 2], "stride": [2, 2], "padding": [0, 0], "dilation": [1, 1]} | window
        return ttnn.max_pool2d(put(shape, layout="ROW_MAJOR"), 1, *images, **sizes)

    with pytest.raises(RuntimeError, match=words):
        eval(call, {"ttnn": ttnn, "put": put, "torch": torch, "device": device, "pooled": pooled})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("ttnn.pad(put((64, 32)), [(0, -1), (0, 0)], 0.0)", "padding must not be negative"),
        ("ttnn.pad(put((64, 32)), [(0, 0), (1,)], 0.0)", "padding must have two numbers for each dimension"),
        ("ttnn.pad(put((64, 32)), [80, 32], [0, 0], 0.0)", "must have four numbers each"),
        ("ttnn.topk(put((64, 64)), -1)", "k must not be negative, got -1"),
        ("ttnn.chunk(put((64, 64)), -1, 0)", "chunks must not be negative, got -1"),
        ("ttnn.repeat(put((2, 32)), [-1, 1])", "repeat_dims must not be negative"),
        ("ttnn.upsample(put((1, 4, 4, 32), layout='ROW_MAJOR'), [2])", "scale_factor must have two numbers"),
        ("ttnn.Tensor([1, 2, 3])", "Pass numbers with shape, data_type and layout, or use ttnn.from_torch"),
        ("ttnn.Tensor()", "Pass numbers with shape, data_type and layout"),
        ("ttnn.Tensor([[1, 2], [3, 4]], [2, 2], ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT)", "a flat sequence of numbers"),
    ],
)
def test_numbers_that_no_overload_takes(ttnn: Any, put: Any, call: str, words: str) -> None:
    with pytest.raises(TypeError, match=rf"(?s)incompatible function arguments.*{words}"):
        eval(call, {"ttnn": ttnn, "put": put})


@pytest.mark.parametrize("index", [None, "a", 1.5, (0, None)])
def test_an_index_is_a_number_or_a_slice(put: Any, index: Any) -> None:
    with pytest.raises(TypeError, match=r"Invalid slice type: .*Use numbers, slices"):
        put((64, 32))[index]


def test_a_slice_has_one_ellipsis(put: Any) -> None:
    with pytest.raises(ValueError, match="Only one ellipsis"):
        put((64, 32))[..., ...]


def test_a_slice_of_tiles_may_hold_their_padding(ttnn: Any, put: Any) -> None:
    values = torch.arange(50.0 * 30).reshape(50, 30) / 16
    taken = ttnn.to_torch(put(values, "float32")[:60])
    assert taken.shape == (60, 30)
    assert torch.equal(taken[:50], values)
    assert not taken[50:].any()


def test_images_may_be_fewer_than_the_rows_of_a_tensor(ttnn: Any, put: Any, device: Any) -> None:
    """TT-NN reads the first rows."""
    rows = torch.arange(64.0 * 32).reshape(1, 1, 64, 32) % 97
    images = put(rows, layout="ROW_MAJOR")
    window = {"kernel_size": [2, 2], "stride": [2, 2], "padding": [0, 0]}
    pooled = ttnn.to_torch(ttnn.max_pool2d(images, 1, 6, 8, 32, dilation=[1, 1], **window))
    first = rows[0, 0, :48].reshape(1, 6, 8, 32).permute(0, 3, 1, 2)
    expected = torch.nn.functional.max_pool2d(first, 2).permute(0, 2, 3, 1).reshape(1, 1, 12, 32)
    assert torch.equal(pooled.float(), expected)
    weight = ttnn.from_torch(torch.ones(64, 32, 1, 1))
    sizes = {"in_channels": 32, "out_channels": 64, "batch_size": 1, "input_height": 6, "input_width": 8}
    summed = ttnn.conv2d(input_tensor=images, weight_tensor=weight, device=device, kernel_size=(1, 1), **sizes)
    assert summed.shape == [1, 1, 48, 64]


def test_means_of_images_of_fewer_dimensions(ttnn: Any, put: Any) -> None:
    image = torch.arange(8.0 * 4 * 32).reshape(8, 4, 32) % 16
    mean = ttnn.to_torch(ttnn.global_avg_pool2d(put(image)))
    torch.testing.assert_close(mean.float(), image.mean((0, 1)).reshape(1, 1, 1, 32), rtol=0.01, atol=0.01)
    assert ttnn.global_avg_pool2d(put((64, 32))).shape == [1, 1, 1, 1]
