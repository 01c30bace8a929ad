"""Ops that create tensors."""

from __future__ import annotations

from abc import ABC
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import OpResult, SSAValue
from xdsl.irdl import irdl_op_definition, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import TTOp, shape
from tt_xla.ir.properties import F32, I32_LIST, I32S, I64, SCALAR, SI64, UI32, defaulted, prop_def


@irdl_op_definition
class ConstantOp(shared.Constant):
    """Returns elements that are given with the program."""

    name = "ttir.constant"


@irdl_op_definition
class FullOp(shared.TensorOp):
    """Returns a tensor filled with ``fill_value``."""

    name = "ttir.full"
    shape_ = prop_def(I32S, prop_name="shape")
    fill_value = prop_def(SCALAR)

    def result_shape(self) -> shapes.Shape:
        return self.shape_


@irdl_op_definition
class ArangeOp(shared.TensorOp):
    """Counts start, start + step, ... below end along ``arange_dimension``; elements are equal along the others."""

    name = "ttir.arange"
    start = prop_def(SI64)
    end = prop_def(SI64)
    step = prop_def(SI64)
    arange_dimension = prop_def(I64)

    def result_shape(self) -> None:
        sizes, dim = shape(self.result), self.arange_dimension
        shapes.normalise_dims((dim,), len(sizes))
        step = self.step
        if step == 0:
            raise ValueError("step is 0, expected another number")
        count = max(0, -(-(self.end - self.start) // step))
        if sizes[dim] != count:
            raise ValueError(f"result has shape {sizes}, expected {count} elements along dimension {dim}")


class _Filled(shared.TensorOp, ABC):
    """A tensor of one value."""

    shape_ = prop_def(I32S, prop_name="shape")

    def result_shape(self) -> shapes.Shape:
        return self.shape_


@irdl_op_definition
class ZerosOp(_Filled):
    """Returns zeros."""

    name = "ttir.zeros"


@irdl_op_definition
class OnesOp(_Filled):
    """Returns ones."""

    name = "ttir.ones"


@irdl_op_definition
class RandOp(shared.TensorOp):
    """Draws numbers evenly from ``low`` to ``high``."""

    name = "ttir.rand"
    size = prop_def(I32_LIST)
    low = defaulted(F32, 0.0)
    high = defaulted(F32, 1.0)
    seed = defaulted(UI32, 0)

    def result_shape(self) -> shapes.Shape:
        return self.size


@irdl_op_definition
class EmptyOp(TTOp):
    """Returns a tensor whose elements are not set, ``ttir.empty() : tensor<2x3xbf16>``."""

    name = "ttir.empty"
    result = result_def(TensorType)

    def print(self, printer: Printer) -> None:
        printer.print_string("() : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> EmptyOp:
        parser.parse_punctuation("(")
        parser.parse_punctuation(")")
        parser.parse_punctuation(":")
        return cls.create(result_types=[parser.parse_type()])


def splat(value: SSAValue) -> float | int | None:
    """Returns the value that all elements of a constant have; None for any other value and without elements."""
    constant = value.op if type(value) is OpResult and isinstance(value.op, ConstantOp) else None
    if constant is None:
        return None
    # Comparing bytes is faster than comparing elements, and constants may be large.
    elements: Any = constant.value_
    element, raw = elements.type.element_type, elements.data.data
    if not raw:
        return None
    first = raw[: element.size]
    if len(raw) != len(first) and (raw[-len(first) :] != first or raw != first * (len(raw) // len(first))):
        return None
    return _number(element, first)


@lru_cache(maxsize=4096)
def _number(element: Any, data: bytes) -> float | int:
    """Returns the number that the bytes of one element stand for."""
    return cast(float | int, element.unpack(data, 1)[0])


OPS = (ConstantOp, FullOp, ArangeOp, ZerosOp, OnesOp, RandOp, EmptyOp)
