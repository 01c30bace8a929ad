"""Ops that write into a cache in place. A cache is [B, G, K, D], as its op has it."""

from __future__ import annotations

import torch

from tt_xla.ir.layout import TILE, round_up
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.containers import hold
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.paged_update_cache")
def paged_update_cache(
    ctx: Context,
    cache: Tensor,
    input: Tensor,
    update_index: Tensor,
    page_table: Tensor | None = None,
    share_cache: bool = False,
) -> tuple[()]:
    """Writes ``input`` [1, B, G, D] at each sequence's position; -1 writes nothing.

    With a page table, the cache's first dimension counts pages.
    """
    rows, length = _as_stored(ctx, input)[0, :, : cache.shape[1]], cache.shape[2]  # heads may be padded to a tile
    for sequence, position in enumerate(update_index.tolist()):
        if position < 0:
            continue
        block = sequence
        if page_table is not None:
            block = int(page_table[0 if share_cache else sequence, position // length])
            position %= length
        if position >= length:
            raise IndexError(f"position {position} is outside the cache of {length}")
        cache.select(0, block).select(1, position).copy_(rows.select(0, sequence))
    return ()


@kernel("ttnn.fill_cache")
def fill_cache(ctx: Context, cache: Tensor, input: Tensor, batch_offset: int) -> tuple[()]:
    """Writes input [N, G, S, D] at the first positions of N sequences, from ``batch_offset`` on.

    TT-NN writes whole tiles, so that the positions that fill up the last one become zero. The compiler emits this op
    for whole tiles alone.
    """
    written = cache[batch_offset : batch_offset + len(input)].narrow(
        2, 0, min(round_up(input.shape[2], TILE), cache.shape[2])
    )
    written[:, :, input.shape[2] :] = 0
    written[:, :, : input.shape[2]] = _as_stored(ctx, input)
    return ()


def _as_stored(ctx: Context, input: Tensor) -> Tensor:
    spec = ctx.operands["cache"]
    assert isinstance(spec, TensorSpec)
    return hold(input, spec.layout.dtype)
