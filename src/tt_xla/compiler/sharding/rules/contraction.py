"""Rules of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir.dialects import stablehlo

from tt_xla.compiler.sharding.context import Hints, Localiser, localises
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.factors import Factors, masked_operands
from tt_xla.compiler.sharding.partial_sums import combine


@localises("stablehlo.dot_general")
def dot_general(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Multiplies the chips' parts; where the contracted dimension is split, their results are added."""
    splits = _factors(op, operands).splits(context, operands, hints)
    parts = masked_operands(context, splits, splits.operands(operands), context.builder.zero)
    values = context.copy(op, [part.value for part in parts], splits.result_types(op))
    (product,) = splits.results(op, values)
    return [combine(context, product, splits.reduced(), "add", hints[0])]


def _factors(op: Any, operands: Sequence[Shard]) -> Factors:
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    lhs: list[int | None] = [None] * operands[0].rank
    rhs: list[int | None] = [None] * operands[1].rank
    count = 0
    pairs = [
        *zip(numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions, strict=True),
        *zip(numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions, strict=True),
    ]
    for left, right in pairs:
        lhs[left] = rhs[right] = count
        count += 1
    result: list[int | None] = [*range(len(numbers.lhs_batching_dimensions))]
    for dims in (lhs, rhs):
        for dim, factor in enumerate(dims):
            if factor is None:
                dims[dim] = count
                result.append(count)
                count += 1
    return Factors([tuple(lhs), tuple(rhs)], [tuple(result)])
