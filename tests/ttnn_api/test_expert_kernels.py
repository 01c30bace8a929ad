"""Routers, products with the weights of chosen experts, deformable attention, and other kernels, beside torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.closeness import relative_error
from tests.ttnn_api.conftest import Card, close, drawn

pytestmark = pytest.mark.quick

OF_64_PRODUCTS = {"rtol": 0, "atol": 64 * 0.64 * 2**-9}
"""Errors of a sum of 64 products whose size is 0.64 on average, as of normal numbers: the matrix unit cuts both factors
to 11 significant bits, so that a product lacks up to 2^-9 of itself."""


def product_config(ttnn: Any) -> Any:
    blocks = {"in0_block_w": 1, "out_subblock_h": 1, "out_subblock_w": 1, "per_core_M": 1, "per_core_N": 1}
    options = {"fuse_batch": False, "fused_activation": None, "mcast_in0": True}
    kind = ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig
    return kind(compute_with_storage_grid_size=(2, 1), **blocks, **options)


@pytest.fixture
def sparse(card: Card) -> Any:
    """Returns a function that multiplies where a mask is not 0."""

    def multiply(a: torch.Tensor, b: torch.Tensor, mask: torch.Tensor, **options: Any) -> Any:
        ttnn = card.ttnn
        rows = ttnn.from_torch(mask, dtype=ttnn.bfloat16, device=card.device)
        config = product_config(ttnn)
        result = ttnn.sparse_matmul(card.put(a), card.put(b), sparsity=rows, program_config=config, **options)
        return card.back(result)

    return multiply


def test_products_of_chosen_experts(sparse: Any) -> None:
    a, b = drawn(1, 4, 32, 64), drawn(1, 8, 64, 32, seed=1)
    mask = (drawn(1, 4, 1, 8, seed=2) > 0).float()
    result = sparse(a, b, mask)
    expected = torch.einsum("xbmk,ekn->xbemn", a, b[0]).unsqueeze(2) * mask[..., None, None]
    assert result.shape == (1, 4, 1, 8, 32, 32)
    torch.testing.assert_close(result, expected, **OF_64_PRODUCTS)
    assert torch.equal(result == 0, (expected == 0))


def test_products_of_rows_that_belong_to_experts(sparse: Any) -> None:
    a, b = drawn(3, 8, 32, 64), drawn(1, 8, 64, 32, seed=1)
    mask = (drawn(1, 1, 3, 8, seed=2) > 0).float()
    result = sparse(a, b, mask, is_input_a_sparse=True, is_input_b_sparse=False)
    torch.testing.assert_close(result, a @ b * mask[0, 0, ..., None, None], **OF_64_PRODUCTS)


def test_packed_products(card: Card, sparse: Any) -> None:
    a, b = drawn(1, 2, 32, 64), drawn(1, 4, 64, 32, seed=1)
    mask = torch.tensor([[[[0.0, 1, 0, 0]], [[1.0, 0, 0, 2]]]])
    output = card.put(torch.zeros(1, 3, 32, 32))
    result = sparse(a, b, mask, nnz=3, optional_output_tensor=output)
    expected = torch.stack([a[0, 0] @ b[0, 1], a[0, 1] @ b[0, 0], a[0, 1] @ b[0, 3]]).unsqueeze(0)
    torch.testing.assert_close(result, expected, **OF_64_PRODUCTS)


def test_products_of_listed_experts(card: Card, sparse: Any) -> None:
    ttnn = card.ttnn
    a, b, bias = drawn(1, 1, 32, 64), drawn(1, 8, 64, 32, seed=1), drawn(8, 32, 32, seed=2)
    indices = ttnn.from_torch(torch.tensor([[5, 2]], dtype=torch.int32), dtype=ttnn.uint16, device=card.device)
    result = sparse(a, b, torch.ones(1, 1, 1, 8), indices=indices, bias=card.put(bias))
    expected = torch.stack([a[0, 0] @ b[0, expert] + bias[expert, :1] for expert in (5, 2)])
    torch.testing.assert_close(result.reshape(2, 32, 32), expected, **OF_64_PRODUCTS)


def test_routers(card: Card) -> None:
    x, weight, bias = drawn(32, 64), drawn(64, 128, seed=1), drawn(32, 128, seed=2)
    experts, weights = card("experimental.topk_router_gpt", x, weight_tensor=weight, bias_tensor=bias)
    values, expected = torch.topk(x @ weight + bias, 4, -1)
    assert torch.equal(experts.long(), expected)
    torch.testing.assert_close(weights.float(), torch.softmax(values, -1), rtol=1e-2, atol=1e-2)


def test_groups_of_experts_are_chosen_first(card: Card) -> None:
    scores, bias = drawn(1, 1, 32, 256), 0.1 * drawn(1, 1, 32, 256, seed=1)
    weights, experts = card("experimental.deepseek_grouped_gate", scores, bias, route_scale=2.5)
    gates = torch.sigmoid(scores[0, 0])
    biased = (gates + bias[0, 0]).reshape(32, 8, 32)
    best = biased.topk(2, -1).values.sum(-1).topk(4, -1).indices
    for row in range(32):
        inside = torch.full((8, 32), -torch.inf)
        inside[best[row]] = biased[row, best[row]]
        expected = inside.flatten().topk(8).indices
        assert torch.equal(experts[0, 0, row].long(), expected)
        share = gates[row, expected] / gates[row, expected].sum() * 2.5
        torch.testing.assert_close(weights[0, 0, row].float(), share, rtol=1e-2, atol=1e-2)


def test_sums_in_parts(card: Card) -> None:
    x = drawn(2, 4, 32, 128)
    first, rest = card("experimental.fast_reduce_nc_split", x, dim=1, split_output_width=32)
    close(torch.cat([first, rest], -1), x.sum(1, keepdim=True))
    assert first.shape[-1] == 32
    parts = card("experimental.deepseek_moe_fast_reduce_nc", x, 0, split_size=64)
    close(torch.cat(parts, -1), x.sum(0, keepdim=True))


def test_heads_of_pairs(card: Card) -> None:
    x = drawn(1, 32, 64, 3 * 4 * 32)
    query, key, value = card("experimental.nlp_create_qkv_heads_boltz", x, num_heads=4)
    parts = [each.reshape(32, 64, 4, 32).permute(2, 0, 1, 3) for each in x[0].split(128, -1)]
    close(query, parts[0])
    close(key, parts[1].permute(0, 3, 1, 2))
    close(value, parts[2])
    close(card("experimental.nlp_concat_heads_boltz", query), x[..., :128])
    rows = drawn(1, 1, 32, 4 * 96)
    first, rest = card("experimental.nlp_create_q_heads_split", rows, num_heads=4, split_head_dim=64)
    close(torch.cat([first, rest], -1), rows.reshape(1, 32, 4, 96).transpose(1, 2))
    heads = card("experimental.nlp_create_qkv_heads_segformer", drawn(2, 1, 32, 256))[0]
    close(heads, drawn(2, 1, 32, 256).reshape(2, 32, 8, 32).transpose(1, 2))


def test_products_with_a_cache(card: Card) -> None:
    a, cache = drawn(1, 4, 32, 64), drawn(32, 1, 128, 64, seed=1)
    grid = card.ttnn.CoreCoord(8, 8)
    options = {"num_tokens": 40, "transpose_hw": True, "compute_with_storage_grid_size": grid}
    result = card("experimental.attn_matmul_from_cache", a, cache, **options)
    close(result, torch.einsum("xhbk,bynk->xhbn", a, cache[:, :, :64]))


def test_slices_are_written(card: Card) -> None:
    ttnn = card.ttnn
    target, part = drawn(1, 8, 4, 32), drawn(1, 2, 4, 32, seed=1)
    output = card.put(target, ttnn.ROW_MAJOR_LAYOUT)
    source = card.put(part, ttnn.ROW_MAJOR_LAYOUT)
    result = card("experimental.slice_write", source, output, [0, 3, 0, 0], [1, 5, 4, 32], [1, 1, 1, 1])
    expected = target.clone()
    expected[:, 3:5] = part
    close(result, expected)
    close(card.back(output), expected)


def test_greatest_of_long_rows(card: Card) -> None:
    x = drawn(2, 4096).bfloat16()
    x[1, 20:] = -torch.inf
    places = card("experimental.topk_large_indices", card.put(x, card.ttnn.ROW_MAJOR_LAYOUT), k=32)
    values = x[0].float()
    assert torch.equal(values[places[0].long()], values.topk(32).values)
    assert (places[1, 20:].long() & 0xFFFFFFFF == 0xFFFFFFFF).all()


def test_deformable_attention(card: Card) -> None:
    shapes, batch, queries, heads, points, width = [(8, 6), (4, 3)], 2, 5, 3, 4, 16
    value = drawn(batch, 60, heads, width)
    places, weights = torch.rand(batch, queries, heads, 2, points, 2), drawn(batch, queries, heads, 2, points, seed=1)
    expected = torch.zeros(batch, queries, heads, width)
    for level, (part, (rows, columns)) in enumerate(zip(value.split([48, 12], 1), shapes, strict=True)):
        for head in range(heads):
            image = part[:, :, head].mT.reshape(batch, width, rows, columns)
            at = 2 * places[:, :, head, level] - 1
            samples = F.grid_sample(image, at, align_corners=False)
            expected[:, :, head] += (samples * weights[:, None, :, head, level]).sum(-1).mT
    result = card("experimental.fused_msda", value, places, weights, shapes)
    close(result, expected.flatten(2))
    references = torch.rand(batch, queries, 2, 2)
    scale = torch.tensor([[1 / 6, 1 / 8], [1 / 3, 1 / 4]])
    offsets = (places - references[:, :, None, :, None]) / scale[:, None]
    close(card("experimental.fused_msda_from_offsets", value, references, offsets, weights, shapes), result)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_precomputed_grids(card: Card, mode: str) -> None:
    ttnn, image = card.ttnn, drawn(2, 8, 6, 32).bfloat16()
    grid = torch.rand(2, 5, 7, 2, generator=torch.Generator().manual_seed(1)) * 2.4 - 1.2
    prepared = ttnn.prepare_grid_sample_grid(ttnn.from_torch(grid), [2, 8, 6, 32], mode=mode)
    assert list(prepared.shape) == [2, 5, 7, 6 if mode == "bilinear" else 2]
    pixels = ttnn.from_torch(image, device=card.device)
    options = {"mode": mode, "use_precomputed_grid": True}
    result = ttnn.to_torch(ttnn.grid_sample(pixels, ttnn.to_device(prepared, card.device), **options))
    expected = F.grid_sample(image.float().permute(0, 3, 1, 2), grid, mode, "zeros", align_corners=False)
    torch.testing.assert_close(result.float(), expected.permute(0, 2, 3, 1), rtol=2e-2, atol=2e-2)
    with pytest.raises(RuntimeError, match="on host"):
        ttnn.prepare_grid_sample_grid(ttnn.from_torch(grid, device=card.device), [2, 8, 6, 32])


def test_colours(card: Card) -> None:
    ttnn = card.ttnn
    grey = torch.full((3, 4, 4, 2), 0.5)
    luma, blue, red = card("rgb_to_yuv", card.put(grey, ttnn.ROW_MAJOR_LAYOUT))
    assert (luma.shape, blue.shape) == ((1, 4, 4, 2), (1, 2, 2, 2))
    assert luma.unique().tolist() == [round(125.5 + 109.5 * 0.5)]
    assert [*blue.unique().tolist(), *red.unique().tolist()] == [128, 128]
    reds = torch.tensor([1.0, -1, -1]).reshape(3, 1, 1, 1).expand(3, 4, 4, 2).contiguous()
    options = {"color_space": ttnn.YUVColorSpace.BT709, "output_range": ttnn.YUVRange.Full, "wide_rows": True}
    luma, _, red = card("rgb_to_yuv", card.put(reds, ttnn.ROW_MAJOR_LAYOUT), **options)
    assert (list(luma.shape), list(red.shape)) == ([1, 4, 8], [1, 2, 4])
    assert (luma.unique().tolist(), red.unique().tolist()) == ([54], [255])


def test_gated_products(card: Card) -> None:
    x, weight = drawn(32, 64), drawn(64, 128, seed=1)
    result = card("experimental.minimal_matmul", x, weight, fuse_swiglu=True)
    tiles = (x @ weight).split(32, -1)
    expected = torch.cat([F.silu(tiles[0]) * tiles[1], F.silu(tiles[2]) * tiles[3]], -1)
    assert relative_error(result, expected) < 2**-8
    parts = card("experimental.minimal_matmul_split", x, weight, chunks=2)
    torch.testing.assert_close(torch.cat(parts, -1), x @ weight, **OF_64_PRODUCTS)
