"""Attention as TT-NN's kernel for a 32-bit accumulator computes it.

It differs from the streaming kernel in its buffers: scores, weights and sums are float32, so that the source registers
read 19 bits of them; maxima, factors and values are bfloat16. The matrix unit adds sums and masks. Source:
``sdpa_inner_loop`` in ``compute_common.hpp`` of TT-NN 0.81's sdpa.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from tt_xla.runtime.emulator.bit_exact import functions, matrix_unit
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.attention_steps import BETWEEN, CHUNK, Config, difference, first_column
from tt_xla.runtime.emulator.bit_exact.native import product
from tt_xla.runtime.emulator.bit_exact.registers import added_in_l1, packed, source

Tensor = torch.Tensor


@dataclass(frozen=True)
class _State:
    """The state after the chunks so far: maxima ``[rows, 1]``, sums by column of a chunk, weighted values."""

    largest: Tensor
    sums: Tensor
    values: Tensor


def head(
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
    q, k, v = (_read(tensor) for tensor in (query, key, value))
    rows = torch.arange(q.shape[0], device=q.device, dtype=torch.int64).unsqueeze(1)
    state: _State | None = None
    for start in range(0, k.shape[0], CHUNK):
        keys = torch.arange(start, min(start + CHUNK, k.shape[0]), device=q.device, dtype=torch.int64)
        scores = product(q, k[keys].mT.contiguous(), phases=config.phases, wide=True)
        if mask is not None:
            scores = matrix_unit.add(_read(scores), _read(mask[:, keys]), wide=True)
        hidden = torch.zeros_like(scores, dtype=torch.bool)
        if causal:
            hidden |= keys > rows
        if window is not None:
            hidden |= keys <= rows - window
        state = _step(state, scores.masked_fill(hidden, -torch.inf), v[keys], factor, config)
    assert state is not None
    return _normalized(state, sink, factor, config)


def _step(state: _State | None, scores: Tensor, value: Tensor, factor: float, config: Config) -> _State:
    """Returns the state after one more chunk of keys."""
    scores = _read(scores)
    largest = _largest(scores.amax(1, keepdim=True), state)
    weights = _weights(scores, largest, factor)
    values = packed(product(_read(weights), value, phases=config.phases, wide=True), BETWEEN)
    sums = torch.nn.functional.pad(weights, (0, CHUNK - weights.shape[1]))
    if state is None:
        return _State(largest, sums, values)
    decay = _decay(state, largest, factor, config)
    old_values = packed(_multiply(state.values, decay, config), BETWEEN)
    return _State(largest, _rescaled(sums, state.sums, decay, config), added_in_l1(values, old_values, BETWEEN))


def _normalized(state: _State, sink: Tensor | None, factor: float, config: Config) -> Tensor:
    """Returns the values divided by the sums, as the accumulator holds them."""
    ones = torch.ones(CHUNK, 1, device=state.sums.device, dtype=torch.float32)
    total = product(_read(state.sums), ones, phases=config.phases, wide=True)
    values = state.values
    if sink is not None:
        logits = sink.to(torch.float32).reshape(1, 1).expand_as(state.largest)
        largest = _largest(logits, state)
        decay = _decay(state, largest, factor, config)
        total = _rescaled(_weights(logits, largest, factor), total, decay, config)
        values = packed(_multiply(values, decay, config), BETWEEN)
    if config.approximate:
        inverse = sfpu.approximate_reciprocal(_read(total))
    else:
        inverse = functions.newton_reciprocal(_read(total), 2)
    return _multiply(values, _read(inverse), config)


def _read(tensor: Tensor) -> Tensor:
    return source(tensor, wide=True)


def _largest(scores: Tensor, state: _State | None) -> Tensor:
    """Returns maxima, which are cut to bfloat16."""
    return sfpu.stored(scores if state is None else torch.maximum(scores, state.largest), wide=False)


def _weights(scores: Tensor, largest: Tensor, factor: float) -> Tensor:
    powers = functions.fast_exponential(difference(scores, largest, wide=True), factor)
    return sfpu.stored(powers, wide=True).clamp(min=0)


def _decay(state: _State, largest: Tensor, factor: float, config: Config) -> Tensor:
    """Returns the factors that old sums and values shrink by."""
    return packed(first_column(difference(state.largest, largest, wide=True), factor, config), BETWEEN)


def _rescaled(sums: Tensor, old: Tensor, decay: Tensor, config: Config) -> Tensor:
    """Returns sums and the old sums, which have shrunk."""
    return matrix_unit.add(_read(sums), _read(_multiply(_read(old), decay, config)), wide=True)


def _multiply(a: Tensor, b: Tensor, config: Config) -> Tensor:
    return matrix_unit.multiply(a, b, phases=config.phases, wide=True)
