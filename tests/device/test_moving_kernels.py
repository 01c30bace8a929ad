"""Ops that move elements, make heads of rows, rotate them, and quantize: one call for each optional argument."""

from __future__ import annotations

import math
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


def close(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


X = numbers(2, 4, 6, 8)
ROW = torch.arange(6.0).reshape(1, 1, 6, 1)
INDEX = torch.tensor([[0, 2, 1], [3, 3, 0]], dtype=torch.int32)
CACHE = torch.zeros(2, 3, 4)
COUNTED = torch.arange(64.0).reshape(1, 1, 1, 64)


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "expected"),
    [
        ("roll", [X, 5], {}, X.flatten().roll(5).reshape(X.shape)),
        ("roll", [X, 1, 2], {}, torch.cat([X[:, :, -1:], X[:, :, :-1]], 2)),
        ("roll", [X, [1, -2], [1, 3]], {}, X.roll((1, -2), (1, 3))),
        (
            "fold",
            [X, 2, 3],
            {"collapse_output": True},
            X.unfold(1, 2, 2).unfold(2, 3, 3).permute(0, 1, 2, 4, 5, 3).reshape(1, 1, 8, 48),
        ),
        (
            "fold",
            [X[:, :3, :4], 2, 3],
            {"padding": [0, 1, 2, 0, 1, 3], "output_shape": [1, 2, 1, 40]},
            F.pad(X[:, :3, :4], (1, 3, 2, 0, 0, 1))
            .reshape(2, 2, 2, 2, 3, 12)
            .transpose(2, 3)
            .reshape(2, 2, 2, 72)[:1, :, :1, :40],
        ),
        (
            "fold",
            [X, 2, 4],
            {"use_transpose_as_fold": True},
            X.permute(0, 2, 3, 1).reshape(2, 3, 2, 2, 4, 4).transpose(2, 3).reshape(2, 3, 2, 32),
        ),
        ("indexed_fill", [torch.tensor([1]), X, X[:1] + 1], {}, torch.stack([X[0], X[0] + 1])),
        (
            "indexed_fill",
            [torch.tensor([5, 0]), X, X[:, :, 2:4]],
            {"dim": 2},
            torch.cat([X[:, :, 3:4], X[:, :, 1:5], X[:, :, 2:3]], 2),
        ),
        ("index_fill", [ROW, 2, torch.tensor([4, 1]), 9.0], {}, torch.tensor([0.0, 9, 2, 3, 9, 5]).reshape(1, 1, 6, 1)),
        (
            "scatter_add",
            [torch.ones(2, 4), 1, INDEX, torch.tensor([[1.0, 2, 3], [4, 5, 6]])],
            {},
            torch.tensor([[2.0, 4, 3, 1], [7, 1, 1, 10]]),
        ),
        ("tosa_gather", [X[:, :, :, 0], INDEX], {}, torch.stack([X[0, [0, 2, 1], :, 0], X[1, [3, 3, 0], :, 0]])),
        (
            "tosa_scatter",
            [torch.zeros(1, 3, 2), torch.tensor([[2, 0]]), torch.tensor([[[1.0, 2], [3, 4]]])],
            {},
            torch.tensor([[[3.0, 4], [0, 0], [1, 2]]]),
        ),
        ("plus_one", [torch.tensor([-1, 0, 4])], {}, torch.tensor([0, 1, 5])),
        ("plus_one", [torch.tensor([-1, 0, 4])], {"skip_negative_entries": True}, torch.tensor([-1, 1, 5])),
        ("fill_rm", [1, 2, 2, 3, 1, 2, X], {}, torch.tensor([[[[1.0, 1, 0], [0, 0, 0]]] * 2])),
        ("fill_rm", [1, 1, 2, 3, 2, 1, X, 5.0, 7.0], {}, torch.tensor([[[[5.0, 7, 7], [5, 7, 7]]]])),
        (
            "sharded_to_interleaved_partial",
            [torch.ones(1, 2, 4), CACHE, 3, 1],
            {},
            F.pad(torch.ones(2, 4), (0, 0, 2, 2)).reshape(2, 3, 4),
        ),
        (
            "experimental.isin",
            [torch.tensor([1, 2, 3]), torch.tensor([3, 1])],
            {},
            torch.tensor([2**32 - 1, 0, 2**32 - 1]),
        ),
        (
            "experimental.isin",
            [torch.tensor([1, 2, 3]), torch.tensor([3, 1])],
            {"invert": True},
            torch.tensor([0, 2**32 - 1, 0]),
        ),
        ("convert_to_hwc", [numbers(1, 2, 3, 4)], {}, numbers(1, 2, 3, 4).transpose(2, 3).reshape(1, 1, 8, 3)),
        (
            "convert_to_hwc",
            [numbers(1, 2, 3, 4), 5],
            {},
            F.pad(numbers(1, 2, 3, 4).transpose(2, 3).reshape(1, 1, 8, 3), (0, 2)),
        ),
        ("experimental.convert_to_chw", [X], {}, X.transpose(2, 3)),
        ("experimental.transpose_rm", [X], {}, X.mT),
        ("experimental.rotate_half", [torch.tensor([1.0, 2, 3, 4])], {}, torch.tensor([-3.0, -4, 1, 2])),
        ("experimental.intimg", [torch.ones(1, 2, 3, 1)], {}, torch.tensor([1.0, 2, 3, 2, 4, 6]).reshape(1, 2, 3, 1)),
        ("experimental.fast_reduce_nc", [X, [0, 1]], {}, X.sum((0, 1), keepdim=True)),
        ("experimental.hc_sum_reduce", [COUNTED], {}, torch.tensor([[[[496.0, 1520.0]]]])),
        ("experimental.padded_slice", [X, [0, 1, 2, 3], [2, 3, 6, 8]], {}, X[:, 1:3, 2:, 3:]),
        ("experimental.padded_slice", [X, [0, 1, 2, 3], [2, 3, 6, 8], [1, 2, 1, 3]], {}, X[:, 1:3:2, 2:, 3::3]),
        (
            "experimental.topk_large_indices",
            [torch.tensor([[1.0, 4, -math.inf, 2]]), 4],
            {},
            torch.tensor([[1, 3, 0, 0xFFFFFFFF]]),
        ),
        ("experimental.topk_large_indices", [COUNTED, 1], {"valid_length": 9}, torch.tensor([[[[8]]]])),
        ("experimental.topk_large_indices", [COUNTED, 1, 9, torch.tensor([20]), 3], {}, torch.tensor([[[[22]]]])),
        (
            "experimental.topk_large_indices",
            [COUNTED, 1],
            {"valid_end_tensor": torch.tensor([32])},
            torch.tensor([[[[31]]]]),
        ),
        (
            "experimental.topk_large_indices",
            [COUNTED, 1],
            {"valid_end_tensor": torch.tensor([33])},
            torch.tensor([[[[63]]]]),
        ),
        ("quantize", [torch.tensor([-300.0, -1.3, 0.26, 300.0]), 0.5, 3.0], {}, torch.tensor([-127.0, 0, 4, 127])),
        (
            "quantize",
            [torch.ones(2, 2), torch.tensor([0.5, 0.25]), torch.tensor([1.0, -1]), 0],
            {},
            torch.tensor([[3.0, 3], [3, 3]]),
        ),
        (
            "dequantize",
            [torch.tensor([[7.0, 7]]), torch.tensor([0.5, 2.0]), torch.tensor([1.0, 3.0]), 1],
            {},
            torch.tensor([[3.0, 8.0]]),
        ),
        ("dequantize", [torch.tensor([7]), torch.tensor([0.5]), 1], {}, torch.tensor([3.0])),
        (
            "requantize",
            [torch.tensor([[9.0], [9.0]]), torch.tensor([0.5, 2.0]), 1.0, 0.25, 2.0, 0],
            {},
            torch.tensor([[18.0], [66.0]]),
        ),
    ],
)
def test_moves(op: str, operands: list[Any], attributes: dict[str, Any], expected: Tensor) -> None:
    close(call(op, *operands, **attributes), expected)


