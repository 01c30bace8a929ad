"""Attention as TT-NN's streaming kernel computes it: chunk by chunk of keys, with unnormalised sums.

All buffers between the steps hold bfloat16. Source: ``compute_streaming.hpp`` of TT-NN 0.81's sdpa.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.runtime.emulator.bit_exact import functions, matrix_unit, standard_attention
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.attention_steps import BETWEEN, CHUNK, Config, difference, first_column
from tt_xla.runtime.emulator.bit_exact.native import product
from tt_xla.runtime.emulator.bit_exact.registers import added_in_l1, packed, source
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.scaled_dot_product_attention", bit_exact=True)
def scaled_dot_product_attention(
    ctx: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    attention_sink: Tensor | None = None,
    is_causal: bool = True,
    scale: float | None = None,
    sliding_window_size: int | None = None,
    compute_config: Mapping[str, Any] | None = None,
) -> Tensor:
    """Attention of [batch, heads, sequence, width], of bfloat16 operands in effect: the sources keep no more."""
    config = Config.of(compute_config)
    batch, heads, rows, width = query.shape
    factor = width**-0.5 if scale is None else scale
    groups = heads // key.shape[1]
    mask = None
    if attention_mask is not None:
        mask = _divided(attention_mask, factor).expand(batch, heads, rows, key.shape[2])
    compute = standard_attention.head if config.wide else _head
    results = torch.empty(batch, heads, rows, value.shape[-1], device=query.device, dtype=torch.float32)
    for item in range(batch):
        for head in range(heads):
            sink = None if attention_sink is None else attention_sink.reshape(-1)[head]
            results[item, head] = compute(
                query[item, head],
                key[item, head // groups],
                value[item, head // groups],
                None if mask is None else mask[item, head],
                sink,
                factor,
                config,
                causal=is_causal and mask is None,
                window=sliding_window_size,
            )
    return packed(results, ctx.dtype).to(ctx.container)


def _divided(mask: Tensor, factor: float) -> Tensor:
    """Returns the mask that the kernel adds to scores before it scales both: TT-NN multiplies it by the inverse of the
    scale, in bfloat16."""
    inverse = torch.tensor(1 / factor, dtype=torch.bfloat16, device=mask.device).to(torch.float32)
    return packed(mask.to(torch.float32) * inverse, BETWEEN)


def _head(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    sink: Tensor | None,
    factor: float,
    config: Config,
    *,
    causal: bool,
    window: int | None,
) -> Tensor:
    """Returns one head's result as the accumulator holds it, ``[rows, width]``."""
    wide, phases = config.wide, config.phases
    q, k, v = (source(tensor, wide=wide) for tensor in (query, key, value))
    rows = torch.arange(q.shape[0], device=q.device, dtype=torch.int64).unsqueeze(1)
    state: _State | None = None
    for start in range(0, k.shape[0], CHUNK):
        keys = torch.arange(start, min(start + CHUNK, k.shape[0]), device=q.device, dtype=torch.int64)
        scores = packed(product(q, k[keys].mT.contiguous(), phases=phases, wide=wide), BETWEEN)
        if mask is not None:
            scores = added_in_l1(scores, mask[:, keys], BETWEEN)
        hidden = torch.zeros_like(scores, dtype=torch.bool)
        if causal:
            hidden |= keys > rows
        if window is not None:
            hidden |= keys <= rows - window
        scores = scores.masked_fill(hidden, -torch.inf)
        state = _step(state, scores, v[keys], factor, config)
    assert state is not None
    return state.normalized(sink, factor, config)


@dataclass(frozen=True)
class _State:
    """The state after the chunks so far: maxima ``[rows, 1]``, sums by column of a chunk, weighted values."""

    largest: Tensor
    sums: Tensor
    values: Tensor

    def normalized(self, sink: Tensor | None, factor: float, config: Config) -> Tensor:
        """Returns the values divided by the sums, as the accumulator holds them."""
        wide, phases = config.wide, config.phases
        ones = torch.ones(CHUNK, 1, device=self.sums.device, dtype=torch.float32)
        total = product(self.sums, ones, phases=phases, wide=wide)
        if sink is not None:
            distance = difference(self.largest, sink.to(torch.float32), wide=wide)
            share = first_column(distance, -factor, config)
            total = sfpu.stored(sfpu.add(total, share), wide=wide)
        inverse = functions.reciprocal(total, wide=wide, approximate=config.approximate)
        inverse = packed(sfpu.stored(inverse, wide=wide), BETWEEN)
        return matrix_unit.multiply(self.values, inverse, phases=phases, wide=wide)


def _step(state: _State | None, scores: Tensor, value: Tensor, factor: float, config: Config) -> _State:
    """Returns the state after one more chunk of keys."""
    wide, phases = config.wide, config.phases
    largest = scores.amax(1, keepdim=True)
    if state is not None:
        largest = torch.maximum(largest, state.largest)
    weights = functions.fast_exponential(difference(scores, largest, wide=wide), factor)
    weights = packed(sfpu.stored(weights, wide=wide).clamp(min=0), BETWEEN)
    values = packed(product(weights, value, phases=phases, wide=wide), BETWEEN)
    sums = torch.nn.functional.pad(weights, (0, CHUNK - weights.shape[1]))
    if state is None:
        return _State(largest, sums, values)
    decay = packed(first_column(difference(state.largest, largest, wide=wide), factor, config), BETWEEN)
    old_values, old_sums = (
        packed(matrix_unit.multiply(old, decay, phases=phases, wide=wide), BETWEEN)
        for old in (state.values, state.sums)
    )
    return _State(largest, added_in_l1(sums, old_sums, BETWEEN), added_in_l1(values, old_values, BETWEEN))
