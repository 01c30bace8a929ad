"""Integer scalars that differ between chips: the chip's number, and what is computed from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from tt_xla.compiler import collectives
from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.stablehlo import scalars
from tt_xla.compiler.stablehlo.context import ImportContext
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.structure import crop
from tt_xla.compiler.stablehlo.types import is_host_only
from tt_xla.ir.base import Tensor, shape, tensor
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.ttir.creation import ConstantOp, splat
from tt_xla.ir.ttir.structure import ReshapeOp


def by_chip(context: ImportContext, numbers: tuple[int, ...], type_: Tensor) -> SSAValue:
    """Returns a scalar that has another value on each chip, and records the values.

    Every chip takes its number from a constant of the mesh's shape.
    """
    mesh = context.module.chips
    if len(set(numbers)) == 1:
        return full(context, numbers[0], type_)
    values = np.array(numbers).reshape(mesh.shape)
    for axis in range(len(mesh.shape)):  # Axes along which nothing changes need no partition.
        if bool((values == values.take([0], axis)).all()):
            values = values.take([0], axis)
    table = tensor(values.shape, type_.element_type)
    value = context.emit(ConstantOp, [], table, value=elements(values, table))
    for axis, size in enumerate(values.shape):
        if size > 1:
            value = collectives.partition(context.emit, value, axis, axis, size)
    value = context.emit(ReshapeOp, [value], type_, shape=())
    context.module.by_chip[value] = numbers
    return value


def fold_by_chip(context: ImportContext, op: Any) -> bool:
    """Computes an integer scalar that follows from the chip's number, and records it.

    Returns:
        Whether the op is such a scalar and was computed.
    """
    known = context.module.by_chip
    if not known or len(op.results) != 1 or not scalars.is_integer_scalar(op.results[0].type):
        return False
    if is_host_only(op.results[0].type):
        return False
    operands: list[tuple[int, ...]] = []
    for operand in op.operands:
        if not scalars.is_integer_scalar(operand.type):
            return False
        value = context[operand]
        same = None if value in known else splat(value)
        if value not in known and same is None:
            return False
        numbers = known.get(value) or (int(same or 0),) * context.module.chips.size
        operands.append(tuple(scalars.wrap(number, str(operand.type.element_type)) for number in numbers))
    if not operands:
        return False
    results = [scalars.compute(op, list(row)) for row in zip(*operands, strict=True)]
    numbers = tuple(number for number in results if number is not None and -(2**31) <= number < 2**31)
    if len(numbers) != len(results):
        return False
    context.bind(op.results[0], by_chip(context, numbers, context.result_type(op)))
    return True


def part_by_chip(context: ImportContext, value: SSAValue, dim: int, start: SSAValue, size: int) -> SSAValue | None:
    """Takes the part of a dimension that begins at another place on each chip.

    Args:
        start: the start of the part, which is clamped.
        size: the size of the part.

    Returns:
        The part; None unless the parts of the chips along some axes of the mesh lie side by side.
    """
    starts = context.module.by_chip.get(start)
    if starts is None:
        return None
    limit = shape(value)[dim] - size
    begins = np.clip(starts, 0, limit)
    first = int(begins.min())
    axes = _axes_of_blocks(context.module.chips, (begins - first).tolist(), size)
    if axes is None:
        return None
    counts = [context.module.chips.shape[axis] for axis in axes]
    value = crop(context, value, dim, first, first + size * math.prod(counts))
    for axis, count in zip(axes, counts, strict=True):
        value = collectives.partition(context.emit, value, dim, axis, count)
    return value


def _axes_of_blocks(mesh: Mesh, begins: list[int], size: int) -> tuple[int, ...] | None:
    """Returns the axes, major first, along which each chip's block follows that of the chip before; None if there are
    none.

    Args:
        begins: where the block of each chip begins, by position; 0 for the first chip.
        size: size of a block.
    """
    places = np.array(begins).reshape(mesh.shape)
    axes = [axis for axis, count in enumerate(mesh.shape) if count > 1 and (np.diff(places, axis=axis) != 0).any()]
    axes.sort(key=lambda axis: -places.take(1, axis).reshape(-1)[0])
    sharding = Sharding((tuple(axes),))
    expected = [sharding.shard_index(mesh, position)[0] * size for position in range(mesh.size)]
    return tuple(axes) if expected == begins else None
