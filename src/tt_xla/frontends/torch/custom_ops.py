"""``torch.ops.tt``: attention and cache ops with the interfaces of TT-NN's functions and upstream's names.

Each op is composed of torch's own ops, so it runs on every device, eagerly and compiled, and has gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

_LIBRARY = torch.library.Library("tt", "FRAGMENT")
_ROWS = 32
"""Rows of a tile; TT-NN's attention requires a query length that is a multiple of it."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def composite_op(function: _Function) -> _Function:
    """Registers a function as ``torch.ops.tt.<name>``."""
    name = function.__name__
    _LIBRARY.define(name + torch.library.infer_schema(function, mutates_args=()))
    _LIBRARY.impl(name, function, "CompositeImplicitAutograd")
    return function


@composite_op
def mark_argument_attributes(tensor: Tensor, argument_type: str, name: str | None = None) -> Tensor:
    """Returns a copy of the tensor.

    The mark has no effect, because the frontend knows inputs, parameters and their names from the module.

    Raises:
        ValueError: ``argument_type`` is not "input", "parameter" or "constant".
    """
    if argument_type not in ("input", "parameter", "constant"):
        raise ValueError(f"argument_type is {argument_type!r}; expected 'input', 'parameter' or 'constant'")
    return tensor.clone()


SHARDING_CONSTRAINT = "tt.sharding_constraint"
"""Target of the custom call that constrains the sharding of its operand; ``backend_config`` is Shardy's text, in which
``mesh_idx_0`` is the first axis of the mesh."""

MARK = "tt.mark_sharding"
"""Target of the custom call that splits its operand over a mesh of its own; ``backend_config`` is the JSON of
``chips``, ``shape`` and ``axes`` of the mesh, and of ``dims``, the indices of the axes that split each dimension."""

FULL_TO_SHARD = "tt.full_to_shard"
"""Target of the custom call whose result is every chip's part of its operand; ``backend_config`` is that of a mark."""

SHARD_TO_FULL = "tt.shard_to_full"
"""Target of the custom call whose result has every chip's operand as a part; ``backend_config`` is that of a mark."""

SHARD_ALIKE = "tt.shard_alike"
"""Target of the custom call that returns its two operands, which are split in the same way."""

COLLECTIVE = "tt.collective"
"""Target of the custom call of a collective; ``backend_config`` is the JSON of the op's name and attributes."""


def _kept_op(function: _Function) -> _Function:
    """Registers a function as ``torch.ops.tt.<name>`` that stays one op in a graph, for a lowering rule of its own."""
    name = function.__name__
    _LIBRARY.define(name + torch.library.infer_schema(function, mutates_args=()))
    _LIBRARY.impl(name, function, "CPU")
    return function


@_kept_op
def sharding_constraint(tensor: Tensor, sdy_sharding: str) -> Tensor:
    """Returns a copy of the tensor. In a program for several chips, it is split as ``sdy_sharding`` says.

    Args:
        sdy_sharding: Shardy's text, such as ``#sdy.sharding_per_value<[<@mesh, [{"mesh_idx_0"}, {}]>]>``.
    """
    return tensor.clone()


torch.library.register_fake("tt::sharding_constraint", lambda tensor, sdy_sharding: torch.empty_like(tensor))


def _constrain_gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
    return torch.ops.tt.sharding_constraint(gradient, ctx.sdy_sharding), None


def _keep_sharding(ctx: Any, inputs: tuple[Tensor, str], output: Tensor) -> None:
    ctx.sdy_sharding = inputs[1]


torch.library.register_autograd("tt::sharding_constraint", _constrain_gradient, setup_context=_keep_sharding)


_LIBRARY.define(
    "mark_sharding(Tensor tensor, int[] chips, int[] mesh_shape, str[] axis_names, str[] dims, bool gradient) -> Tensor"
)


