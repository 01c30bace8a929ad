"""Normalisation in training, over groups and over chips; optimisers; quantisation. Source: tt-mlir ``TTNNOps.td``."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def

from tt_xla.ir import abstract, shapes
from tt_xla.ir.abstract import normalization as shared
from tt_xla.ir.abstract import quantization, training
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, F32, STR, UI32, defaulted, opt_prop_def
from tt_xla.ir.ttcore import DTYPE, TOPOLOGY
from tt_xla.ir.ttnn.attributes import DeviceType
from tt_xla.ir.ttnn.base import ComputeOp, TTNNOp
from tt_xla.ir.ttnn.configs import LAYERNORM_CONFIG, MEMORY_CONFIG


class _BatchNorm(ComputeOp, abstract.LikeInput, ABC):
    """Normalises over all but the second dimension of [N, C, H, W]; statistics, weight and bias are [1, C, 1, 1]."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    input = operand_def(TensorType)
    running_mean = opt_operand_def(TensorType)
    running_var = opt_operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    epsilon = defaulted(F32, 1e-5)

    def result_shape(self) -> shapes.Shape:
        channels = self.shape_of_rank("input", 4)[1]
        for name in ("running_mean", "running_var", "weight", "bias"):
            self.expect_shape(name, (1, channels, 1, 1))
        return shape(self.input)


@irdl_op_definition
class BatchNormInferenceOp(_BatchNorm):
    """Computes (x - running_mean) / sqrt(running_var + epsilon) * weight + bias for each channel."""

    name = "ttnn.batch_norm_inference"


@irdl_op_definition
class BatchNormTrainingOp(_BatchNorm):
    """Normalises by the batch's own statistics, and moves the running ones towards them in place."""

    name = "ttnn.batch_norm_training"
    momentum = defaulted(F32, 0.1)


@irdl_op_definition
class GroupNormOp(TTNNOp, shared.GroupNorm):
    """Normalises over groups of channels, which are the last dimension."""

    name = "ttnn.group_norm"


@irdl_op_definition
class DitRmsNormUnaryFusedOp(ComputeOp, abstract.Normalization):
    """Computes the RMS normalisation of input + residual_input, then ``activation``."""

    name = "ttnn.dit_rms_norm_unary_fused"
    input = operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    residual_input = opt_operand_def(TensorType)
    epsilon = defaulted(F32, 1e-5)
    activation = opt_prop_def(STR)
    memory_config = opt_prop_def(MEMORY_CONFIG)


@irdl_op_definition
class DistributedRmsNormOp(ComputeOp, shared.DistributedRmsNorm):
    """Computes the RMS normalisation of a dimension that is split over chips."""

    name = "ttnn.distributed_rms_norm"
    input = operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    residual = opt_operand_def(TensorType)
    stats = opt_operand_def(TensorType)
    semaphore = opt_operand_def()
    device = operand_def(DeviceType)
    epsilon = defaulted(F32, 1e-12)
    sub_device_id = opt_prop_def(UI32)
    num_links = opt_prop_def(UI32)
    topology = opt_prop_def(TOPOLOGY)
    program_config = opt_prop_def(LAYERNORM_CONFIG)


@irdl_op_definition
class DistributedLayerNormOp(TTNNOp, shared.DistributedLayerNorm):
    """Computes the layer normalisation of a dimension that is split over chips."""

    name = "ttnn.distributed_layer_norm"
    input = operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    residual = opt_operand_def(TensorType)
    device = operand_def(DeviceType)


class Statistics(ComputeOp, abstract.TensorOp, ABC):
    """Computes sums of each row; each statistic fills the first columns of a tile."""

    input = operand_def(TensorType)
    program_config = opt_prop_def(LAYERNORM_CONFIG)

    def result_shape(self) -> None:
        rows, sizes = shape(self.input)[:-1], shape(self.result)
        self.require(sizes[:-1] == rows, f"result has shape {sizes}, expected {rows} and one more dimension")


@irdl_op_definition
class RmsNormPreAllGatherOp(Statistics):
    """Computes the sum of squares of each row, before chips exchange these sums."""

    name = "ttnn.rms_norm_pre_all_gather"
    input = operand_def(TensorType)
    residual = opt_operand_def(TensorType)
    use_2d_core_grid = opt_prop_def(BOOL)


@irdl_op_definition
class LayerNormPreAllGatherOp(Statistics):
    """Computes sum and sum of squares of each row, before chips exchange these sums."""

    name = "ttnn.layer_norm_pre_all_gather"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    input = operand_def(TensorType)
    residual_input = opt_operand_def(TensorType)
    recip = opt_operand_def(TensorType)


class ByStatistics(ComputeOp, abstract.Normalization, ABC):
    """Normalises by the exchanged ``stats``: those of all chips side by side."""

    input = operand_def(TensorType)
    stats = operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    epsilon = defaulted(F32, 1e-12)
    program_config = opt_prop_def(LAYERNORM_CONFIG)


@irdl_op_definition
class LayerNormPostAllGatherOp(ByStatistics):
    """Computes the layer normalisation by the exchanged ``stats``."""

    name = "ttnn.layer_norm_post_all_gather"


@irdl_op_definition
class RmsNormPostAllGatherOp(ByStatistics):
    """Computes the RMS normalisation by the exchanged ``stats``.

    Source: TT-NN's function of this name; tt-mlir's dialect has none.
    """

    name = "ttnn.rms_norm_post_all_gather"


@irdl_op_definition
class AdamwOp(TTNNOp, training.AdamW):
    """Takes one step of AdamW; parameter and states change in place."""

    name = "ttnn.adamw"

    def result_shapes(self) -> Sequence[shapes.Shape]:
        self.check_states()
        return ()


@irdl_op_definition
class DropoutOp(TTNNOp, training.Dropout):
    """Sets elements to 0 at random and scales the others."""

    name = "ttnn.dropout"


@irdl_op_definition
class QuantizeOp(TTNNOp, quantization.Quantize):
    """Computes round(input / scale) + zero_point."""

    name = "ttnn.quantize"
    output_dtype = opt_prop_def(DTYPE)


@irdl_op_definition
class DequantizeOp(TTNNOp, quantization.Quantize):
    """Computes (input - zero_point) * scale."""

    name = "ttnn.dequantize"
    output_dtype = opt_prop_def(DTYPE)


@irdl_op_definition
class RequantizeOp(TTNNOp, quantization.Requantize):
    """Converts integers with one scale and zero point to integers with another."""

    name = "ttnn.requantize"
    output_dtype = opt_prop_def(DTYPE)


OPS = (
    BatchNormInferenceOp,
    BatchNormTrainingOp,
    GroupNormOp,
    DitRmsNormUnaryFusedOp,
    DistributedRmsNormOp,
    DistributedLayerNormOp,
    RmsNormPreAllGatherOp,
    LayerNormPreAllGatherOp,
    LayerNormPostAllGatherOp,
    RmsNormPostAllGatherOp,
    AdamwOp,
    DropoutOp,
    QuantizeOp,
    DequantizeOp,
    RequantizeOp,
)
