"""``torch_xla.experimental.custom_kernel``: functions that are kernels of TPUs in the real package."""

from __future__ import annotations

from typing import Any

import torch
import torch_xla.distributed.spmd as _spmd


def flash_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool = False,
    q_segment_ids: torch.Tensor | None = None,
    kv_segment_ids: torch.Tensor | None = None,
    sm_scale: float = 1.0,
    *,
    ab: torch.Tensor | None = None,
    partition_spec: Any = None,
    mesh: _spmd.Mesh | None = None,
) -> torch.Tensor:
    """Returns the attention of queries to keys, which runs as one op of the chip where the compiler fuses it.

    Args:
        q: queries [batch, heads, query length, width].
        k: keys [batch, heads, key length, width].
        v: values [batch, heads, key length, width].
        causal: whether a query sees the keys up to its own position alone.
        q_segment_ids: segment of each query [batch, query length]; a query sees the keys of its segment.
        kv_segment_ids: segment of each key [batch, key length].
        sm_scale: factor of the scores.
        ab: bias of the scores [batch, heads, query length, key length].
        partition_spec: how ``xs.mark_sharding`` splits queries, keys and values; None to leave it to the compiler.
        mesh: mesh of ``partition_spec``; None for the global one.

    Returns:
        Tensor [batch, heads, query length, width].

    Raises:
        ValueError: segments are given for queries or keys alone.
    """
    if (q_segment_ids is None) != (kv_segment_ids is None):
        raise ValueError("flash_attention takes q_segment_ids and kv_segment_ids together, and got one of them.")
    if partition_spec is not None:
        chips = mesh or _spmd.get_global_mesh()
        q, k, v = (_spmd.unwrap_sharded_tensor(_spmd.mark_sharding(each, chips, partition_spec)) for each in (q, k, v))
    bias = ab
    if q_segment_ids is not None and kv_segment_ids is not None:
        seen = q_segment_ids[:, None, :, None] == kv_segment_ids[:, None, None, :]
        bias = _masked(seen, ab, q)
    if causal and bias is not None:
        seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
        bias, causal = _masked(seen, bias, q), False
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, bias, is_causal=causal, scale=sm_scale)


def _masked(seen: torch.Tensor, bias: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    """Returns a bias that hides what is not ``seen``."""
    start = torch.zeros((), dtype=like.dtype, device=like.device) if bias is None else bias
    return torch.where(seen, start, torch.finfo(like.dtype).min)


def repeat_with_fixed_output_size(input: torch.Tensor, repeats: torch.Tensor, total_repeat_length: int) -> torch.Tensor:
    """Repeats each element, as ``torch.repeat_interleave`` does, to a vector whose length depends on no contents.

    Args:
        input: vector [elements].
        repeats: how often each element is repeated [elements].
        total_repeat_length: length of the result, which is cut off, or filled with the last element.
    """
    ends = repeats.cumsum(0)
    positions = torch.arange(total_repeat_length, dtype=ends.dtype, device=input.device)
    return input[torch.searchsorted(ends, positions, right=True).clamp(max=len(input) - 1)]
