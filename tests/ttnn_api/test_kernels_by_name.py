"""Functions of ``ttnn`` whose kernels have TT-NN's own parameters, beside torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.ttnn_api.conftest import Card, close, drawn

pytestmark = pytest.mark.quick


def test_moves(card: Card) -> None:
    x = drawn(2, 4, 6, 8)
    close(card("roll", x, [1, 2], [0, 2]), x.roll((1, 2), (0, 2)))
    close(card("fold", x, 2, 3), x.reshape(2, 2, 2, 2, 3, 8).permute(0, 1, 3, 2, 4, 5).reshape(2, 2, 2, 48))
    index = torch.tensor([[0, 2, 1]] * 2, dtype=torch.int32)
    close(card("tosa_gather", x[0, :2], index), x[0, :2].gather(1, index.long().unsqueeze(-1).expand(-1, -1, 8)))
    close(
        card("index_fill", x, 1, torch.tensor([1, 3], dtype=torch.int32), 7.0), x.index_fill(1, torch.tensor([1, 3]), 7)
    )
    count, places = card("nonzero", torch.tensor([[[[0.0, 3.0, 0.0, 5.0]]]]))
    assert (int(count[..., 0]), places[..., :8].tolist()) == (2, [[[[0, 0, 0, 1, 0, 0, 0, 3]]]])
    variance = x.var((2, 3), correction=0, keepdim=True) * (6 * 8) / (32 * 32)  # TT-NN counts the padding of tiles
    close(card("normalize_hw", x), (x - x.mean((2, 3), keepdim=True)) / variance.sqrt())
    rows = card("untilize_with_unpadding", x, [1, 2, 3, 4])
    assert torch.equal(rows, x[:, :3, :4, :5])
    position = card.put(torch.tensor([3, -1], dtype=torch.int32), card.ttnn.ROW_MAJOR_LAYOUT)
    assert card.ttnn.plus_one(position, skip_negative_entries=True) is position
    assert card.back(position).tolist() == [4, -1]


def test_random_numbers(card: Card) -> None:
    ttnn = card.ttnn
    first, second = (card.back(ttnn.rand([64, 64], card.device, seed=seed)) for seed in (7, 7))
    assert torch.equal(first, second)
    assert not torch.equal(card.back(ttnn.rand([64, 64], card.device)), card.back(ttnn.rand([64, 64], card.device)))
    x = card.put(torch.zeros(64, 64))
    assert ttnn.uniform(x, 2.0, 3.0) is x
    assert (card.back(x).min() >= 2, card.back(x).max() <= 3) == (True, True)
    assert abs(float(card("bernoulli", torch.full((64, 64), 0.25)).mean()) - 0.25) < 0.05
    values, names = torch.tensor([[[[1.0, 9.0, 2.0]] * 2]]), torch.tensor([[[[5, 6, 7]] * 2]], dtype=torch.int32)
    one = torch.ones(2)
    assert card("sampling", values, names, one.int(), one, one).tolist() == [[[[6, 6]]]]


def test_heads(card: Card) -> None:
    x = drawn(2, 1, 32, 6 * 32)
    query, key, value = card(
        "experimental.nlp_create_qkv_heads", x, num_heads=4, num_kv_heads=1, transpose_k_heads=True
    )
    close(query, x[:, 0, :, :128].unflatten(-1, (4, 32)).transpose(1, 2))
    close(key, x[:, :, :, 128:160].mT)
    close(card("experimental.nlp_concat_heads", query)[:, 0], x[:, 0, :, :128])
    close(value, x[..., 160:])
    matrix = torch.zeros(1, 1, 32, 32)
    matrix[..., range(1, 32, 2), range(0, 32, 2)], matrix[..., range(0, 32, 2), range(1, 32, 2)] = -1.0, 1.0
    turned = torch.stack([-query[..., 1::2], query[..., ::2]], -1).flatten(-2)
    tables = [drawn(1, 1, 32, 32, seed=seed) for seed in (1, 2)]
    close(card("experimental.rotary_embedding_llama", query, *tables, matrix), query * tables[0] + turned * tables[1])


def test_attention_over_pages(card: Card) -> None:
    key, value = drawn(1, 2, 64, 32), drawn(1, 2, 64, 32, seed=1)
    table = torch.tensor([[1, 0]], dtype=torch.int32)
    pages = [each.unflatten(2, (2, 32))[0].transpose(0, 1).flip(0) for each in (key, value)]
    query = drawn(1, 4, 32, 32, seed=2)
    rows = card("transformer.chunked_scaled_dot_product_attention", query, *pages, table, 32)
    mask = torch.ones(32, 64).tril(32).bool()
    close(rows, F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True))
    one = query[:, :, :1].permute(2, 0, 1, 3)
    position = torch.tensor([40], dtype=torch.int32)
    decoded = card("transformer.paged_scaled_dot_product_attention_decode", one, *pages, table, cur_pos_tensor=position)
    expected = F.scaled_dot_product_attention(query[:, :, :1], key[:, :, :41], value[:, :, :41], enable_gqa=True)
    close(decoded, expected.permute(2, 0, 1, 3))
    scores = drawn(1, 4, 32, 32)
    mask = torch.zeros(1, 1, 32, 32).masked_fill(torch.ones(32, 32).triu(1).bool(), -1e9)
    result = card("transformer.attention_softmax", scores, head_size=64, attention_mask=mask, causal_mask=True)
    close(result, torch.softmax(scores / 8 + mask, -1))
    result = card("transformer.attention_softmax", scores, head_size=64, attention_mask=mask)
    close(result, torch.softmax(scores / 8 + mask[:, :, :1], -1))  # as TT-NN adds it on the simulator
    cache = card.put(torch.zeros(2, 2, 64, 32))
    assert card.ttnn.update_cache(cache, card.put(drawn(1, 2, 2, 32)), 5) is cache
    close(card.back(cache)[:, :, 5], drawn(1, 2, 2, 32)[0].transpose(0, 1))


def test_shapes_that_do_not_fit_are_refused(card: Card) -> None:
    with pytest.raises(
        RuntimeError, match=r"ttnn.moreh_bmm: .* The shapes are input \[2, 32, 32\], mat2 \[2, 64, 32\]"
    ):
        card("moreh_bmm", drawn(2, 32, 32), drawn(2, 64, 32))
    with pytest.raises(RuntimeError, match=r"output tensor has shape .*, expected \[3, 32, 32\]"):
        card("moreh_sum", drawn(2, 3, 32, 32), 0, output=drawn(2, 32, 32))


def test_sharded_memory_configs(ttnn: Any) -> None:
    config = ttnn.create_sharded_memory_config((1, 1, 256, 64), ttnn.CoreGrid(y=2, x=4), ttnn.ShardStrategy.BLOCK)
    assert (config.shard_spec.shape, config.memory_layout) == ([128, 16], ttnn.TensorMemoryLayout.BLOCK_SHARDED)
    with pytest.raises(RuntimeError, match="Invalid sharding core_grid"):
        ttnn.create_sharded_memory_config((1, 1, 100, 64), ttnn.CoreGrid(y=2, x=4), ttnn.ShardStrategy.HEIGHT)
    cores = ttnn.num_cores_to_corerangeset(11, ttnn.CoreCoord(8, 8), True)
    assert (cores.num_cores(), len(cores.ranges()), cores.ranges()[1].end) == (11, 2, ttnn.CoreCoord(2, 1))
    assert ttnn.split_work_to_cores(ttnn.CoreCoord(8, 8), 70)[0::4] == (64, 2)


def test_quantization(card: Card) -> None:
    x = drawn(32, 64)
    quantized = card("quantize", x, 0.05, 3)
    assert (quantized.dtype, torch.equal(quantized.float(), (x / 0.05 + 3).round().clamp(-127, 127))) == (
        torch.int32,
        True,
    )
    scale, zero = torch.rand(64) + 0.1, torch.arange(64, dtype=torch.int32) % 3
    by_column = card("quantize", x, scale, zero, axis=-1)
    close(by_column.float(), (x / scale + zero).round())
    back = card("dequantize", by_column, scale, zero, axis=-1, dtype=card.ttnn.float32)
    close(back, (by_column - zero) * scale)


def test_group_norm_reads_prepared_weights(card: Card) -> None:
    x, weight = drawn(2, 1, 64, 96), drawn(96, seed=1)
    prepared = card.ttnn.create_group_norm_weight_bias_rm(weight, 96, 2)
    assert list(prepared.shape) == [1, 1, 4, 32]
    result = card("group_norm", x, num_groups=8, weight=prepared, epsilon=1e-5, inplace=False)
    expected = F.group_norm(x.transpose(2, 3).squeeze(1), 8, weight, eps=1e-5)
    close(result, expected.transpose(1, 2).unsqueeze(1))
    mask = card.ttnn.create_group_norm_input_mask(64, 4, 1)
    assert (list(mask.shape), float(card.back(mask).sum())) == ([1, 4, 32, 32], 4 * 16 * 32.0)


def test_products_and_running_sums(card: Card) -> None:
    x, a, b = drawn(32, 48), drawn(32, 64, seed=1), drawn(64, 48, seed=2)
    product = card("addmm", x, a, b, alpha=0.5, beta=2.0)  # the matrix unit reads 19 bits
    torch.testing.assert_close(product, 2 * x + 0.5 * a @ b, rtol=0.01, atol=0.02)
    close(card("cumsum", x, 1, reverse_order=True), x.flip(1).cumsum(1).flip(1))
    block = card.ttnn.from_torch(x, dtype=card.ttnn.bfloat8_b, device=card.device)
    close(card.back(card.ttnn.multiply(block, 2.0)), 2 * card.back(block))
