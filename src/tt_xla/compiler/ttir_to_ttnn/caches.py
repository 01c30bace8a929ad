"""Lowerings of writes to caches.

An op without a result, as in tt-mlir's text, writes to its operand; later ops that read the cache read what it wrote.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers
from tt_xla.ir import shapes
from tt_xla.ir.abstract.cache import CacheOp
from tt_xla.ir.base import DATA_TYPES, TTOp, shape, tensor_type
from tt_xla.ir.layout import DataType
from tt_xla.ir.ttir import attention as source
from tt_xla.ir.ttnn import attention as target
from tt_xla.ir.ttnn.structure import PermuteOp, RepeatOp

_BY_SEQUENCE = (0, 2, 1, 3)
"""Permutation that puts each sequence's new row in the dimension where TT-NN expects it."""


@lowers(source.PagedUpdateCacheOp)
def paged_update_cache(lowering: Lowering, op: source.PagedUpdateCacheOp) -> list[SSAValue]:
    """Lowers the write of one position per sequence, by row-major indices and page tables."""
    index = lowering.row_major(op.update_index, DataType.SI32)
    pages = None if op.page_table is None else lowering.row_major(op.page_table, DataType.SI32)
    operands = [lowering.tiled(op.cache), lowering.tiled(op.input), index, pages]
    return _written(lowering, op, target.PagedUpdateCacheOp, operands, share_cache=op.share_cache)


@lowers(source.UpdateCacheOp)
def update_cache(lowering: Lowering, op: source.UpdateCacheOp) -> list[SSAValue]:
    """Lowers the write of one position to ``paged_update_cache``, as tt-mlir does.

    That op reads the position on the device; ``ttnn.update_cache`` has the host read it.
    """
    rows, index = lowering.tiled(op.input), lowering.tiled(op.update_index, DataType.SI32)
    sizes, count = shapes.permute(shape(rows), _BY_SEQUENCE), shape(op.cache)[0]
    rows = lowering.emit(
        PermuteOp, [rows], sizes, DATA_TYPES[tensor_type(op.input).element_type], permutation=_BY_SEQUENCE
    )
    if shape(index) != (count,):
        index = lowering.emit(RepeatOp, [index], (count,), DataType.SI32, repeat_dims=(count,))
    index = lowering.convert(index, tiled=False)
    operands = [lowering.tiled(op.cache), rows, index, None]
    return _written(lowering, op, target.PagedUpdateCacheOp, operands, share_cache=False)


@lowers(source.FillCacheOp)
def fill_cache(lowering: Lowering, op: source.FillCacheOp) -> list[SSAValue]:
    """Lowers the write of a whole sequence."""
    operands = [lowering.tiled(op.cache), lowering.tiled(op.input)]
    return _written(lowering, op, target.FillCacheOp, operands, batch_offset=op.batch_offset)


def _written(lowering: Lowering, op: CacheOp, kind: type[TTOp], operands: list[Any], **values: Any) -> list[SSAValue]:
    """Adds a cache write and returns its result; an op without a result replaces the cache instead."""
    written = lowering.add(kind, operands, operands[0].type, **values)
    if op.result is not None:
        return [written]
    lowering.values[op.cache] = written
    return []
