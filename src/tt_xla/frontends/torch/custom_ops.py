"""``torch.ops.tt``: attention and caches as TT-NN's functions take them, with upstream's names and arguments.

Each is made of torch's own ops, so it runs on every device, eagerly and compiled, and has gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

_LIBRARY = torch.library.Library("tt", "FRAGMENT")
_ROWS = 32
"""TT-NN's attention takes queries of whole tiles."""

_Function = TypeVar("_Function", bound=Callable[..., Tensor])


def _op(function: _Function) -> _Function:
    """Makes ``torch.ops.tt.<name>`` of a function."""
    name = function.__name__
    _LIBRARY.define(name + torch.library.infer_schema(function, mutates_args=()))
    _LIBRARY.impl(name, function, "CompositeImplicitAutograd")
    return function


@_op
def mark_argument_attributes(tensor: Tensor, argument_type: str, name: str | None = None) -> Tensor:
    """The tensor itself. What is an input and what a parameter, and their names, are known of the module."""
    if argument_type not in ("input", "parameter", "constant"):
        raise ValueError(f"argument_type is {argument_type!r}; expected 'input', 'parameter' or 'constant'")
    return tensor.clone()


@_op
def sharding_constraint(tensor: Tensor, sdy_sharding: str) -> Tensor:
    """The tensor itself: a mesh has one device so far."""
    return tensor.clone()


@_op
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = True,
    scale: float | None = None,
    sliding_window_size: int | None = None,
) -> Tensor:
    """Attention of [batch, heads, sequence, width]; query heads may share key heads.

    Args:
        attn_mask: added to the scores, where ``is_causal`` is False.
        sliding_window_size: a query sees so many keys, up to its own place.
    """
    name = "scaled_dot_product_attention"
    _check_heads(name, query, key, value, query.dim() == 4 and query.shape[1])
    _check(key.shape == value.shape, name, "key and value must have one shape", key=key, value=value)
    _check_prefill(name, query, key, attn_mask, is_causal)
    if sliding_window_size is None:
        return _attention(query, key, value, attn_mask, is_causal=is_causal, scale=scale)
    if sliding_window_size <= 0:
        raise ValueError(f"tt.{name}: sliding_window_size must be positive, got {sliding_window_size}")
    distance = _places(query, query.shape[2]).unsqueeze(1) - _places(key, key.shape[2])
    seen = distance < sliding_window_size
    seen = seen & (distance >= 0) if is_causal else seen
    return _attention(query, key, value, _added(seen, query, attn_mask), scale=scale)


@_op
def flash_mla_prefill(
    query: Tensor,
    key: Tensor,
    head_dim_v: int,
    value: Tensor | None = None,
    attn_mask: Tensor | None = None,
    is_causal: bool = True,
    scale: float | None = None,
) -> Tensor:
    """Multi-head latent attention: without ``value``, values are the first ``head_dim_v`` features of keys."""
    name = "flash_mla_prefill"
    value = _latent(name, key, value, head_dim_v)
    _check_heads(name, query, key, value, query.dim() == 4 and query.shape[1])
    _check(query.shape[2] == key.shape[2], name, "query and key must be of one length", query=query, key=key)
    _check_prefill(name, query, key, attn_mask, is_causal)
    if attn_mask is None and not is_causal:
        raise ValueError(f"tt.{name}: without attn_mask, is_causal must be True")
    return _attention(query, key, value, attn_mask, is_causal=is_causal, scale=scale)


@_op
def scaled_dot_product_attention_decode(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cur_pos_tensor: Tensor,
    attn_mask: Tensor | None = None,
    attention_sink: Tensor | None = None,
    is_causal: bool = True,
    scale: float | None = None,
) -> Tensor:
    """Attention of one token a user, [1, users, heads, width], to keys [users, key heads, length, width].

    Args:
        cur_pos_tensor: [users]; a user sees the keys up to this place, where ``is_causal``.
        attn_mask: [users, 1, heads, length], added to the scores, where ``is_causal`` is False.
        attention_sink: a logit a head that takes part in the softmax and has no value.
    """
    name = "scaled_dot_product_attention_decode"
    _check_decode(name, query, key, value)
    users, heads = query.shape[1:3]
    _check(users == key.shape[0], name, "query and key must be of one batch", query=query, key=key)
    if attn_mask is not None and attn_mask.shape[-2] == heads:
        attn_mask = attn_mask.reshape(users, heads, 1, -1)
    return _decode(name, query, key, value, cur_pos_tensor, attn_mask, attention_sink, is_causal, scale)