@torch.library.impl(_LIBRARY, "mark_sharding", "CPU")
def _mark_sharding(
    tensor: Tensor, chips: list[int], mesh_shape: list[int], axis_names: list[str], dims: list[str], gradient: bool
) -> Tensor:
    """Returns a copy of the tensor. In a program, it is split over a mesh, and the program runs on that mesh.

    Args:
        tensor: the tensor.
        chips: number of the chip at each position of the mesh.
        mesh_shape: number of chips along each axis of the mesh.
        axis_names: name of each axis.
        dims: indices of the axes that split each dimension, such as ``"0 1"``, or an empty string.
        gradient: whether the gradient is split in the same way.
    """
    return tensor.clone()


def mark_arguments(
    chips: Sequence[int], shape: Sequence[int], axes: Sequence[str], dims: Sequence[Sequence[int]]
) -> tuple[list[int], list[int], list[str], list[str]]:
    """Returns the arguments of ``torch.ops.tt.mark_sharding`` between the tensor and ``gradient``.

    Args:
        chips: number of the chip at each position of the mesh.
        shape: number of chips along each axis of the mesh.
        axes: name of each axis.
        dims: indices of the axes that split each dimension.
    """
    return list(chips), list(shape), list(axes), [" ".join([str(axis) for axis in dim]) for dim in dims]


MARK_OP = torch.ops.tt.mark_sharding.default
"""The op that marks a tensor in a graph and among recorded ops."""

torch.library.register_fake("tt::mark_sharding", lambda tensor, *_: torch.empty_like(tensor))


def _mark_gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    marked = torch.ops.tt.mark_sharding(gradient, *ctx.sharding) if ctx.sharding[-1] else gradient
    return marked, None, None, None, None, None


def _keep_mark(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.sharding = inputs[1:]


torch.library.register_autograd("tt::mark_sharding", _mark_gradient, setup_context=_keep_mark)


_LIBRARY.define(
    "full_to_shard(Tensor tensor, int[] chips, int[] mesh_shape, str[] axis_names, str[] dims, int[] shape) -> Tensor"
)
_LIBRARY.define(
    "shard_to_full(Tensor tensor, int[] chips, int[] mesh_shape, str[] axis_names, str[] dims, int[] shape) -> Tensor"
)
FULL_TO_SHARD_OP = torch.ops.tt.full_to_shard.default
"""The op whose result is every chip's part of a tensor, of the shape of one part."""
SHARD_TO_FULL_OP = torch.ops.tt.shard_to_full.default
"""The op whose result is the tensor that the chips' results of ops on their parts make up."""


def _refuse_parts(tensor: Tensor, *_: Any) -> Tensor:
    raise NotImplementedError("Manual sharding takes tensors on device 'tt'. Move the tensor there first.")


for _name in ("full_to_shard", "shard_to_full"):
    _LIBRARY.impl(_name, _refuse_parts, "CPU")
    torch.library.register_fake(f"tt::{_name}", lambda tensor, *arguments: tensor.new_empty(arguments[-1]))


_LIBRARY.define("shard_alike(Tensor a, Tensor b) -> (Tensor, Tensor)")
_LIBRARY.impl("shard_alike", lambda a, b: (a.clone(), b.clone()), "CPU")
torch.library.register_fake("tt::shard_alike", lambda a, b: (torch.empty_like(a), torch.empty_like(b)))
torch.library.register_autograd("tt::shard_alike", lambda ctx, *gradients: gradients)


@_kept_op
def collective(tensor: Tensor, config: str, shape: list[int]) -> Tensor:
    """Returns the result of a collective of StableHLO in which every chip has ``tensor``.

    Args:
        config: JSON of ``op`` (``all_reduce``), ``groups`` of chips (empty for all), ``reduction`` and ``integers``.
        shape: shape of the result.

    Raises:
        NotImplementedError: the tensor is on the CPU.
    """
    raise NotImplementedError("Collectives take tensors on device 'tt'. Move the tensor there first.")


torch.library.register_fake("tt::collective", lambda tensor, config, shape: tensor.new_empty(shape))


@composite_op
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = True,
    scale: float | None = None,
    sliding_window_size: int | None = None,
) -> Tensor:
    """Returns scaled dot product attention for tensors [batch, heads, sequence, width].

    Several query heads may share a key head.

    Args:
        attn_mask: Added to the scores; only if ``is_causal`` is False.
        sliding_window_size: Number of keys that a query attends to, ending at its own position.

    Raises:
        ValueError: The shapes or arguments do not fit together.
    """
    name = "scaled_dot_product_attention"
    _check_heads(name, query, key, value, query.dim() == 4 and query.shape[1])
    check(key.shape == value.shape, name, "key and value must have one shape", key=key, value=value)
    _check_prefill(name, query, key, attn_mask, is_causal)
    if sliding_window_size is None:
        return _attention(query, key, value, attn_mask, is_causal=is_causal, scale=scale)
    if sliding_window_size <= 0:
        raise ValueError(f"tt.{name}: sliding_window_size must be positive, got {sliding_window_size}")
    distance = _positions(query, query.shape[2]).unsqueeze(1) - _positions(key, key.shape[2])
    visible = distance < sliding_window_size
    visible = visible & (distance >= 0) if is_causal else visible
    return _attention(query, key, value, _score_mask(visible, query, attn_mask), scale=scale)


