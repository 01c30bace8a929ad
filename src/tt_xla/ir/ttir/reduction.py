"""Reductions, cumulative reductions, softmax, and normalisation of the last dimensions."""

from __future__ import annotations

from abc import ABC

from xdsl.irdl import irdl_op_definition

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, F32, I32_LIST, I64, I64S, defaulted, opt_prop_def, prop_def


@irdl_op_definition
class SumOp(shared.Reduction):
    """Computes the sum over ``dim_arg``, over all dimensions when absent."""

    name = "ttir.sum"


@irdl_op_definition
class MeanOp(shared.Reduction):
    """Computes the arithmetic mean over ``dim_arg``."""

    name = "ttir.mean"


@irdl_op_definition
class MaxOp(shared.Reduction):
    """Computes the greatest element over ``dim_arg``."""

    name = "ttir.max"


@irdl_op_definition
class MinOp(shared.Reduction):
    """Computes the least element over ``dim_arg``."""

    name = "ttir.min"


@irdl_op_definition
class ProdOp(shared.Reduction):
    """Computes the product over ``dim_arg``."""

    name = "ttir.prod"


@irdl_op_definition
class ReduceAndOp(shared.Reduction):
    """Returns 1 where all elements over ``dim_arg`` are not 0, else 0."""

    name = "ttir.reduce_and"


@irdl_op_definition
class ReduceOrOp(shared.Reduction):
    """Returns 1 where some element over ``dim_arg`` is not 0, else 0."""

    name = "ttir.reduce_or"


@irdl_op_definition
class ArgmaxOp(shared.Reduction):
    """Returns the position of the first greatest element along the one dimension of ``dim_arg``."""

    name = "ttir.argmax"
    dim_arg = opt_prop_def(I32_LIST)
    keep_dim = prop_def(BOOL)


@irdl_op_definition
class CumsumOp(shared.Cumulative):
    """Computes the running sum along ``dim``."""

    name = "ttir.cumsum"
    dim = prop_def(I64)


@irdl_op_definition
class CumprodOp(shared.Cumulative):
    """Computes the running product along ``dim``."""

    name = "ttir.cumprod"
    dim = prop_def(I64)


@irdl_op_definition
class SoftmaxOp(shared.Softmax):
    """Computes exp(x) / sum(exp(x)) along ``dimension``; with ``numericStable`` it subtracts the maximum first."""

    name = "ttir.softmax"


class _OverLastDims(shared.Normalization, ABC):
    """Normalises over the last dimensions, whose sizes are ``normalized_shape``."""

    normalized_shape = prop_def(I64S)
    epsilon = defaulted(F32, 1e-5)

    def normalized(self) -> shapes.Shape:
        return self.normalized_shape

    def result_shape(self) -> shapes.Shape:
        sizes, input_shape = self.normalized(), shape(self.input)
        if input_shape[len(input_shape) - len(sizes) :] != sizes:
            raise ValueError(
                f"normalized_shape is {sizes}, expected the last dimensions of the operand's shape {input_shape}"
            )
        return super().result_shape()


@irdl_op_definition
class LayerNormOp(_OverLastDims):
    """Computes (x - mean) / sqrt(variance + epsilon) * weight + bias over the last dimensions."""

    name = "ttir.layer_norm"


@irdl_op_definition
class RmsNormOp(_OverLastDims):
    """Computes x / sqrt(mean(x * x) + epsilon) * weight + bias over the last dimensions."""

    name = "ttir.rms_norm"


OPS = (
    SumOp,
    MeanOp,
    MaxOp,
    MinOp,
    ProdOp,
    ReduceAndOp,
    ReduceOrOp,
    ArgmaxOp,
    CumsumOp,
    CumprodOp,
    SoftmaxOp,
    LayerNormOp,
    RmsNormOp,
)
