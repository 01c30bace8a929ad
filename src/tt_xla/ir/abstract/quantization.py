"""Conversions between real numbers and integers with a scale and a zero point, per tensor or along ``axis``."""

from __future__ import annotations

import math
from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def

from tt_xla.ir import shapes
from tt_xla.ir.abstract import LikeInput
from tt_xla.ir.base import shape
from tt_xla.ir.properties import I32, opt_prop_def


class _Quantization(LikeInput, ABC):
    """An op whose scales and zero points hold for the tensor, or one each for an index along ``axis``."""

    axis = opt_prop_def(I32)

    def check_parameters(self, *names: str) -> None:
        """Checks that each operand of ``names`` has one element, or one for each index along ``axis``.

        Raises:
            ValueError: an operand has another number of elements.
        """
        axis, input_shape = self.axis, shape(self.input)
        if axis is not None:
            shapes.normalise_dims((axis,), len(input_shape))
        expected = 1 if axis is None else input_shape[axis]
        for name in names:
            sizes = shape(getattr(self, name))
            self.require(math.prod(sizes) in (1, expected), f"{name} has shape {sizes}, expected {expected} elements")


class Quantize(_Quantization, ABC):
    """Converts between real numbers and integers: round(input / scale) + zero_point, and the reverse."""

    input = operand_def(TensorType)
    scale = operand_def(TensorType)
    zero_point = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        self.check_parameters("scale", "zero_point")
        return shape(self.input)


class Requantize(_Quantization, ABC):
    """Converts integers with one scale and zero point to integers with another."""

    input = operand_def(TensorType)
    in_scale = operand_def(TensorType)
    in_zero_point = operand_def(TensorType)
    out_scale = operand_def(TensorType)
    out_zero_point = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        self.check_parameters("in_scale", "in_zero_point", "out_scale", "out_zero_point")
        return shape(self.input)
