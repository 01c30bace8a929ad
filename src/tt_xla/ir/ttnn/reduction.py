"""Reductions, softmax and normalisation. Source: tt-mlir ``TTNNOps.td``, ttnn Python API of the same names."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, F32, SI32, SI64, defaulted, opt_prop_def, prop_def
from tt_xla.ir.ttnn.base import ComputeOp, TTNNOp


class _Reduction(ComputeOp, shared.Reduction, ABC):
    """A reduction by the matrix unit."""


@irdl_op_definition
class SumOp(_Reduction):
    """Computes the sum over ``dim_arg``, over all dimensions when absent."""

    name = "ttnn.sum"


@irdl_op_definition
class MeanOp(_Reduction):
    """Computes the arithmetic mean over ``dim_arg``."""

    name = "ttnn.mean"


@irdl_op_definition
class MaxOp(_Reduction):
    """Computes the greatest element over ``dim_arg``."""

    name = "ttnn.max"


@irdl_op_definition
class MinOp(_Reduction):
    """Computes the least element over ``dim_arg``."""

    name = "ttnn.min"


@irdl_op_definition
class ProdOp(TTNNOp, shared.TensorOp):
    """Computes the product over the dimension ``dim_arg``, over all dimensions when absent."""

    name = "ttnn.prod"
    input = operand_def(TensorType)
    dim_arg = opt_prop_def(SI64)
    keep_dim = prop_def(BOOL)

    def result_shape(self) -> shapes.Shape:
        dim = self.dim_arg
        return shapes.reduce(shape(self.input), None if dim is None else (dim,), self.keep_dim)


@irdl_op_definition
class ArgmaxOp(TTNNOp, shared.TensorOp):
    """Returns the position of the first greatest element along ``dim``, as u32."""

    name = "ttnn.argmax"
    input = operand_def(TensorType)
    dim = opt_prop_def(SI32)
    keep_dim = defaulted(BOOL, False)

    def result_shape(self) -> shapes.Shape:
        dim = self.dim
        return shapes.reduce(shape(self.input), None if dim is None else (dim,), self.keep_dim)


@irdl_op_definition
class CumsumOp(TTNNOp, shared.Cumulative):
    """Computes the running sum along ``dim``."""

    name = "ttnn.cumsum"
    dim = prop_def(SI32)


@irdl_op_definition
class CumprodOp(TTNNOp, shared.Cumulative):
    """Computes the running product along ``dim``."""

    name = "ttnn.cumprod"
    dim = prop_def(SI32)


@irdl_op_definition
class SoftmaxOp(ComputeOp, shared.Softmax):
    """Computes exp(x) / sum(exp(x)) along ``dimension``."""

    name = "ttnn.softmax"


@irdl_op_definition
class LayerNormOp(TTNNOp, shared.Normalization):
    """Computes (x - mean) / sqrt(variance + epsilon) * weight + bias over the last dimension."""

    name = "ttnn.layer_norm"
    epsilon = defaulted(F32, 1e-12)


@irdl_op_definition
class RmsNormOp(ComputeOp, shared.Normalization):
    """Computes x / sqrt(mean(x * x) + epsilon) * weight + bias over the last dimension."""

    name = "ttnn.rms_norm"
    epsilon = defaulted(F32, 1e-12)


OPS = (SumOp, MeanOp, MaxOp, MinOp, ProdOp, ArgmaxOp, CumsumOp, CumprodOp, SoftmaxOp, LayerNormOp, RmsNormOp)
