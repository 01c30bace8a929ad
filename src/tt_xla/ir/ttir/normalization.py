"""Normalisation, optimisers, dropout and quantisation."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_result_def, result_def

from tt_xla.ir import abstract, shapes
from tt_xla.ir.abstract import normalization as shared
from tt_xla.ir.abstract import quantization, training
from tt_xla.ir.base import shape
from tt_xla.ir.properties import F32, I32, I64, defaulted, prop_def


class _BatchNorm(abstract.ShapedOp, ABC):
    """Normalises each index of ``dimension`` over all other dimensions."""

    operand = operand_def(TensorType)
    scale = operand_def(TensorType)
    offset = operand_def(TensorType)
    epsilon = prop_def(F32)
    dimension = prop_def(I32)

    def channels(self, *names: str) -> shapes.Shape:
        """Returns the shape of a statistic, after checking that the operands ``names`` have it."""
        input_shape = shape(self.operand)
        (dim,) = shapes.normalise_dims((self.dimension,), len(input_shape))
        for name in names:
            self.expect_shape(name, (input_shape[dim],))
        return (input_shape[dim],)


@irdl_op_definition
class BatchNormInferenceOp(_BatchNorm):
    """Computes (operand - mean) / sqrt(variance + epsilon) * scale + offset for each index of ``dimension``."""

    name = "ttir.batch_norm_inference"
    operand = operand_def(TensorType)
    scale = operand_def(TensorType)
    offset = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    result = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        self.channels("scale", "offset", "mean", "variance")
        return (shape(self.operand),)


@irdl_op_definition
class BatchNormTrainingOp(_BatchNorm):
    """Normalises by the batch's own mean and variance, and moves the running ones towards them by ``momentum``."""

    name = "ttir.batch_norm_training"
    operand = operand_def(TensorType)
    scale = operand_def(TensorType)
    offset = operand_def(TensorType)
    running_mean = operand_def(TensorType)
    running_variance = operand_def(TensorType)
    momentum = prop_def(F32)
    result = result_def(TensorType)
    batch_mean = result_def(TensorType)
    batch_variance = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        sizes = self.channels("scale", "offset", "running_mean", "running_variance")
        return shape(self.operand), sizes, sizes


@irdl_op_definition
class GroupNormOp(shared.GroupNorm):
    """Normalises over groups of channels."""

    name = "ttir.group_norm"
    channel_dim = defaulted(I64, 3)

    def channel_axis(self) -> int:
        return self.channel_dim


@irdl_op_definition
class DistributedRmsNormOp(shared.DistributedRmsNorm):
    """Computes the RMS normalisation of a dimension that is split over chips."""

    name = "ttir.distributed_rms_norm"
    epsilon = defaulted(F32, 1e-5)


@irdl_op_definition
class DistributedLayerNormOp(shared.DistributedLayerNorm):
    """Computes the layer normalisation of a dimension that is split over chips."""

    name = "ttir.distributed_layer_norm"


@irdl_op_definition
class AdamwOp(training.AdamW):
    """Takes one step of AdamW and returns the new parameter and states."""

    name = "ttir.adamw"
    param_out = result_def(TensorType)
    exp_avg_out = result_def(TensorType)
    exp_avg_sq_out = result_def(TensorType)
    max_exp_avg_sq_out = opt_result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        self.check_states()
        self.require(
            (self.max_exp_avg_sq is None) == (self.max_exp_avg_sq_out is None),
            "expected both max_exp_avg_sq and max_exp_avg_sq_out, or neither",
        )
        return (shape(self.param),) * 4


@irdl_op_definition
class DropoutOp(training.Dropout):
    """Sets elements to 0 at random and scales the others."""

    name = "ttir.dropout"


@irdl_op_definition
class QuantizeOp(abstract.LikeInput):
    """Converts real numbers to the result's quantised type."""

    name = "ttir.quantize"


@irdl_op_definition
class DequantizeOp(abstract.LikeInput):
    """Converts numbers of a quantised type to real ones."""

    name = "ttir.dequantize"


@irdl_op_definition
class RequantizeOp(abstract.LikeInput):
    """Converts numbers of one quantised type to another."""

    name = "ttir.requantize"


@irdl_op_definition
class QuantizeUnrolledOp(quantization.Quantize):
    """Computes round(input / scale) + zero_point."""

    name = "ttir.quantize_unrolled"


@irdl_op_definition
class DequantizeUnrolledOp(quantization.Quantize):
    """Computes (input - zero_point) * scale."""

    name = "ttir.dequantize_unrolled"


@irdl_op_definition
class RequantizeUnrolledOp(quantization.Requantize):
    """Converts integers with one scale and zero point to integers with another."""

    name = "ttir.requantize_unrolled"


OPS = (
    BatchNormInferenceOp,
    BatchNormTrainingOp,
    GroupNormOp,
    DistributedRmsNormOp,
    DistributedLayerNormOp,
    AdamwOp,
    DropoutOp,
    QuantizeOp,
    DequantizeOp,
    RequantizeOp,
    QuantizeUnrolledOp,
    DequantizeUnrolledOp,
    RequantizeUnrolledOp,
)
