"""Attention of one position of each sequence as TT-NN's kernel computes it: each core attends to a few chunks of keys,
and a tree of cores joins their maxima, sums and values.

All buffers between the steps hold bfloat16. Source: ``sdpa_flash_decode.cpp``, ``rt_args_common.hpp`` and
``compute_common.hpp`` of TT-NN 0.81's attention.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.ir.layout import FACE
from tt_xla.runtime.emulator.bit_exact import functions, matrix_unit
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.attention_steps import BETWEEN, Config, difference, first_column
from tt_xla.runtime.emulator.bit_exact.native import product
from tt_xla.runtime.emulator.bit_exact.registers import packed, source
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor

_LONGEST_CHUNK = 512
"""Keys of a chunk where the call has no program config, as in all programs of ours: the largest power of 2 that divides
their number, but no more than this."""


@dataclass(frozen=True)
class _Partial:
    """Maxima and sums of a core's keys, ``[rows, 1]`` each, and its weighted values, ``[rows, width]``."""

    largest: Tensor
    sums: Tensor
    values: Tensor


def shared(chunks: int, cores: int) -> list[range]:
    """Returns the chunks of each core that has some; the first core has the last chunks."""
    if cores > chunks:
        return [range(chunks - core - 1, chunks - core) for core in range(chunks)]
    each, rest = divmod(chunks, cores)
    starts = [place * each + min(rest, place) for place in range(cores + 1)]
    return [range(starts[place], starts[place + 1]) for place in reversed(range(cores))]


def joins(cores: int) -> Iterator[tuple[int, int]]:
    """Yields pairs of cores in the order of the tree: what the second knows is joined to what the first knows.

    The tree is one of places counted from the last core. A core whose partner would be beyond the first joins that one.
    """
    for distance in (1 << level for level in range((cores - 1).bit_length())):
        for place in range(distance - 1, cores - 1, 2 * distance):
            yield max(0, cores - 1 - place - distance), cores - 1 - place


