"""Rules of ops that work on the last dimensions as a whole, and of normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.compiler.sharding.context import Hints, Localiser, localises, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.factors import Dims, Factors
from tt_xla.compiler.sharding.rules.structure import integers


@localises("stablehlo.cholesky", "stablehlo.triangular_solve")
def matrices(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Works on the chip's matrices; the last two dimensions are not split."""
    return _batched(context, op, operands, hints, 2)


@localises("stablehlo.fft")
def fft(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Transforms the chip's part; the dimensions of the transform are not split."""
    return _batched(context, op, operands, hints, len(integers(op.attributes["fft_length"])))


def _batched(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints, last: int) -> Sequence[Shard]:
    rank = len(shape_of(op.results[0]))
    dims: Dims = (*range(rank - last), *(None for _ in range(last)))
    splits = Factors([dims] * len(operands), [dims] * len(op.results)).splits(context, operands, hints)
    return splits.copy(op, splits.operands(operands))


@localises("stablehlo.batch_norm_inference", "stablehlo.batch_norm_training", "stablehlo.batch_norm_grad")
def batch_norm(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Normalises the chip's features; with statistics that are given, also the chip's part of the batch."""
    feature = op.attributes["feature_index"].value
    is_inference = op.operation.name.endswith("inference")
    full: Dims = tuple(dim if is_inference or dim == feature else None for dim in range(operands[0].rank))

    def dims(rank: int) -> Dims:
        return full if rank == len(full) else (feature,)

    factors = Factors(
        [dims(operand.rank) for operand in operands], [dims(len(shape_of(result))) for result in op.results]
    )
    splits = factors.splits(context, operands, hints)
    return splits.copy(op, splits.operands(operands))