@composite_op
def flash_mla_prefill(
    query: Tensor,
    key: Tensor,
    head_dim_v: int,
    value: Tensor | None = None,
    attn_mask: Tensor | None = None,
    is_causal: bool = True,
    scale: float | None = None,
) -> Tensor:
    """Returns multi-head latent attention.

    Args:
        head_dim_v: Width of the values.
        value: The values; without them, the first ``head_dim_v`` features of the keys are the values.
    """
    name = "flash_mla_prefill"
    value = _latent(name, key, value, head_dim_v)
    _check_heads(name, query, key, value, query.dim() == 4 and query.shape[1])
    check(query.shape[2] == key.shape[2], name, "query and key must have the same length", query=query, key=key)
    _check_prefill(name, query, key, attn_mask, is_causal)
    if attn_mask is None and not is_causal:
        raise ValueError(f"tt.{name}: without attn_mask, is_causal must be True")
    return _attention(query, key, value, attn_mask, is_causal=is_causal, scale=scale)


@composite_op
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
    """Returns attention of one token a user, [1, users, heads, width], to keys [users, key heads, length, width].

    Args:
        cur_pos_tensor: [users], the last position that a user attends to; only with ``is_causal``.
        attn_mask: [users, 1, heads, length], added to the scores; only if ``is_causal`` is False.
        attention_sink: One logit a head, which takes part in the softmax and has no value.
    """
    name = "scaled_dot_product_attention_decode"
    _check_decode(name, query, key, value)
    users, heads = query.shape[1:3]
    check(users == key.shape[0], name, "query and key must have the same number of users", query=query, key=key)
    if attn_mask is not None and attn_mask.shape[-2] == heads:
        attn_mask = attn_mask.reshape(users, heads, 1, -1)
    return _decode(name, query, key, value, cur_pos_tensor, attn_mask, attention_sink, is_causal, scale)


@composite_op
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
    """Same as :func:`scaled_dot_product_attention_decode`, for keys in blocks [blocks, key heads, block size, width].

    Args:
        page_table: [users, blocks of a user], the indices of each user's blocks in order.
        sliding_window_size: Number of keys that a user attends to, ending at the current position.
    """
    name = "paged_scaled_dot_product_attention_decode"
    _check_decode(name, query, key, value)
    keys, values = _pages(name, key, page_table, query), _pages(name, value, page_table, query)
    return _decode(
        name, query, keys, values, cur_pos_tensor, attn_mask, attention_sink, is_causal, scale, sliding_window_size
    )


@composite_op
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
    """Same as :func:`paged_scaled_dot_product_attention_decode`, with the values of :func:`flash_mla_prefill`."""
    name = "paged_flash_mla_decode"
    value = _latent(name, key, value, head_dim_v)
    _check_decode(name, query, key, value)
    if attn_mask is None and not is_causal:
        raise ValueError(f"tt.{name}: without attn_mask, is_causal must be True")
    keys, values = _pages(name, key, page_table, query), _pages(name, value, page_table, query)
    return _decode(name, query, keys, values, cur_pos_tensor, attn_mask, attention_sink, is_causal, scale)


