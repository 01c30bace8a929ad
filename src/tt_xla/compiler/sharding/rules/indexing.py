"""Rules of slices at indices that the program computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.compiler.sharding.builder import i64s
from tt_xla.compiler.sharding.context import Hints, Localizer, localizes, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.factors import Dims, Factors


@localizes("stablehlo.dynamic_slice")
def dynamic_slice(context: Localizer, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Slices the chip's part; dimensions that the slice does not keep as a whole are not split."""
    source, *starts = operands
    dims = _kept_dims(source, shape_of(op.results[0]))
    splits = Factors([dims, *[()] * len(starts)], [dims]).splits(context, operands, hints)
    parts = splits.operands(operands)
    sizes = splits.sharding(dims).local_shape(context.mesh, shape_of(op.results[0]))
    return splits.copy(op, parts, {"slice_sizes": i64s(sizes)})


@localizes("stablehlo.dynamic_update_slice")
def dynamic_update_slice(context: Localizer, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Writes into the chip's part; dimensions that the update does not cover are not split."""
    target, update, *starts = operands
    dims = _kept_dims(target, update.shape)
    splits = Factors([dims, dims, *[()] * len(starts)], [dims]).splits(context, operands, hints)
    return splits.copy(op, splits.operands(operands))


def _kept_dims(shard: Shard, shape: Sequence[int]) -> Dims:
    return tuple(dim if shard.shape[dim] == size else None for dim, size in enumerate(shape))
