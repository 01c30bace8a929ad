"""Normalisation in training, over groups, and over several chips."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import AttrSizedOperandSegments, operand_def, opt_operand_def

from tt_xla.ir import shapes
from tt_xla.ir.abstract import LikeInput, Normalization
from tt_xla.ir.base import shape
from tt_xla.ir.properties import F32, I64, UI32, defaulted, prop_def


class GroupNorm(LikeInput, ABC):
    """(x - mean) / sqrt(variance + epsilon) over the positions and channels of each group; weight and bias [C]."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    input = operand_def(TensorType)
    input_mask = opt_operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    num_groups = prop_def(I64)
    epsilon = defaulted(F32, 1e-12)

    def channel_axis(self) -> int:
        return -1

    def result_shape(self) -> shapes.Shape:
        whole, groups, dim = shape(self.input), self.num_groups, self.channel_axis()
        shapes.normalise_dims((dim,), len(whole))
        self.need(groups > 0 and whole[dim] % groups == 0, f"{whole[dim]} channels do not split into {groups} groups")
        return whole


class DistributedRmsNorm(LikeInput, ABC):
    """RMS normalisation of a dimension that is split over chips; ``residual`` is added first."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    input = operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    residual = opt_operand_def(TensorType)
    cluster_axis = prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        self.expect("residual", shape(self.input))
        return shape(self.input)


class DistributedLayerNorm(Normalization, ABC):
    """Layer normalisation of a dimension that is split over chips; ``residual`` is added first."""

    input = operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    residual = opt_operand_def(TensorType)
    cluster_axis = prop_def(UI32)
    epsilon = defaulted(F32, 1e-5)

    def result_shape(self) -> shapes.Shape:
        self.expect("residual", shape(self.input))
        return shape(self.input)
