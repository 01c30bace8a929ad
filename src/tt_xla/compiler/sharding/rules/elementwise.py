"""Rules of ops that work element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.compiler.sharding.context import Hints, Localiser, localises, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.factors import Dims, Factors, elementwise

_STABLEHLO = (
    *("abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "complex", "convert", "cosine"),
    *("count_leading_zeros", "divide", "exponential", "exponential_minus_one", "floor", "imag", "is_finite"),
    *("log", "log_plus_one", "logistic", "map", "maximum", "minimum", "multiply", "negate", "not", "or"),
    *("popcnt", "power", "real", "reduce_precision", "remainder", "round_nearest_afz", "round_nearest_even"),
    *("rsqrt", "select", "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "sine", "sqrt"),
    *("subtract", "tan", "tanh", "xor", "uniform_quantize", "uniform_dequantize"),
)
_CHLO = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "conj", "constant_like", "cosh", "digamma"),
    *(
        "erf",
        "erf_inv",
        "erfc",
        "is_inf",
        "is_neg_inf",
        "is_pos_inf",
        "lgamma",
        "mulhi",
        "next_after",
        "polygamma",
        "sinh",
    ),
    *("square", "tan", "zeta"),
)
ELEMENTWISE = (*(f"stablehlo.{name}" for name in _STABLEHLO), *(f"chlo.{name}" for name in _CHLO))
"""Names of the ops of which each element of a result depends on one element of each operand."""


_BROADCASTING = (
    *(
        "add",
        "and",
        "atan2",
        "compare",
        "complex",
        "divide",
        "maximum",
        "minimum",
        "multiply",
        "next_after",
        "or",
        "polygamma",
    ),
    *("power", "remainder", "select", "shift_left", "shift_right_arithmetic", "shift_right_logical", "subtract"),
    *("xor", "zeta"),
)
BROADCASTING = tuple(f"chlo.broadcast_{name}" for name in _BROADCASTING)
"""Names of the ops of which each element of a result depends on one element of each operand, after broadcasting."""


@localises(*ELEMENTWISE)
def elementwise_op(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Copies the op; operands that are scalars stay so."""
    rank = len(shape_of(op.results[0]))
    splits = elementwise(rank, operands, len(op.results)).splits(context, operands, hints)
    return splits.copy(op, splits.operands(operands))


@localises(*BROADCASTING)
def broadcasting_op(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Copies the op; dimensions correspond from the last one on, and those of size 1 are not split."""
    shape = shape_of(op.results[0])
    factors: list[Dims] = []
    for operand in operands:
        first = len(shape) - operand.rank
        sizes = enumerate(operand.shape)
        factors.append(tuple(first + dim if size == shape[first + dim] else None for dim, size in sizes))
    if "broadcast_dimensions" in op.attributes:
        factors = [tuple(None for _ in dims) for dims in factors]
    result = tuple(dim if any(dim in dims for dims in factors) else None for dim in range(len(shape)))
    splits = Factors(factors, [result]).splits(context, operands, hints)
    return splits.copy(op, splits.operands(operands))


@localises("stablehlo.optimization_barrier")
def optimization_barrier(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    values = context.copy(op, [operand.value for operand in operands], [operand.value.type for operand in operands])
    return context.shards(op, values, [operand.sharding for operand in operands])


@localises("stablehlo.bitcast_convert")
def bitcast_convert(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Copies the op; the dimension that elements of another width add or use up is not split."""
    before, after = operands[0].rank, len(shape_of(op.results[0]))
    shared = tuple(range(min(before, after)))
    factors = Factors([shared + (None,) * (before - len(shared))], [shared + (None,) * (after - len(shared))])
    splits = factors.splits(context, operands, hints)
    return splits.copy(op, splits.operands(operands))
