"""Converters of StableHLO ops without operands: constants and ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.locations import describe
from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.resources import resource_values
from tt_xla.compiler.stablehlo.types import constant_values
from tt_xla.ir.base import Tensor
from tt_xla.ir.ttir.creation import ArangeOp, ConstantOp

_EXTREMES = {"i64": {-(2**63): -(2**31), 2**63 - 1: 2**31 - 1}}
"""Extreme values of 64-bit integers as 32-bit integers, by element type. Maximum and minimum reductions start from
them, so on the chip they become the extreme values of 32 bits."""


def full(context: ImportContext, value: float | int, type_: Tensor) -> SSAValue:
    """Emits a constant whose elements are all ``value``."""
    typed = float(value) if type_.element_type in (bf16, f32) else int(value)
    return context.emit(ConstantOp, [], type_, value=elements(typed, type_))


@converts("stablehlo.constant")
def constant(context: ImportContext, op: Any) -> SSAValue:
    type_ = context.result_type(op)
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        values = constant_values(attribute)
    else:
        values = resource_values(op, context.module.resources, describe(context.location))
    if isinstance(values, int):
        values = _EXTREMES.get(str(op.results[0].type.element_type), {}).get(values, values)
    if str(op.results[0].type.element_type) == "f64" and _overflows(values):
        raise context.reject(op, "it has values that are finite in float64 and infinite in float32")
    return context.emit(ConstantOp, [], type_, value=elements(values, type_))


def _overflows(values: Any) -> bool:
    """Whether a finite value is beyond the range of float32."""
    magnitudes = np.abs(np.asarray(values, np.float64))
    return bool(np.any((magnitudes > np.finfo(np.float32).max) & np.isfinite(magnitudes)))


@converts("tensor.empty")
def empty(context: ImportContext, op: Any) -> SSAValue:
    """Returns zeros: any elements will do."""
    if len(op.operands):
        raise context.reject(op, "its shape is not static")
    return full(context, 0, context.result_type(op))


@converts("stablehlo.iota")
def iota(context: ImportContext, op: Any) -> SSAValue:
    type_ = context.result_type(op)
    dim = int(op.attributes["iota_dimension"].value)
    return context.emit(ArangeOp, [], type_, start=0, end=type_.get_shape()[dim], step=1, arange_dimension=dim)