@_op
def paged_scaled_dot_product_attention_decode(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    page_table: Tensor,
    is_causal: bool = False,
    attn_mask: Tensor | None = None,
    cur_pos_tensor: Tensor | None = None,
    attention_sink: Tensor | None = None,
    scale: float | None = None,
    sliding_window_size: int | None = None,
) -> Tensor:
    """:func:`scaled_dot_product_attention_decode` to keys in blocks, [blocks, key heads, block size, width].

    Args:
        page_table: [users, blocks of a user], the numbers of a user's blocks in order.
        sliding_window_size: a user sees so many keys, up to the current place.
    """
    name = "paged_scaled_dot_product_attention_decode"
    _check_decode(name, query, key, value)
    keys, values = _pages(name, key, page_table, query), _pages(name, value, page_table, query)
    return _decode(
        name, query, keys, values, cur_pos_tensor, attn_mask, attention_sink, is_causal, scale, sliding_window_size
    )


@_op
def paged_flash_mla_decode(
    query: Tensor,
    key: Tensor,
    head_dim_v: int,
    page_table: Tensor,
    value: Tensor | None = None,
    is_causal: bool = True,
    attn_mask: Tensor | None = None,
    cur_pos_tensor: Tensor | None = None,
    attention_sink: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """:func:`paged_scaled_dot_product_attention_decode` with latent attention, as in :func:`flash_mla_prefill`."""
    name = "paged_flash_mla_decode"
    value = _latent(name, key, value, head_dim_v)
    _check_decode(name, query, key, value)
    if attn_mask is None and not is_causal:
        raise ValueError(f"tt.{name}: without attn_mask, is_causal must be True")
    keys, values = _pages(name, key, page_table, query), _pages(name, value, page_table, query)
    return _decode(name, query, keys, values, cur_pos_tensor, attn_mask, attention_sink, is_causal, scale)


@_op
def chunked_scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    page_table: Tensor,
    chunk_start_idx_tensor: Tensor,
    scale: float | None = None,
) -> Tensor:
    """Causal attention of a part of a prompt to the whole of it so far, whose keys lie in blocks.

    Args:
        page_table: [users, blocks of a user].
        chunk_start_idx_tensor: the place in the prompt of the first query, one number.
    """
    name = "chunked_scaled_dot_product_attention"
    _check_heads(name, query, key, value, query.dim() == 4 and query.shape[1])
    keys, values = (_pages(name, x, page_table, query, users=query.shape[0]) for x in (key, value))
    rows = chunk_start_idx_tensor.reshape(1) + _places(query, query.shape[2])
    seen = _places(query, keys.shape[2]) <= rows.unsqueeze(1)
    return _attention(query, keys, values, _added(seen, query), scale=scale)


@_op
def update_cache(cache: Tensor, fill_value: Tensor, cache_position: Tensor, batch_offset: int | None = None) -> Tensor:
    """A cache, [batch, heads, length, width], with ``fill_value`` at one place, from ``batch_offset`` on."""
    name = "update_cache"
    one = fill_value.dim() == 4 and fill_value.shape[2] == 1
    _check(one, name, "fill_value must be [batch, heads, 1, width]", fill_value=fill_value)
    _check(cache_position.shape == (1,), name, "cache_position must be one number", cache_position=cache_position)
    first, last = _batches(name, cache, fill_value, batch_offset)
    result = cache.clone()
    result[first:last].index_copy_(2, cache_position.long(), fill_value.to(cache.dtype))
    return result


@_op
def fill_cache(cache: Tensor, fill_value: Tensor, batch_offset: int | None = None) -> Tensor:
    """A cache, [batch, heads, length, width], with ``fill_value`` at its first places, from ``batch_offset`` on."""
    name = "fill_cache"
    first, last = _batches(name, cache, fill_value, batch_offset)
    fits = fill_value.shape[2] <= cache.shape[2]
    _check(fits, name, "fill_value is longer than the cache", cache=cache, fill_value=fill_value)
    result = cache.clone()
    result[first:last, :, : fill_value.shape[2]] = fill_value
    return result