def test_counted_elements() -> None:
    count, places = call("nonzero", torch.tensor([[[[0.0, 3.0], [0.0, 5.0]]]]))
    assert (count.flatten().tolist(), count.shape) == ([2, *[0] * 7], (1, 1, 1, 8))
    assert places.flatten().tolist() == [0, 0, 0, 1, 0, 0, 1, 1, *[0] * 8]
    assert call("nonzero", X.to("meta"))[1].shape == (1, 1, 1, 4 * 384)
    with pytest.raises(ValueError, match="input must be rank-4, got rank 3"):
        call("nonzero", X[0])


def test_states_of_a_scan() -> None:
    decay, change = torch.tensor([[[[2.0], [3.0]]]]), torch.tensor([[[[1.0], [-1.0]]]])
    states, last = call("experimental.prefix_scan", decay, change, torch.full((1, 1, 1, 1), 5.0))
    assert (states.flatten().tolist(), last.tolist()) == ([11.0, 32.0], [[[[32.0]]]])
    rows = torch.tensor([[[[5.0], [7.0]]]])
    states, last = call("experimental.prefix_scan", decay, change, rows)
    assert (states.flatten().tolist(), last.flatten().tolist()) == ([11.0, 32.0], [32.0, 32.0])


def test_repeated_and_interleaved_products() -> None:
    a, b = torch.arange(32.0).reshape(1, 1, 1, 32), torch.arange(5120.0).reshape(1, 1, 1, 5120)
    exact = (b.reshape(5120, 1) * a.reshape(1, 32)).reshape(1, 1, 1, -1)
    op = "experimental.repeat_and_interleave_eltwise_mul"
    assert torch.equal(call(op, a, b), exact)
    whole = [a.repeat(1, 1, 1, 5120), b.repeat_interleave(32, -1)]
    assert torch.equal(call(op, *whole), exact)