@composite_op
def chunked_scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    page_table: Tensor,
    chunk_start_idx_tensor: Tensor,
    scale: float | None = None,
) -> Tensor:
    """Returns causal attention of one chunk of a prompt to the prompt so far, whose keys are in blocks.

    Args:
        page_table: [users, blocks of a user], the indices of each user's blocks in order.
        chunk_start_idx_tensor: One number, the position of the first query in the prompt.
    """
    name = "chunked_scaled_dot_product_attention"
    _check_heads(name, query, key, value, query.dim() == 4 and query.shape[1])
    keys, values = (_pages(name, x, page_table, query, users=query.shape[0]) for x in (key, value))
    query_positions = chunk_start_idx_tensor.reshape(1) + _positions(query, query.shape[2])
    visible = _positions(query, keys.shape[2]) <= query_positions.unsqueeze(1)
    return _attention(query, keys, values, _score_mask(visible, query), scale=scale)


@composite_op
def update_cache(cache: Tensor, fill_value: Tensor, cache_position: Tensor, batch_offset: int | None = None) -> Tensor:
    """Returns a cache with one token a sequence written to it.

    Args:
        cache: [batch, heads, length, width].
        fill_value: [sequences, heads, 1, width].
        cache_position: One number, the position to write to.
        batch_offset: Index in the batch of the first sequence; may be left out for a batch of 1.
    """
    name = "update_cache"
    one_token = fill_value.dim() == 4 and fill_value.shape[2] == 1
    check(one_token, name, "fill_value must be [batch, heads, 1, width]", fill_value=fill_value)
    check(cache_position.shape == (1,), name, "cache_position must be one number", cache_position=cache_position)
    first, last = _batches(name, cache, fill_value, batch_offset)
    result = cache.clone()
    result[first:last].index_copy_(2, cache_position.long(), fill_value.to(cache.dtype))
    return result


@composite_op
def fill_cache(cache: Tensor, fill_value: Tensor, batch_offset: int | None = None) -> Tensor:
    """Returns a cache with the first tokens of sequences written to it.

    Args:
        cache: [batch, heads, length, width].
        fill_value: [sequences, heads, tokens, width].
        batch_offset: Index in the batch of the first sequence; may be left out for a batch of 1.
    """
    name = "fill_cache"
    first, last = _batches(name, cache, fill_value, batch_offset)
    fits = fill_value.shape[2] <= cache.shape[2]
    check(fits, name, "fill_value is longer than the cache", cache=cache, fill_value=fill_value)
    result = cache.clone()
    result[first:last, :, : fill_value.shape[2]] = fill_value
    return result


