"""Lowerings of constants, fills and ranges."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, belongs_in_rows, host_layout, lowers, stays_on_host
from tt_xla.ir.ttir import creation as source
from tt_xla.ir.ttnn import memory as target
from tt_xla.ir.ttnn.attributes import laid_out


@lowers(source.ConstantOp)
def constant(lowering: Lowering, op: source.ConstantOp) -> SSAValue:
    """Lowers a constant: a splat is filled on the device, other data comes from the host, row-major."""
    sizes, dtype = lowering.result(op)
    data = op.value_
    if stays_on_host(op.result):
        return lowering.add(target.ConstantOp, [None], laid_out(sizes, host_layout(op.result)), value=data)
    if data.is_splat():
        return _full(lowering, op, data.get_values()[0])  # pyright: ignore[reportArgumentType]
    return lowering.emit(target.ConstantOp, [lowering.device], sizes, dtype, tiled=False, value=data)


@lowers(source.FullOp)
def full(lowering: Lowering, op: source.FullOp) -> SSAValue:
    """Lowers a fill."""
    return _full(lowering, op, op.fill_value)


def _full(lowering: Lowering, op: source.ConstantOp | source.FullOp, value: float | int) -> SSAValue:
    """Adds a fill on the device, in tiles unless they are mostly padding."""
    sizes, dtype = lowering.result(op)
    values: dict[str, Any] = {"shape": sizes, "fill_value": float(value) if dtype.is_float else int(value)}
    tiled = not belongs_in_rows(op.result)
    return lowering.emit(target.FullOp, [lowering.device], sizes, dtype, tiled=tiled, **values)


@lowers(source.ArangeOp)
def arange(lowering: Lowering, op: source.ArangeOp) -> SSAValue:
    """Lowers a range."""
    values = {name: op.value(name) for name in ("start", "end", "step")}
    return lowering.emit(target.ArangeOp, [lowering.device], *lowering.result(op), **values)
