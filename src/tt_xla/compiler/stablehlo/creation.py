"""StableHLO ops that make tensors from nothing."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.importer import Importer, converts
from tt_xla.compiler.stablehlo.types import constant_values, elements
from tt_xla.ir.base import Tensor
from tt_xla.ir.ttir.creation import ArangeOp, ConstantOp


def full(importer: Importer, value: float | int, type_: Tensor) -> SSAValue:
    """A tensor of one value everywhere."""
    typed = float(value) if type_.element_type in (bf16, f32) else int(value)
    return importer.emit(ConstantOp, [], type_, value=elements(typed, type_))


@converts("stablehlo.constant")
def constant(importer: Importer, op: Any) -> SSAValue:
    type_ = importer.result_type(op)
    return importer.emit(ConstantOp, [], type_, value=elements(constant_values(op.attributes["value"]), type_))


@converts("stablehlo.iota")
def iota(importer: Importer, op: Any) -> SSAValue:
    type_ = importer.result_type(op)
    dim = int(op.attributes["iota_dimension"].value)
    return importer.emit(ArangeOp, [], type_, start=0, end=type_.get_shape()[dim], step=1, arange_dimension=dim)