@kernel("ttnn.scaled_dot_product_attention_decode", bit_exact=True)
def scaled_dot_product_attention_decode(
    ctx: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    cur_pos_tensor: Tensor | None = None,
    attention_sink: Tensor | None = None,
    is_causal: bool = True,
    scale: float | None = None,
    sliding_window_size: int | None = None,
    program_config: Mapping[str, Any] | None = None,
    compute_config: Mapping[str, Any] | None = None,
) -> Tensor:
    """Attention of query [1, B, H, D] to key and value [B, G, K, D] with a mask [B, 1, H, K].

    The mask and the sinks are scaled like the scores. Results at negative positions, which TT-NN leaves out, are zeros.
    """
    _, batch, heads, width = query.shape
    groups, keys = key.shape[1:3]
    step = _Step(
        Config.of(compute_config),
        width**-0.5 if scale is None else scale,
        min(_LONGEST_CHUNK, keys & -keys),
        max(1, ctx.grid[0] * ctx.grid[1] // batch // groups),
        half_tiles=is_causal and heads <= FACE,
    )
    sinks = None if attention_sink is None else attention_sink.reshape(heads, -1)[:, :1].to(torch.float32)
    results = torch.zeros(1, batch, heads, width, device=query.device, dtype=torch.float32)
    for item in range(batch):
        end = int(cur_pos_tensor.reshape(-1)[item]) + 1 if cur_pos_tensor is not None and is_causal else keys
        visible = range(max(0, end - (sliding_window_size or end)), end)
        for group in range(groups if end > 0 else 0):
            rows = slice(group * heads // groups, (group + 1) * heads // groups)
            operands = (query[0, item, rows], key[item, group], value[item, group])
            mask = None if attention_mask is None else attention_mask[item % len(attention_mask), 0, rows]
            results[0, item, rows] = step.attended(*operands, mask, visible, None if sinks is None else sinks[rows])
    return packed(results, ctx.dtype).to(ctx.container)


@dataclass(frozen=True)
class _Step:
    """The steps of the kernel for one call."""

    config: Config
    factor: float
    """Scale of the scores."""
    chunk: int
    """Keys of a chunk."""
    cores: int
    """Cores among which the keys of a head are divided."""
    half_tiles: bool
    """Whether the query's tiles have 16 rows: in a causal call with 16 heads or fewer."""

    def attended(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, visible: range, sinks: Tensor | None
    ) -> Tensor:
        """Returns attention of the rows that share a key head to the keys in ``visible``."""
        first = visible.start // self.chunk
        shares = shared(-(-visible.stop // self.chunk) - first, self.cores)
        known = [
            self._local(query, key, value, mask, visible, range(first + share.start, first + share.stop))
            for share in shares
        ]
        for own, other in joins(self.cores):
            if other < len(known):
                known[own] = self._join(known[own], known[other])
        return self._finished(known[0] if sinks is None else self._with_sinks(known[0], sinks))

    def _local(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, visible: range, chunks: range
    ) -> _Partial:
        """Returns a core's partial results after its chunks of keys."""
        wide = self.config.wide
        q, k, v = (source(tensor, wide=wide) for tensor in (query, key, value))
        state: _Partial | None = None
        for place in chunks:
            part = slice(place * self.chunk, (place + 1) * self.chunk)
            scores = self._product(q, k[part].mT.contiguous())
            if mask is not None:
                scores = packed(matrix_unit.add(scores, source(mask[:, part], wide=wide), wide=wide), BETWEEN)
            keys = torch.arange(part.start, part.stop, device=q.device, dtype=torch.int64)
            hidden = (keys < visible.start) | (keys >= visible.stop)
            state = self._after(state, scores.masked_fill(hidden, -torch.inf), v[part])
        assert state is not None
        return state

    def _after(self, state: _Partial | None, scores: Tensor, value: Tensor) -> _Partial:
        largest = scores.amax(1, keepdim=True)
        if state is not None:
            largest = torch.maximum(largest, state.largest)
        weights = functions.fast_exponential(difference(scores, largest, wide=self.config.wide), self.factor)
        weights = packed(sfpu.stored(weights, wide=self.config.wide).clamp(min=0), BETWEEN)
        sums = self._sums(weights)
        values = self._product(weights, value)
        if state is None:
            return _Partial(largest, sums, values)
        decay = self._decay(state.largest, largest)
        old_sums, old_values = (self._multiply(old, decay) for old in (state.sums, state.values))
        return _Partial(largest, self._add(sums, old_sums), self._add(old_values, values))

    def _sums(self, weights: Tensor) -> Tensor:
        """Returns the sums of rows. A tile of 16 rows goes through all fidelity phases face by face."""
        ones = torch.ones(weights.shape[1], 1, device=weights.device, dtype=torch.float32)
        if not self.half_tiles:
            return self._product(weights, ones)
        config, total = self.config, torch.zeros(weights.shape[0], 1, device=weights.device, dtype=torch.float32)
        for start in range(0, weights.shape[1], FACE):
            part = slice(start, start + FACE)
            total = product(weights[:, part], ones[part], total, phases=config.phases, wide=config.wide)
        return packed(total, BETWEEN)

    def _join(self, own: _Partial, other: _Partial) -> _Partial:
        wide = self.config.wide
        largest = torch.maximum(own.largest, other.largest)
        shrinks, sums = [], []
        for part in (own, other):
            distance = sfpu.add(part.largest, functions.negative(largest))
            shrink = functions.exponential(distance, wide=wide, scale=self._short_factor)
            shrinks.append(packed(sfpu.stored(shrink, wide=wide), BETWEEN))
            sums.append(sfpu.stored(sfpu.multiply(shrink, part.sums), wide=wide))
        total = packed(sfpu.stored(sfpu.add(sums[1], sums[0]), wide=wide), BETWEEN)
        values = [self._multiply(part.values, shrink) for part, shrink in zip((own, other), shrinks, strict=True)]
        return _Partial(largest, total, self._add(*values))

    def _with_sinks(self, state: _Partial, sinks: Tensor) -> _Partial:
        """Returns the state after a logit of each row that has no value; it is scaled like the scores."""
        largest = torch.maximum(state.largest, sinks)
        decay, share = (self._decay(old, largest) for old in (state.largest, sinks))
        sums = self._add(self._multiply(state.sums, decay), share)
        return _Partial(largest, sums, self._multiply(state.values, decay))

    def _finished(self, state: _Partial) -> Tensor:
        """Returns the values divided by the sums."""
        wide = self.config.wide
        inverse = sfpu.approximate_reciprocal(state.sums)
        if not self.config.approximate:
            inverse = functions.rounded(functions.newton_reciprocal(state.sums, 2 if wide else 1), wide=wide)
        return self._multiply(state.values, packed(sfpu.stored(inverse, wide=wide), BETWEEN))

    @property
    def _short_factor(self) -> float:
        """The scale cut to bfloat16, as the exponentials of differences of maxima take it."""
        return float(sfpu.stored(torch.tensor(self.factor, device="cpu", dtype=torch.float32), wide=False))

    def _decay(self, old: Tensor, new: Tensor) -> Tensor:
        power = first_column(difference(old, new, wide=self.config.wide), self.factor, self.config)
        return packed(power, BETWEEN)

    def _product(self, a: Tensor, b: Tensor) -> Tensor:
        return packed(product(a, b, phases=self.config.phases, wide=self.config.wide), BETWEEN)

    def _multiply(self, a: Tensor, b: Tensor) -> Tensor:
        return packed(matrix_unit.multiply(a, b, phases=self.config.phases, wide=self.config.wide), BETWEEN)

    def _add(self, a: Tensor, b: Tensor) -> Tensor:
        return packed(matrix_unit.add(a, b, wide=self.config.wide), BETWEEN)
