"""Normalisation over groups and over several chips."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import AttrSizedOperandSegments, operand_def, opt_operand_def

from tt_xla.ir import shapes
from tt_xla.ir.abstract import LikeInput, Normalization
from tt_xla.ir.base import shape
from tt_xla.ir.properties import F32, I64, UI32, defaulted, prop_def


class GroupNorm(LikeInput, ABC):
    """Computes (x - mean) / sqrt(variance + epsilon) over positions and channels of each group.

    weight and bias are [C].
    """

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    input = operand_def(TensorType)
    input_mask = opt_operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    num_groups = prop_def(I64)
    epsilon = defaulted(F32, 1e-12)

    def channel_axis(self) -> int:
        """Returns the dimension of ``input`` that counts channels."""
        return -1

    def result_shape(self) -> shapes.Shape:
        input_shape, groups, dim = shape(self.input), self.num_groups, self.channel_axis()
        shapes.normalise_dims((dim,), len(input_shape))
        self.require(
            groups > 0 and input_shape[dim] % groups == 0,
            f"{input_shape[dim]} channels do not split into {groups} groups",
        )
        return input_shape


class DistributedRmsNorm(LikeInput, ABC):
    """Computes the RMS normalisation of a dimension that is split over chips; ``residual`` is added first."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    input = operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    residual = opt_operand_def(TensorType)
    cluster_axis = prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        self.expect_shape("residual", shape(self.input))
        return shape(self.input)


class DistributedLayerNorm(Normalization, ABC):
    """Computes the layer normalisation of a dimension that is split over chips; ``residual`` is added first."""

    input = operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    residual = opt_operand_def(TensorType)
    cluster_axis = prop_def(UI32)
    epsilon = defaulted(F32, 1e-5)

    def result_shape(self) -> shapes.Shape:
        self.expect_shape("residual", shape(self.input))
        return shape(self.input)
