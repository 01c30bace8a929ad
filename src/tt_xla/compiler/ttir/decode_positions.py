"""Recognition of masks that let a query see keys up to its position, as decoders with a static cache write them.

Such a mask selects 0 or a large negative number by a comparison of ``arange(keys)`` with the position of the query, a
number for all sequences or one for each. JAX and transformers write it so once broadcasts and casts are folded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, OpResult, SSAValue

from tt_xla.compiler.analysis.ranges import BINARY
from tt_xla.compiler.rewriting import producer
from tt_xla.compiler.ttir.match import skip_ops
from tt_xla.ir.base import shape, tensor_type
from tt_xla.ir.ttir.creation import ArangeOp, splat
from tt_xla.ir.ttir.structure import BroadcastOp, ReshapeOp, TypecastOp, WhereOp

_HIDDEN = -1e9
"""Largest number that hides a key; programs add this, the least number of a type, or minus infinity."""

_BEFORE: dict[type[Operation], tuple[bool, int]] = {
    BINARY["le"]: (True, 0),
    BINARY["lt"]: (True, -1),
    BINARY["ge"]: (False, -1),
    BINARY["gt"]: (False, 0),
}
"""For ``arange <comparison> limit``: whether it holds for the first keys, and the last of these less the limit."""

_MIRRORED: dict[type[Operation], type[Operation]] = {
    BINARY[name]: BINARY[mirrored] for name, mirrored in (("le", "ge"), ("ge", "le"), ("lt", "gt"), ("gt", "lt"))
}
"""The comparison that holds when the operands change places."""


class Positions(NamedTuple):
    """The last key that queries see: ``limit + offset``."""

    limit: SSAValue
    """Integers of one sequence or of each, in any shape."""
    offset: int


def last_seen(mask: SSAValue, sequences: int) -> Positions | None:
    """Returns the positions that a mask [sequences or 1, 1, 1, keys] stands for, or None."""
    batch, heads, rows, keys = (1, 1, 1, *shape(mask))[-4:]
    if heads != 1 or rows != 1 or batch not in (1, sequences):
        return None
    where = producer(skip_ops(mask, ReshapeOp, BroadcastOp, TypecastOp), WhereOp)
    if where is None or shape(where.result)[-1:] != (keys,) or not _is_alike(shape(where.result), sequences):
        return None
    numbers = splat(where.second), splat(where.third)
    if None in numbers:
        return None
    second, third = (float(number) for number in numbers if number is not None)
    if not (min(second, third) <= _HIDDEN and max(second, third) == 0.0):
        return None
    for limit, first_keys, offset in _comparisons(where.first, keys):
        if first_keys == (second == 0.0) and _is_alike((*shape(limit)[:-1], keys), sequences):
            return Positions(limit, offset)
    return None


def _comparisons(value: SSAValue, keys: int) -> Iterator[tuple[SSAValue, bool, int]]:
    """Yields the ways to read a value as a comparison of ``arange(keys)`` with a limit.

    Yields:
        The limit, whether the comparison holds for the first keys, and the last of these less the limit.
    """
    value = skip_ops(value, ReshapeOp, TypecastOp)
    op: Operation | None = value.op if isinstance(value, OpResult) else None
    if op is None or type(op) not in _MIRRORED or shape(value)[-1:] != (keys,):
        return
    one, other = op.operands
    for kind, keys_of, limit in ((type(op), one, other), (_MIRRORED[type(op)], other, one)):
        arange = producer(skip_ops(keys_of, ReshapeOp), ArangeOp)
        counts = arange is not None and (arange.start, arange.step, shape(arange.result)) == (0, 1, (keys,))
        is_integer = isinstance(tensor_type(limit).element_type, IntegerType)
        if counts and is_integer and shape(keys_of)[-1:] == (keys,) and shape(limit)[-1:] in ((), (1,)):
            yield limit, *_BEFORE[kind]


def _is_alike(sizes: tuple[int, ...], sequences: int) -> bool:
    """Returns whether all dimensions before the last one have size 1, or the first has one row for each sequence."""
    return math.prod(sizes[:-1]) == 1 or (math.prod(sizes[:-1]) == sequences == sizes[0])