def test_a_part_is_replaced() -> None:
    target = torch.zeros(2, 5)
    written = call("experimental.slice_write", torch.ones(1, 2), target, [1, 1], [2, 5], [1, 2])
    assert (written.tolist(), target.sum()) == ([[0.0] * 5, [0.0, 1, 0, 1, 0]], 0)


def parts(rows: Tensor, sizes: list[int], width: int) -> list[Tensor]:
    """Returns [batch, heads, sequence, width] of consecutive columns of [batch, 1, sequence, columns]."""
    starts = [sum(sizes[:at]) for at in range(len(sizes))]
    return [
        torch.stack([rows[:, 0, :, (start + head) * width : (start + head + 1) * width] for head in range(size)], 1)
        for start, size in zip(starts, sizes, strict=True)
    ]


@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize("kv", [None, 2])
def test_heads_of_rows(turned: bool, kv: int | None) -> None:
    groups, options = kv or 4, {"num_kv_heads": kv, "transpose_k_heads": turned}
    rows = numbers(2, 1, 3, (4 + 2 * groups) * 32)
    query, key, value = parts(rows, [4, groups, groups], 32)
    shown = key.mT if turned else key
    op = "experimental.nlp_create_qkv_heads"
    assert all(map(torch.equal, call(op, rows, 4, **options), (query, shown, value)))
    apart = rows[..., :128], rows[..., 128:]
    results = call(op, apart[0], 4, input_kv=apart[1], **options)
    assert all(map(torch.equal, results, (query, shown, value)))
    pairs = numbers(1, 2, 3, (4 + 2 * groups) * 8)
    results = call("experimental.nlp_create_qkv_heads_boltz", pairs, 4, **options)
    query, key, value = (
        torch.stack([pairs[0, :, :, (start + head) * 8 : (start + head + 1) * 8] for head in range(size)])
        for start, size in ((0, 4), (4, groups), (4 + groups, groups))
    )
    shown = key.permute(0, 3, 1, 2) if turned else key
    assert all(map(torch.equal, results, (query, shown, value)))
    assert torch.equal(call("experimental.nlp_concat_heads_boltz", query), pairs[..., :32])
    each = 4 // groups
    heads = parts(rows, [1] * (4 + 2 * groups), 32)
    blocks = [heads[at : at + each + 2] for at in range(0, len(heads), each + 2)]
    query = torch.cat([head for block in blocks for head in block[:each]], 1)
    key, value = (torch.cat([block[place] for block in blocks], 1) for place in (each, each + 1))
    shown = key.mT if turned else key
    results = call("experimental.create_qkv_heads", rows, 4, **options)
    assert all(map(torch.equal, results, (query, shown, value)))
    two = parts(rows[..., : 2 * groups * 32], [1] * (2 * groups), 32)
    key, value = torch.cat(two[::2], 1), torch.cat(two[1::2], 1)
    operands = [rows[..., :128], rows[..., : 2 * groups * 32], 4]
    results = call("experimental.create_qkv_heads_from_separate_tensors", *operands, **options)
    assert all(map(torch.equal, results, (parts(rows, [4], 32)[0], key.mT if turned else key, value)))


def test_heads_of_models() -> None:
    rows = numbers(1, 1, 2, 73 * 64)
    results = call("experimental.nlp_create_qkv_heads_falcon7b", rows)
    assert all(map(torch.equal, results, parts(rows, [71, 1, 1], 64)))
    rows = rows[..., : 36 * 64]
    assert all(map(torch.equal, call("experimental.nlp_create_qkv_heads_vit", rows), parts(rows, [12] * 3, 64)))
    query, key, value = call("experimental.nlp_create_qkv_heads_segformer", rows)
    assert torch.equal(query, parts(rows, [72], 32)[0])
    assert (key.shape, value.shape, key.any(), value.any()) == (query.shape, query.shape, False, False)
    query, key, value = parts(rows[..., : 48 * 32], [16] * 3, 32)
    results = call("experimental.split_query_key_value_and_split_heads", rows[..., : 48 * 32])
    assert all(map(torch.equal, results, (query, key.mT, value)))
    first, rest = call("experimental.nlp_create_q_heads_split", rows, 36, 24)
    assert torch.equal(torch.cat([first, rest], -1), parts(rows, [36], 64)[0])
    assert (first.shape[-1], rest.shape[-1]) == (24, 40)
    narrow = call("experimental.nlp_create_qkv_heads", rows[..., :60], 1, transpose_k_heads=False)
    assert [(each.shape[-1], each[..., 20:].any()) for each in narrow] == [(32, False)] * 3


