"""Attention over pages, latents and two sequences agrees with a softmax written by hand, for each optional argument."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.device.conftest import NARROW
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import find

pytestmark = pytest.mark.quick

Tensor = torch.Tensor


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def call(op: str, *operands: Any, **attributes: Any) -> Any:
    return find(f"ttnn.{op}").function(None, *operands, **attributes)


def close(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


def of(tensor: Tensor) -> TensorSpec:
    shape = tuple(tensor.shape)
    return TensorSpec(shape, TensorLayout.of(shape, DataType(NARROW[tensor.dtype])))


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    seen: Any = None,
    scale: float | None = None,
    mask: Tensor | None = None,
    sink: Tensor | None = None,
) -> Tensor:
    """Computes each row of each head alone; ``seen`` says of a batch, row and key whether the row sees the key."""
    share = query.shape[1] // key.shape[1]
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    result = torch.zeros(*query.shape[:3], value.shape[-1])
    for batch, head, row in [tuple(each) for each in torch.ones(query.shape[:3]).nonzero().tolist()]:
        scores = key[batch, head // share] @ query[batch, head, row] * factor
        if mask is not None:
            scores = scores + mask.expand(*query.shape[:3], -1)[batch, head, row]
        weights = scores.exp()
        if seen is not None:
            weights = weights * torch.tensor([seen(batch, row, place) for place in range(len(scores))])
        total = weights.sum() + (0 if sink is None else (sink.flatten()[head] * factor).exp())
        result[batch, head, row] = weights @ value[batch, head // share] / total
    return result


PAGES = torch.tensor([[4, 1, 2], [0, 5, 3]], dtype=torch.int32)
KEYS, VALUES = numbers(6, 2, 4, 8, seed=1), numbers(6, 2, 4, 6, seed=2)
"""Six pages of two heads and four positions."""
WHOLE_KEYS, WHOLE_VALUES = (
    torch.stack([torch.cat([pages[number] for number in row], 1) for row in PAGES.tolist()]) for pages in (KEYS, VALUES)
)
QUERY = numbers(2, 4, 3, 8)
SINK = numbers(1, 4, 1, 1, seed=3)


@pytest.mark.parametrize(
    ("attributes", "start", "window"),
    [
        ({"chunk_start_idx": 5}, 5, 99),
        ({}, 0, 99),
        ({"chunk_start_idx": 5, "chunk_start_idx_tensor": torch.tensor([2])}, 2, 99),
        ({"chunk_start_idx": 8, "sliding_window_size": 3}, 8, 3),
    ],
)
def test_attention_of_chunks(attributes: dict[str, Any], start: int, window: int) -> None:
    def seen(batch: int, row: int, place: int) -> bool:
        return 0 <= start + row - place < window

    op = "transformer.chunked_scaled_dot_product_attention"
    close(call(op, QUERY, KEYS, VALUES, PAGES, **attributes), attention(QUERY, WHOLE_KEYS, WHOLE_VALUES, seen))
    more = {"scale": 0.25, "attention_sink": SINK}
    exact = attention(QUERY, WHOLE_KEYS, WHOLE_VALUES, seen, 0.25, sink=SINK)
    close(call(op, QUERY, KEYS, VALUES, PAGES, **attributes, **more), exact)


def test_attention_to_latents() -> None:
    mask, key = numbers(2, 1, 3, 12, seed=5), WHOLE_KEYS
    op = "transformer.flash_mla_prefill"
    causal = attention(QUERY, key, key[..., :5], lambda _, row, place: place <= row)
    close(call(op, QUERY, key, 5), causal)
    own = attention(QUERY, key, WHOLE_VALUES, None, 0.25, mask)
    latent = {"input_tensor_v": WHOLE_VALUES, "attn_mask": mask, "is_causal": False, "scale": 0.25}
    close(call(op, QUERY, key, **latent), own)
    chunked = "transformer.chunked_flash_mla_prefill"
    exact = attention(QUERY, key, key[..., :5], lambda _, row, place: place <= row + 7, 0.25)
    close(call(chunked, QUERY, KEYS, 5, PAGES, 7, 0.25), exact)


DECODED = numbers(1, 2, 4, 8, seed=6)
"""One position of two sequences."""
POSITIONS = torch.tensor([7, 3], dtype=torch.int32)
MASK = numbers(2, 1, 4, 12, seed=7)
DECODING = [
    ({"cur_pos_tensor": POSITIONS}, 99),
    ({"cur_pos_tensor": POSITIONS, "sliding_window_size": 2, "scale": 0.25}, 2),
    ({"cur_pos_tensor": POSITIONS, "is_causal": False, "attn_mask": MASK}, None),
    ({"cur_pos_tensor": POSITIONS, "attn_mask": MASK, "attention_sink": SINK, "scale": 0.5}, 99),
]


def decoded(key: Tensor, value: Tensor, attributes: dict[str, Any], window: int | None) -> Tensor:
    def seen(batch: int, row: int, place: int) -> bool:
        return 0 <= int(POSITIONS[batch]) - place < (window or 0)

    scale, mask = attributes.get("scale", 8**-0.5), attributes.get("attn_mask")
    scaled = None if mask is None else mask.transpose(1, 2) * scale
    rows = DECODED.permute(1, 2, 0, 3)
    result = attention(rows, key, value, seen if window else None, scale, scaled, attributes.get("attention_sink"))
    return result.permute(2, 0, 1, 3)


@pytest.mark.parametrize(("attributes", "window"), DECODING)
def test_decoding_over_pages(attributes: dict[str, Any], window: int | None) -> None:
    exact = decoded(WHOLE_KEYS, WHOLE_VALUES, attributes, window)
    op = "transformer.paged_scaled_dot_product_attention_decode"
    close(call(op, DECODED, KEYS, VALUES, PAGES, **attributes), exact)
    op = "transformer.paged_flash_multi_latent_attention_decode"
    close(call(op, DECODED, KEYS, PAGES, input_tensor_v=VALUES, **attributes), exact)
    latent = decoded(WHOLE_KEYS, WHOLE_KEYS[..., :3], attributes, window)
    close(call(op, DECODED, KEYS, PAGES, head_dim_v=3, **attributes), latent)
    op = "transformer.flash_multi_latent_attention_decode"
    close(call(op, DECODED, WHOLE_KEYS, WHOLE_VALUES, **attributes), exact)
    close(call(op, DECODED, WHOLE_KEYS, head_dim_v=3, **attributes), latent)
    by_list = attributes | {"cur_pos": [7, 3], "cur_pos_tensor": None}
    close(call(op, DECODED, WHOLE_KEYS, head_dim_v=3, **by_list), latent)


def test_joint_attention() -> None:
    key, value, query = WHOLE_KEYS, WHOLE_VALUES, numbers(2, 2, 5, 8, seed=8)
    own, other = call(
        "transformer.joint_scaled_dot_product_attention",
        *(query[:, :, :2], key[:, :, :7], value[:, :, :7]),
        *(query[:, :, 2:], key[:, :, 7:], value[:, :, 7:]),
        scale=0.25,
    )
    exact = attention(query, key, value, scale=0.25)
    close((own, other), (exact[:, :, :2], exact[:, :, 2:]))


def test_scaled_and_masked_softmax() -> None:
    x, mask = numbers(2, 1, 3, 4), numbers(2, 1, 3, 4, seed=1)
    close(call("scale_mask_softmax", x, 0.5), x.softmax(-1))
    close(call("scale_mask_softmax", x, 0.5, mask), (x * 0.5 + mask[:, :, :1]).softmax(-1))
    close(call("scale_mask_softmax", x, mask=mask, is_causal_mask=True), (x + mask).softmax(-1))


def test_writes_into_a_cache() -> None:
    cache, rows = numbers(3, 2, 4, 5), numbers(1, 2, 8, 5, seed=1)
    written = call("update_cache", cache, rows, 3)
    close(written[:, :, 3], rows[0, :, :3].transpose(0, 1))
    close(written[:, :, :3], cache[:, :, :3])
    written = call("update_cache", cache, rows, 1, 6)
    close(written[:2, :, 1], rows[0, :, 6:].transpose(0, 1))
    close(written[2], cache[2])


def test_a_sequence_is_written_into_its_pages() -> None:
    table = torch.tensor([[4, 1, 2], [0, -1, 3]], dtype=torch.int32)
    rows = numbers(1, 2, 10, 8, seed=9)
    written = call("experimental.paged_fill_cache", KEYS, rows, table)
    exact = KEYS.clone()
    exact[4], exact[1], exact[2, :, :2] = rows[0, :, :4], rows[0, :, 4:8], rows[0, :, 8:]
    close(written, exact)
    exact = KEYS.clone()
    exact[0], exact[3, :, :2] = rows[0, :, :4], rows[0, :, 8:]
    close(call("experimental.paged_fill_cache", KEYS, rows, table, 1), exact)
    close(call("experimental.paged_fill_cache", KEYS, rows, table, 0, torch.tensor([1])), exact)


def test_shapes_of_attention_over_pages() -> None:
    meta = [each.to("meta") for each in (QUERY, KEYS, VALUES, PAGES)]
    assert call("transformer.chunked_scaled_dot_product_attention", *meta).shape == (2, 4, 3, 6)
    meta[0] = DECODED.to("meta")
    assert call("transformer.paged_scaled_dot_product_attention_decode", *meta).shape == (1, 2, 4, 6)
    filled = [each.to("meta") for each in (KEYS, QUERY, PAGES)]
    assert call("experimental.paged_fill_cache", *filled).shape == KEYS.shape


@pytest.mark.parametrize(
    ("shared", "positions", "places"),
    [
        (False, [5, 3], [(1, 1), (0, 3)]),
        (True, [5, 3], [(1, 1), (4, 3)]),
        (False, [-1, 11], [(3, 3)]),
    ],
)
def test_one_position_of_a_paged_cache(shared: bool, positions: list[int], places: Any) -> None:
    cache, rows = KEYS.clone(), numbers(1, 2, 2, 8, seed=9)
    operands = {"cache": cache, "input": rows, "update_index": torch.tensor(positions), "page_table": PAGES}
    specs = {name: of(each) for name, each in operands.items()}
    context = Context("ttnn.paged_update_cache", "silicon", specs, ())
    assert find("ttnn.paged_update_cache").function(context, *operands.values(), shared) == ()
    exact = KEYS.clone()
    for (page, offset), sequence in zip(places, [at for at, each in enumerate(positions) if each >= 0], strict=True):
        exact[page, :, offset] = rows[0, sequence]
    close(cache, exact)


@pytest.mark.parametrize(("position", "fails"), [(3, False), (4, True)])
def test_a_position_outside_a_cache_is_refused(position: int, fails: bool) -> None:
    cache, rows = torch.zeros(1, 2, 4, 8), torch.ones(1, 1, 2, 8)
    context = Context("ttnn.paged_update_cache", "silicon", {"cache": of(cache)}, ())
    function = find("ttnn.paged_update_cache").function
    if fails:
        with pytest.raises(IndexError, match="position 4 is outside the cache of 4"):
            function(context, cache, rows, torch.tensor([position]))
    else:
        function(context, cache, rows, torch.tensor([position]))
    assert cache.sum() == (0 if fails else 16)
