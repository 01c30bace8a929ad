"""Shared base classes of ops that move elements, beyond the common ones."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def

from tt_xla.ir import shapes
from tt_xla.ir.abstract import TensorOp
from tt_xla.ir.base import shape
from tt_xla.ir.properties import I32_LIST, SCALE, SI32, STR, UI32, defaulted, opt_prop_def, prop_def


class Transpose(TensorOp, ABC):
    """Exchanges dimensions ``dim0`` and ``dim1``."""

    input = operand_def(TensorType)
    dim0 = prop_def(SI32)
    dim1 = prop_def(SI32)

    def result_shape(self) -> shapes.Shape:
        input_shape = list(shape(self.input))
        (first,) = shapes.normalise_dims((self.dim0,), len(input_shape))
        (second,) = shapes.normalise_dims((self.dim1,), len(input_shape))
        input_shape[first], input_shape[second] = input_shape[second], input_shape[first]
        return tuple(input_shape)


class RepeatInterleave(TensorOp, ABC):
    """Repeats each element ``repeats`` times in a row along ``dim``."""

    input = operand_def(TensorType)
    repeats = prop_def(UI32)
    dim = prop_def(SI32)

    def result_shape(self) -> shapes.Shape:
        input_shape = list(shape(self.input))
        (dim,) = shapes.normalise_dims((self.dim,), len(input_shape))
        input_shape[dim] *= self.repeats
        return tuple(input_shape)


class SliceDynamic(TensorOp, ABC):
    """Does the same as ``slice_static``, with bounds that are tensors of one number for each dimension."""

    input = operand_def(TensorType)
    begins = operand_def(TensorType)
    ends = operand_def(TensorType)
    step = opt_prop_def(I32_LIST)

    def result_shape(self) -> None:
        rank = len(shape(self.input))
        for name in ("begins", "ends"):
            self.expect_shape(name, (rank,))
        step = self.step
        self.require(
            step is None or len(step) == rank,
            f"step {step} has {len(step or ())} entries, expected {rank}, one for each dimension",
        )
        self.require(len(shape(self.result)) == rank, f"result has shape {shape(self.result)}, expected rank {rank}")


class Upsample2d(TensorOp, ABC):
    """Enlarges height and width of [N, H, W, C] by ``scale_factor``."""

    input = operand_def(TensorType)
    scale_factor = prop_def(SCALE)
    mode = defaulted(STR, "nearest")

    def result_shape(self) -> shapes.Shape:
        batch, height, width, channels = self.shape_of_rank("input", 4)
        down, right = shapes.pair(self.scale_factor, "scale_factor")
        self.require(self.mode in ("nearest", "bilinear"), f"mode is '{self.mode}', expected nearest or bilinear")
        return (batch, height * down, width * right, channels)


class GlobalAvgPool2d(TensorOp, ABC):
    """Computes the mean over height and width of [N, H, W, C], [N, 1, 1, C]."""

    input = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        batch, _, _, channels = self.shape_of_rank("input", 4)
        return (batch, 1, 1, channels)