@_op
def paged_update_cache(
    cache: Tensor, fill_value: Tensor, update_indices: Tensor, page_table: Tensor, share_cache: bool = False
) -> Tensor:
    """A cache of blocks, [blocks, heads, block size, width], with one token a user.

    Args:
        fill_value: [1, users, at least as many heads, width].
        update_indices: [users], the places of the tokens; -1 writes none.
        page_table: [users, blocks of a user], or [1, ...] with ``share_cache``: one row for all.
    """
    name = "paged_update_cache"
    _check(
        cache.dim() == 4 and fill_value.dim() == 4, name, "expected 4 dimensions", cache=cache, fill_value=fill_value
    )
    positions = update_indices.long()
    block_size, active = cache.shape[2], positions >= 0
    # An idle user repeats the write of the first active one: its own old row could overwrite what another user wrote to
    # a shared block. Where all users are idle, each writes back the row that the cache holds.
    writers = torch.where(active, _places(positions, positions.shape[0]), active.long().argmax())
    positions, active = positions[writers].clamp(min=0), active[writers]
    table_rows = torch.zeros_like(writers) if share_cache else writers
    blocks, offsets = page_table.long()[table_rows, positions // block_size], positions % block_size
    tokens = fill_value[0, :, : cache.shape[1]].to(cache.dtype)[writers]
    rows = torch.where(active[:, None, None], tokens, cache[blocks, :, offsets])
    result = cache.clone()
    result[blocks, :, offsets] = rows
    return result


@_op
def paged_fill_cache(cache: Tensor, fill_value: Tensor, page_table: Tensor, batch_idx: Tensor | None = None) -> Tensor:
    """A cache of blocks, [blocks, heads, block size, width], with the first tokens of a user.

    Args:
        fill_value: [1, heads, tokens, width].
        page_table: [users, blocks of a user].
        batch_idx: the user, one number; the first where left out.
    """
    name = "paged_fill_cache"
    _check(
        cache.dim() == 4 and fill_value.dim() == 4, name, "expected 4 dimensions", cache=cache, fill_value=fill_value
    )
    size, count = cache.shape[2], fill_value.shape[2]
    fits = count <= page_table.shape[1] * size
    _check(fits, name, "fill_value has no room in a user's blocks", fill_value=fill_value, page_table=page_table)
    table = page_table[0] if batch_idx is None else page_table.index_select(0, batch_idx.reshape(1).long())[0]
    places = _places(cache, count)
    rows = fill_value[0].transpose(0, 1).to(cache.dtype)
    result = cache.clone()
    result[table.long()[places // size], :, places % size] = rows
    return result


@_op
def sampling(input_values: Tensor, input_indices: Tensor, k: Tensor, p: Tensor, temp: Tensor) -> Tensor:
    """The next token of each user, drawn by torch's generator.

    Args:
        input_values: [users, candidates], logits.
        input_indices: [users, candidates], their tokens.
        k: [users], so many of the likeliest take part.
        p: [users], as do those before whose likelihood adds up to this.
        temp: [users], what logits are divided by.
    """
    logits = input_values.float() / temp.float().unsqueeze(-1).clamp(min=1e-6)
    chances, order = torch.softmax(logits, -1).sort(-1, descending=True)
    before = chances.cumsum(-1) - chances
    taken = (_places(logits, logits.shape[1]) < k.unsqueeze(-1)) & (before < p.unsqueeze(-1))
    taken = taken | (_places(logits, logits.shape[1]) == 0)
    drawn = torch.multinomial(torch.where(taken, chances, 0), 1)
    return input_indices.gather(1, order.gather(1, drawn)).squeeze(-1).int()


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None,
    sink: Tensor | None = None,
) -> Tensor:
    if sink is None:
        shared = query.shape[1] != key.shape[1]
        mask = None if mask is None else mask.to(query.dtype)
        return F.scaled_dot_product_attention(
            query, key, value, mask, is_causal=is_causal, scale=scale, enable_gqa=shared
        )
    groups = query.shape[1] // key.shape[1]
    keys, values = (x.repeat_interleave(groups, 1) for x in (key, value))
    scores = query @ keys.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if mask is None else scores + mask
    logits = sink.reshape(1, -1, 1, 1).to(scores.dtype).expand(*scores.shape[:-1], 1)
    weights = torch.softmax(torch.cat([scores, logits], -1), -1)[..., :-1]
    return (weights @ values).to(query.dtype)


def _decode(
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    places: Tensor | None,
    mask: Tensor | None,
    sink: Tensor | None,
    is_causal: bool,
    scale: float | None,
    window: int | None = None,
) -> Tensor:
    """Attention of [1, users, heads, width] to [users, key heads, length, width]."""
    users, heads = query.shape[1:3]
    if mask is not None and is_causal:
        raise ValueError(f"tt.{name}: with is_causal there is no attn_mask")
    if is_causal or window is not None:
        if places is None:
            raise ValueError(f"tt.{name}: is_causal and sliding_window_size need cur_pos_tensor")
        _check(places.shape == (users,), name, "cur_pos_tensor must be [users]", query=query, cur_pos_tensor=places)
        distance = places.reshape(users, 1, 1, 1) - _places(key, key.shape[2])
        seen = distance >= 0
        mask = _added(seen if window is None else seen & (distance < window), query, mask)
    if sink is not None:
        _check(sink.numel() == heads, name, "attention_sink must be a number a head", attention_sink=sink)
    rows = query.reshape(users, heads, 1, query.shape[3])
    return _attention(rows, key, value, mask, scale=scale, sink=sink).reshape(1, users, heads, value.shape[3])


def _pages(name: str, cache: Tensor, table: Tensor, query: Tensor, users: int | None = None) -> Tensor:
    """[users, heads, length, width] of blocks, by a table of [users, blocks of a user]."""
    users = query.shape[1] if users is None else users
    fits = table.dim() == 2 and table.shape[0] == users
    _check(fits, name, "page_table must be [users, blocks of a user]", page_table=table, query=query)
    _, heads, size, width = cache.shape
    return cache[table.long()].permute(0, 2, 1, 3, 4).reshape(users, heads, table.shape[1] * size, width)


def _latent(name: str, key: Tensor, value: Tensor | None, width: int) -> Tensor:
    """The values, ``width`` wide: as given, or the first features of keys."""
    wide = key if value is None else value
    fits = 0 < width <= key.shape[-1] if value is None else width == value.shape[-1]
    _check(fits, name, f"head_dim_v is {width}", key=key, value=wide)
    return wide[..., :width]


def _places(like: Tensor, count: int) -> Tensor:
    return torch.arange(count, device=like.device)


def _added(seen: Tensor, query: Tensor, mask: Tensor | None = None) -> Tensor:
    """``mask``, or zeros, with negative infinity where nothing is seen."""
    hidden = torch.zeros_like(seen, dtype=query.dtype).masked_fill(~seen, -torch.inf)
    return hidden if mask is None else mask + hidden


def _batches(name: str, cache: Tensor, rows: Tensor, offset: int | None) -> tuple[int, int]:
    """The part of the batch that is written."""
    fits = cache.dim() == rows.dim() == 4 and cache.shape[1::2] == rows.shape[1::2]
    _check(fits, name, "expected 4 dimensions, of as many heads and one width", cache=cache, fill_value=rows)
    if offset is None and cache.shape[0] != 1:
        raise ValueError(f"tt.{name}: a batch of {cache.shape[0]} needs batch_offset")
    first, last = offset or 0, (offset or 0) + rows.shape[0]
    _check(first >= 0 and last <= cache.shape[0], name, f"batch_offset is {offset}", cache=cache, fill_value=rows)
    return first, last


def _check_heads(name: str, query: Tensor, key: Tensor, value: Tensor, heads: int) -> None:
    given = {"query": query, "key": key, "value": value}
    _check(query.dim() == key.dim() == value.dim() == 4, name, "expected 4 dimensions", **given)
    _check(query.shape[3] == key.shape[3], name, "query and key must be of one width", **given)
    _check(key.shape[:3] == value.shape[:3], name, "key and value do not fit together", **given)
    _check(heads % key.shape[1] == 0, name, "as many query heads must share each key head", **given)


def _check_decode(name: str, query: Tensor, key: Tensor, value: Tensor) -> None:
    _check(query.dim() == 4 and query.shape[0] == 1, name, "query must be [1, users, heads, width]", query=query)
    _check_heads(name, query, key, value, query.shape[2])


def _check_prefill(name: str, query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool) -> None:
    _check(query.shape[0] == key.shape[0], name, "query and key must be of one batch", query=query, key=key)
    _check(query.shape[2] % _ROWS == 0, name, f"the length of query must be a multiple of {_ROWS}", query=query)
    if mask is not None and is_causal:
        raise ValueError(f"tt.{name}: with is_causal there is no attn_mask")


def _check(holds: bool, name: str, what: str, **tensors: Tensor) -> None:
    if not holds:
        given = ", ".join(f"{label}: {list(tensor.shape)}" for label, tensor in tensors.items())
        raise ValueError(f"tt.{name}: {what}; got {given}")
