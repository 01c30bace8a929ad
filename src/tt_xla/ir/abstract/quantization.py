"""Between real numbers and integers with a scale and a zero point, for all of a tensor or along ``axis``."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def

from tt_xla.ir import shapes
from tt_xla.ir.abstract import LikeInput
from tt_xla.ir.base import shape
from tt_xla.ir.properties import I32, opt_prop_def


class _Quantization(LikeInput, ABC):
    axis = opt_prop_def(I32)

    def check_parameters(self, *names: str) -> None:
        """That each is one number, or one for each index along ``axis``."""
        axis, whole = self.axis, shape(self.input)
        if axis is not None:
            shapes.normalise_dims((axis,), len(whole))
        for name in names:
            found = shape(getattr(self, name))
            size = 1
            for dim in found:
                size *= dim
            expected = 1 if axis is None else whole[axis]
            self.need(size in (1, expected), f"{name} has shape {found}, expected {expected} elements")


class Quantize(_Quantization, ABC):
    """round(input / scale) + zero_point, and the reverse."""

    input = operand_def(TensorType)
    scale = operand_def(TensorType)
    zero_point = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        self.check_parameters("scale", "zero_point")
        return shape(self.input)


class Requantize(_Quantization, ABC):
    """Integers of one scale and zero point as those of another."""

    input = operand_def(TensorType)
    in_scale = operand_def(TensorType)
    in_zero_point = operand_def(TensorType)
    out_scale = operand_def(TensorType)
    out_zero_point = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        self.check_parameters("in_scale", "in_zero_point", "out_scale", "out_zero_point")
        return shape(self.input)