@pytest.mark.parametrize("kv", [None, 2])
def test_heads_for_decoding(kv: int | None) -> None:
    groups = kv or 4
    rows = numbers(1, 1, 3, (4 + 2 * groups) * 8)
    exact = [each.permute(0, 2, 1, 3) for each in parts(rows, [4, groups, groups], 8)]
    results = call("experimental.nlp_create_qkv_heads_decode", rows, 4, kv)
    assert all(map(torch.equal, results, exact))
    joined = call("experimental.nlp_concat_heads_decode", F.pad(exact[0], (0, 0, 0, 28)), 4)
    assert torch.equal(joined, rows[..., :32])
    assert torch.equal(call("experimental.nlp_kv_cache_load_slice", X, 1, 4), X[:, :, 1:4])


def test_joined_heads() -> None:
    heads = numbers(2, 3, 5, 32)
    rows = torch.cat([heads[:, head : head + 1] for head in range(3)], -1)
    assert torch.equal(call("experimental.concatenate_heads", heads), rows)
    assert torch.equal(call("experimental.nlp_concat_heads", heads), rows)
    narrow = numbers(1, 2, 3, 40)
    joined = call("experimental.nlp_concat_heads", narrow)
    tiles = F.pad(narrow, (0, 24)).reshape(2, 3, 2, 32)
    exact = torch.cat([tiles[0, :, 0], tiles[0, :, 1], tiles[1, :, 0]], -1)[:, :80]
    assert torch.equal(joined, exact[None, None])


COSINE, SINE = numbers(1, 1, 9, 64, seed=1), numbers(1, 1, 9, 64, seed=2)
TURN = numbers(1, 1, 32, 32, seed=3)


@pytest.mark.parametrize("decode", [False, True])
@pytest.mark.parametrize("rows", [6, 9, 12])
def test_rotary_embeddings(rows: int, decode: bool) -> None:
    """One row of the caches serves all rows of more than there are, and of a decoding."""
    x = numbers(2, 3, rows, 64)
    one = decode or rows > 9
    cosine, sine = (each[:, :, :1] if one else each[:, :, :rows] for each in (COSINE, SINE))
    half = torch.cat([-x[..., 32:], x[..., :32]], -1)
    result = call("experimental.rotary_embedding_hf", x, COSINE, SINE, is_decode_mode=decode)
    close(result, x * cosine + half * sine)
    turned = torch.cat([x[..., :32] @ TURN, x[..., 32:] @ TURN], -1)
    result = call("experimental.rotary_embedding_llama", x, COSINE, SINE, TURN, is_decode_mode=decode)
    close(result, x * cosine + turned * sine)


def test_rotated_queries_and_keys() -> None:
    query, key = numbers(1, 2, 4, 32), numbers(1, 3, 4, 32, seed=4)
    cosine, sine = numbers(1, 5, 8, 32, seed=5), numbers(1, 5, 8, 32, seed=6)
    results = call("experimental.rotary_embedding_llama_fused_qk", query, key, cosine, sine, TURN)
    both = torch.cat([query, key], 1)
    exact = both * cosine[:, :, :1] + both @ TURN * sine[:, :, :1]
    close(results, (exact[:, :2], exact[:, 2:]))


def test_products_of_attention() -> None:
    left, right = numbers(1, 4, 2, 64), numbers(2, 2, 64, 96, seed=1)
    exact = torch.stack([left[0, head] for head in range(4)])[None]
    one = torch.stack([exact[:, :, batch] @ right[batch, 0] for batch in range(2)], 2)
    close(call("experimental.attn_matmul", left, right[:, :1]), one)
    grouped = torch.stack(
        [torch.stack([left[0, head, batch] @ right[batch, head // 2] for batch in range(2)]) for head in range(4)]
    )[None]
    close(call("experimental.group_attn_matmul", left, right), grouped)
    cache = right[:, :1].mT.contiguous()
    turned = call("experimental.attn_matmul_from_cache", left, cache, 33, True)
    close(turned, one[..., :64])
    assert call("experimental.attn_matmul_from_cache", left, cache, 32, True).shape[-1] == 32
    wide = numbers(1, 4, 2, 32)
    straight = torch.stack([wide[:, :, batch] @ cache[batch, 0, :32] for batch in range(2)], 2)
    close(call("experimental.attn_matmul_from_cache", wide, cache, 31, False), straight)