@composite_op
def paged_update_cache(
    cache: Tensor, fill_value: Tensor, update_indices: Tensor, page_table: Tensor, share_cache: bool = False
) -> Tensor:
    """Returns a cache of blocks, [blocks, heads, block size, width], with one token a user written to it.

    Args:
        fill_value: [1, users, heads or more, width]; heads beyond those of the cache are ignored.
        update_indices: [users], the positions of the tokens; -1 marks an idle user, who writes nothing.
        page_table: [users, blocks of a user], the indices of each user's blocks in order; [1, blocks of a user] with
            ``share_cache``.
        share_cache: Whether all users share the first row of ``page_table``.
    """
    name = "paged_update_cache"
    check(cache.dim() == 4 and fill_value.dim() == 4, name, "expected 4 dimensions", cache=cache, fill_value=fill_value)
    positions = update_indices.long()
    block_size, active = cache.shape[2], positions >= 0
    # An idle user repeats the write of the first active one: its own old row could overwrite what another user wrote to
    # a shared block. Where all users are idle, each writes back the row that the cache holds.
    writers = torch.where(active, _positions(positions, positions.shape[0]), active.long().argmax())
    positions, active = positions[writers].clamp(min=0), active[writers]
    table_rows = torch.zeros_like(writers) if share_cache else writers
    blocks, offsets = page_table.long()[table_rows, positions // block_size], positions % block_size
    tokens = fill_value[0, :, : cache.shape[1]].to(cache.dtype)[writers]
    rows = torch.where(active[:, None, None], tokens, cache[blocks, :, offsets])
    result = cache.clone()
    result[blocks, :, offsets] = rows
    return result


@composite_op
def paged_fill_cache(cache: Tensor, fill_value: Tensor, page_table: Tensor, batch_idx: Tensor | None = None) -> Tensor:
    """Returns a cache of blocks, [blocks, heads, block size, width], with the first tokens of one user written to it.

    Args:
        fill_value: [1, heads, tokens, width].
        page_table: [users, blocks of a user], the indices of each user's blocks in order; tokens of a block whose index
            is -1 are left out.
        batch_idx: One number, the user's row of ``page_table``; 0 if left out.
    """
    name = "paged_fill_cache"
    check(cache.dim() == 4 and fill_value.dim() == 4, name, "expected 4 dimensions", cache=cache, fill_value=fill_value)
    size, count = cache.shape[2], fill_value.shape[2]
    fits = count <= page_table.shape[1] * size
    check(fits, name, "fill_value is longer than a user's blocks", fill_value=fill_value, page_table=page_table)
    table = page_table[0] if batch_idx is None else page_table.index_select(0, batch_idx.reshape(1).long())[0]
    positions = _positions(cache, count)
    kept = table.long()[positions // size] >= 0
    # A token that is left out repeats the write of the first that is not. Where all are, each writes back the row that
    # the cache holds.
    writers = torch.where(kept, positions, kept.long().argmax())
    blocks, offsets, kept = table.long()[writers // size].clamp(min=0), writers % size, kept[writers]
    tokens = fill_value[0].transpose(0, 1).to(cache.dtype)[writers]
    result = cache.clone()
    result[blocks, :, offsets] = torch.where(kept[:, None, None], tokens, cache[blocks, :, offsets])
    return result


@composite_op
def sampling(input_values: Tensor, input_indices: Tensor, k: Tensor, p: Tensor, temp: Tensor) -> Tensor:
    """Returns the next token of each user, [users], drawn by torch's random number generator.

    Args:
        input_values: [users, candidates], logits of the candidates.
        input_indices: [users, candidates], tokens of the candidates.
        k: [users], the number of likeliest candidates to draw from.
        p: [users], the total probability from which on further candidates are left out.
        temp: [users], the temperature, which divides the logits.
    """
    logits = input_values.float() / temp.float().unsqueeze(-1).clamp(min=1e-6)
    probabilities, order = torch.softmax(logits, -1).sort(-1, descending=True)
    total_before = probabilities.cumsum(-1) - probabilities
    ranks = _positions(logits, logits.shape[1])
    eligible = (ranks < k.unsqueeze(-1)) & (total_before < p.unsqueeze(-1))
    eligible = eligible | (ranks == 0)
    drawn = torch.multinomial(torch.where(eligible, probabilities, 0), 1)
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
    """Returns attention for tensors [batch, heads, sequence, width], with an optional sink of one logit a head."""
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
    positions: Tensor | None,
    mask: Tensor | None,
    sink: Tensor | None,
    is_causal: bool,
    scale: float | None,
    window: int | None = None,
) -> Tensor:
    """Returns attention of one token a user, [1, users, heads, width], to keys [users, key heads, length, width]."""
    users, heads = query.shape[1:3]
    if mask is not None and is_causal:
        raise ValueError(f"tt.{name}: attn_mask needs is_causal=False")
    if is_causal or window is not None:
        if positions is None:
            raise ValueError(f"tt.{name}: is_causal and sliding_window_size need cur_pos_tensor")
        check(
            positions.shape == (users,), name, "cur_pos_tensor must be [users]", query=query, cur_pos_tensor=positions
        )
        distance = positions.reshape(users, 1, 1, 1) - _positions(key, key.shape[2])
        visible = distance >= 0
        mask = _score_mask(visible if window is None else visible & (distance < window), query, mask)
    if sink is not None:
        check(sink.numel() == heads, name, "attention_sink must hold one number a head", attention_sink=sink)
    rows = query.reshape(users, heads, 1, query.shape[3])
    return _attention(rows, key, value, mask, scale=scale, sink=sink).reshape(1, users, heads, value.shape[3])


def _pages(name: str, cache: Tensor, table: Tensor, query: Tensor, users: int | None = None) -> Tensor:
    """Gathers each user's blocks of a cache: [users, heads, length, width] by a table [users, blocks of a user]."""
    users = query.shape[1] if users is None else users
    fits = table.dim() == 2 and table.shape[0] == users
    check(fits, name, "page_table must be [users, blocks of a user]", page_table=table, query=query)
    _, heads, size, width = cache.shape
    return cache[table.long()].permute(0, 2, 1, 3, 4).reshape(users, heads, table.shape[1] * size, width)


def _latent(name: str, key: Tensor, value: Tensor | None, width: int) -> Tensor:
    """Returns the values of latent attention, ``width`` features wide; without ``value`` the first of the keys'."""
    features = key if value is None else value
    fits = 0 < width <= key.shape[-1] if value is None else width == value.shape[-1]
    expected = "at most the width of key" if value is None else "the width of value"
    check(fits, name, f"head_dim_v must be {expected}, got {width}", key=key, value=features)
    return features[..., :width]


def _positions(like: Tensor, count: int) -> Tensor:
    """Returns the numbers from 0 to ``count`` - 1 on the device of a tensor."""
    return torch.arange(count, device=like.device)


def _score_mask(visible: Tensor, query: Tensor, mask: Tensor | None = None) -> Tensor:
    """Returns ``mask``, or zeros, with negative infinity added where ``visible`` is false."""
    hidden = torch.zeros_like(visible, dtype=query.dtype).masked_fill(~visible, -torch.inf)
    return hidden if mask is None else mask + hidden


def _batches(name: str, cache: Tensor, rows: Tensor, offset: int | None) -> tuple[int, int]:
    """Returns the first sequence of the batch to write to, and the one after the last."""
    fits = cache.dim() == rows.dim() == 4 and cache.shape[1::2] == rows.shape[1::2]
    check(fits, name, "expected 4 dimensions with the same heads and width", cache=cache, fill_value=rows)
    if offset is None and cache.shape[0] != 1:
        raise ValueError(f"tt.{name}: a batch of {cache.shape[0]} needs batch_offset")
    first, last = offset or 0, (offset or 0) + rows.shape[0]
    inside = first >= 0 and last <= cache.shape[0]
    check(inside, name, f"batch_offset {offset} lies outside the batch", cache=cache, fill_value=rows)
    return first, last


def _check_heads(name: str, query: Tensor, key: Tensor, value: Tensor, heads: int) -> None:
    """Checks that query, key and value fit together, for a number of query heads."""
    tensors = {"query": query, "key": key, "value": value}
    check(query.dim() == key.dim() == value.dim() == 4, name, "expected 4 dimensions", **tensors)
    check(query.shape[3] == key.shape[3], name, "query and key must have the same width", **tensors)
    check(key.shape[:3] == value.shape[:3], name, "key and value may differ in width only", **tensors)
    check(heads % key.shape[1] == 0, name, "the number of query heads must be a multiple of the key heads'", **tensors)


def _check_decode(name: str, query: Tensor, key: Tensor, value: Tensor) -> None:
    check(query.dim() == 4 and query.shape[0] == 1, name, "query must be [1, users, heads, width]", query=query)
    _check_heads(name, query, key, value, query.shape[2])


def _check_prefill(name: str, query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool) -> None:
    check(query.shape[0] == key.shape[0], name, "query and key must have the same batch size", query=query, key=key)
    check(query.shape[2] % _ROWS == 0, name, f"the length of query must be a multiple of {_ROWS}", query=query)
    if mask is not None and is_causal:
        raise ValueError(f"tt.{name}: attn_mask needs is_causal=False")


def check(holds: bool, name: str, what: str, **tensors: Tensor) -> None:
    """Raises ValueError with the shapes of the tensors unless a condition holds."""
    if not holds:
        shapes = ", ".join(f"{label}: {list(tensor.shape)}" for label, tensor in tensors.items())
        raise ValueError(f"tt.{name}: {what}; got {shapes}")
