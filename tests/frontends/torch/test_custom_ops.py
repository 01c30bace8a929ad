"""``torch.ops.tt``: compares the CPU with plain loops, and the device, eager and compiled, with the CPU."""

from __future__ import annotations

import pytest
import torch

import tt_torch

ops = torch.ops.tt
assert tt_torch.custom_ops


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def attention_by_rows(query, key, value, visible, scale, sink=None):
    """Returns attention of [heads, rows, width] to [key heads, length, width], computed row by row.

    Args:
        visible: For each row, the positions of the keys that it attends to.
    """
    groups, result = query.shape[0] // key.shape[0], []
    for head, rows in enumerate(query):
        for row, positions in zip(rows, visible, strict=True):
            k, v = key[head // groups][positions], value[head // groups][positions]
            scores = (k @ row * scale).exp()
            extra = 0.0 if sink is None else sink[head].exp()
            result.append((scores[:, None] * v).sum(0) / (scores.sum() + extra))
    return torch.stack(result).reshape(*query.shape[:2], -1)


TABLE = torch.tensor([[5, 0, 3], [2, 4, 1]], dtype=torch.int32)
LAST = torch.tensor([6, 9], dtype=torch.int32)


def _decode_arguments(*, width=8):
    return drawn(1, 2, 4, 8), drawn(6, 2, 4, 8), drawn(6, 2, 4, width)


def _decoded(query, key, value, scale, sink=None, window=100):
    result = []
    for user, blocks in enumerate(TABLE.long()):
        keys, values = (torch.cat(list(cache[blocks]), 1) for cache in (key, value))
        visible = torch.arange(max(0, int(LAST[user]) + 1 - window), int(LAST[user]) + 1)
        result.append(attention_by_rows(query[0, user, :, None], keys, values, [visible], scale, sink)[:, 0])
    return torch.stack(result)[None]


def prefill(window=None):
    query, key, value = drawn(1, 4, 32, 8), drawn(1, 2, 32, 8), drawn(1, 2, 32, 8)
    visible = [torch.arange(max(0, row + 1 - (window or 32)), row + 1) for row in range(32)]
    expected = attention_by_rows(query[0], key[0], value[0], visible, 0.5)[None]
    return ops.scaled_dot_product_attention, (query, key, value, None, True, 0.5, window), expected


def latent_prefill():
    query, key = drawn(1, 4, 32, 8), drawn(1, 1, 32, 8)
    visible = [torch.arange(row + 1) for row in range(32)]
    expected = attention_by_rows(query[0], key[0], key[0, :, :, :6], visible, 8**-0.5)[None]
    return ops.flash_mla_prefill, (query, key, 6), expected


def decode():
    query, key, value = _decode_arguments()
    table = TABLE.long()
    keys, values = (torch.stack([torch.cat(list(cache[blocks]), 1) for blocks in table]) for cache in (key, value))
    sink = drawn(4)
    arguments = query, keys, values, LAST, None, sink, True, 0.5
    return ops.scaled_dot_product_attention_decode, arguments, _decoded(query, key, value, 0.5, sink)


def paged_decode():
    tensors = _decode_arguments()
    arguments = *tensors, TABLE, True, None, LAST, None, 0.5, 3
    return ops.paged_scaled_dot_product_attention_decode, arguments, _decoded(*tensors, 0.5, window=3)


def latent_paged_decode():
    query, key, value = _decode_arguments(width=6)
    arguments = query, key, 6, TABLE, value, True, None, LAST
    return ops.paged_flash_mla_decode, arguments, _decoded(query, key, value, 8**-0.5)


def chunk():
    query, (_, key, value) = drawn(2, 4, 4, 8), _decode_arguments()
    expected = []
    for user, blocks in enumerate(TABLE.long()):
        keys, values = (torch.cat(list(cache[blocks]), 1) for cache in (key, value))
        visible = [torch.arange(5 + row + 1) for row in range(4)]
        expected.append(attention_by_rows(query[user], keys, values, visible, 8**-0.5))
    arguments = query, key, value, TABLE, torch.tensor([5], dtype=torch.int32)
    return ops.chunked_scaled_dot_product_attention, arguments, torch.stack(expected)


def update():
    cache, row = drawn(3, 2, 8, 4), drawn(1, 2, 1, 4)
    expected = cache.clone()
    expected[1, :, 5] = row[0, :, 0]
    return ops.update_cache, (cache, row, torch.tensor([5], dtype=torch.int32), 1), expected


def fill():
    cache, rows = drawn(3, 2, 8, 4), drawn(2, 2, 5, 4)
    expected = cache.clone()
    expected[1:, :, :5] = rows
    return ops.fill_cache, (cache, rows, 1), expected


def paged_update(shared=False):
    cache, rows = drawn(6, 2, 4, 8), drawn(1, 2, 3, 8)
    at = torch.tensor([6, -1 if not shared else 9], dtype=torch.int32)
    expected = cache.clone()
    expected[0, :, 2] = rows[0, 0, :2]
    if shared:
        expected[3, :, 1] = rows[0, 1, :2]
    return ops.paged_update_cache, (cache, rows, at, TABLE[:1] if shared else TABLE, shared), expected


def paged_update_beside_an_idle_user(shared):
    """The idle user's first block is the one that the other user writes to."""
    cache, rows = drawn(6, 2, 4, 8), drawn(1, 2, 3, 8)
    table = torch.tensor([[0, 3]] if shared else [[0, 3], [0, 5]], dtype=torch.int32)
    expected = cache.clone()
    expected[0, :, 0] = rows[0, 0, :2]
    return ops.paged_update_cache, (cache, rows, torch.tensor([0, -1], dtype=torch.int32), table, shared), expected


def paged_update_without_active_users():
    cache, rows = drawn(6, 2, 4, 8), drawn(1, 2, 3, 8)
    idle = torch.tensor([-1, -1], dtype=torch.int32)
    return ops.paged_update_cache, (cache, rows, idle, TABLE, False), cache


def paged_fill():
    cache, rows = drawn(6, 2, 4, 8), drawn(1, 2, 7, 8)
    expected = cache.clone()
    expected[2], expected[4, :, :3] = rows[0, :, :4], rows[0, :, 4:]
    return ops.paged_fill_cache, (cache, rows, TABLE, torch.tensor([1], dtype=torch.int32)), expected


def paged_fill_without(*left_out):
    """As tt-metal's kernel does: a block of -1 in the page table is not written."""
    cache, rows = drawn(6, 2, 4, 8), drawn(1, 2, 7, 8)
    table, expected = TABLE.clone(), cache.clone()
    expected[2], expected[4, :, :3] = rows[0, :, :4], rows[0, :, 4:]
    for block in left_out:
        expected[table[1, block]] = cache[table[1, block]]
    table[1, list(left_out)] = -1
    return ops.paged_fill_cache, (cache, rows, table, torch.tensor([1], dtype=torch.int32)), expected


CASES = {
    "prefill": prefill,
    "window": lambda: prefill(5),
    "latent_prefill": latent_prefill,
    "decode": decode,
    "paged_decode": paged_decode,
    "latent_paged_decode": latent_paged_decode,
    "chunk": chunk,
    "update": update,
    "fill": fill,
    "paged_update": paged_update,
    "paged_update_of_one_row": lambda: paged_update(shared=True),
    "paged_update_beside_an_idle_user": lambda: paged_update_beside_an_idle_user(shared=False),
    "paged_update_of_one_row_beside_an_idle_user": lambda: paged_update_beside_an_idle_user(shared=True),
    "paged_update_without_active_users": paged_update_without_active_users,
    "paged_fill": paged_fill,
    "paged_fill_without_its_first_block": lambda: paged_fill_without(0),
    "paged_fill_without_its_last_block": lambda: paged_fill_without(1),
    "paged_fill_without_blocks": lambda: paged_fill_without(0, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_op(name):
    op, arguments, expected = CASES[name]()
    torch.testing.assert_close(op(*arguments), expected, atol=1e-5, rtol=1e-5)
    there = [x.to("tt") if isinstance(x, torch.Tensor) else x for x in arguments]
    before = torch.tt.host_ops()
    torch.testing.assert_close(op(*there).cpu(), expected, atol=2e-2, rtol=2e-2)
    torch.compiler.reset()
    compiled = torch.compile(op, backend="tt", fullgraph=True)
    torch.testing.assert_close(compiled(*there).cpu(), expected, atol=2e-2, rtol=2e-2)
    assert torch.tt.host_ops() == before


def test_gradients():
    op, (query, key, *rest), _ = prefill(5)
    gradients = []
    for device in ("cpu", "tt"):
        q, k = (x.clone().to(device).requires_grad_() for x in (query, key))
        op(q, k, rest[0].to(device), *rest[1:]).square().sum().backward()
        gradients.append((q.grad.cpu(), k.grad.cpu()))
    for there, here in zip(gradients[1], gradients[0], strict=True):
        torch.testing.assert_close(there, here, atol=5e-2, rtol=5e-2)


@pytest.mark.parametrize("device", ["cpu", "tt"])
def test_sampling(device):
    logits = torch.tensor([[0.0, 3.0, 2.9, 1.0]]).repeat(200, 1).to(device)
    tokens = torch.tensor([[10, 11, 12, 13]]).repeat(200, 1).to(device)
    ones = torch.ones(200, device=device)

    def sampled_tokens(k, p, temperature):
        return set(ops.sampling(logits, tokens, (ones * k).int(), ones * p, ones * temperature).tolist())

    assert sampled_tokens(1, 1.0, 1.0) == {11}
    assert sampled_tokens(4, 0.0, 1.0) == {11}
    assert sampled_tokens(2, 1.0, 1.0) == {11, 12}
    assert sampled_tokens(4, 1.0, 100.0) == {10, 11, 12, 13}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ops.scaled_dot_product_attention(x[:, :, :5], x, x), r"multiple of 32; got query: \[1, 2, 5, 4\]"),
        (lambda x: ops.scaled_dot_product_attention(x, x, x, x), "attn_mask needs is_causal=False"),
        (lambda x: ops.scaled_dot_product_attention(x, x, x, sliding_window_size=0), "must be positive"),
        (lambda x: ops.scaled_dot_product_attention(x, x, x[..., :2]), "one shape"),
        (lambda x: ops.flash_mla_prefill(x, x, 5), "head_dim_v must be at most the width of key, got 5"),
        (lambda x: ops.flash_mla_prefill(x, x, 4, is_causal=False), "is_causal must be True"),
        (lambda x: ops.fill_cache(x.repeat(2, 1, 1, 1), x), "a batch of 2 needs batch_offset"),
        (lambda x: ops.fill_cache(x, x, 1), "batch_offset 1 lies outside the batch"),
        (lambda x: ops.update_cache(x, x, torch.zeros(1)), r"\[batch, heads, 1, width\]"),
        (lambda x: ops.paged_fill_cache(x, x, torch.zeros(1, 0).int()), "longer than a user's blocks"),
        (lambda x: ops.mark_argument_attributes(x, "weight"), "argument_type is 'weight'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(drawn(1, 2, 32, 4))


def test_marks_change_nothing():
    x = drawn(2, 3)
    assert ops.mark_argument_attributes(x, "parameter", "weight").equal(x)
    assert ops.sharding_constraint(x, "#sdy.sharding_per_value<[<@mesh, [{}, {}]>]>").equal(x)
