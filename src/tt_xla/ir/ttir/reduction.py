"""Reductions, cumulative ones, softmax and normalisation of the last dimensions."""

from __future__ import annotations

from abc import ABC

from xdsl.irdl import irdl_op_definition

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, F32, I32_LIST, I64, I64S, defaulted, opt_prop_def, prop_def


@irdl_op_definition
class SumOp(shared.Reduction):
    """Sum over ``dim_arg``, all dimensions when absent."""

    name = "ttir.sum"


@irdl_op_definition
class MeanOp(shared.Reduction):
    """Arithmetic mean over ``dim_arg``."""

    name = "ttir.mean"


@irdl_op_definition
class MaxOp(shared.Reduction):
    """Greatest element over ``dim_arg``."""

    name = "ttir.max"


@irdl_op_definition
class MinOp(shared.Reduction):
    """Least element over ``dim_arg``."""

    name = "ttir.min"


@irdl_op_definition
class ProdOp(shared.Reduction):
    """Product over ``dim_arg``."""

    name = "ttir.prod"


@irdl_op_definition
class ReduceAndOp(shared.Reduction):
    """1 where all elements over ``dim_arg`` are not 0, else 0."""

    name = "ttir.reduce_and"


@irdl_op_definition
class ReduceOrOp(shared.Reduction):
    """1 where some element over ``dim_arg`` is not 0, else 0."""

    name = "ttir.reduce_or"


@irdl_op_definition
class ArgmaxOp(shared.Reduction):
    """Position of the first greatest element along the one dimension of ``dim_arg``."""

    name = "ttir.argmax"
    dim_arg = opt_prop_def(I32_LIST)
    keep_dim = prop_def(BOOL)


@irdl_op_definition
class CumsumOp(shared.Cumulative):
    """Running sum along ``dim``."""

    name = "ttir.cumsum"
    dim = prop_def(I64)


@irdl_op_definition
class CumprodOp(shared.Cumulative):
    """Running product along ``dim``."""

    name = "ttir.cumprod"
    dim = prop_def(I64)


@irdl_op_definition
class SoftmaxOp(shared.Softmax):
    """exp(x) / sum(exp(x)) along ``dimension``; with ``numericStable`` the maximum is subtracted first."""

    name = "ttir.softmax"


class _OverLastDims(shared.Normalization, ABC):
    normalized_shape = prop_def(I64S)
    epsilon = defaulted(F32, 1e-5)

    def normalized(self) -> shapes.Shape:
        return self.normalized_shape

    def result_shape(self) -> shapes.Shape:
        sizes, whole = self.normalized(), shape(self.input)
        if whole[len(whole) - len(sizes) :] != sizes:
            raise ValueError(f"normalized_shape {sizes} is not the end of the operand's shape {whole}")
        return super().result_shape()


@irdl_op_definition
class LayerNormOp(_OverLastDims):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias over the last dimensions."""

    name = "ttir.layer_norm"


@irdl_op_definition
class RmsNormOp(_OverLastDims):
    """x / sqrt(mean(x * x) + epsilon) * weight + bias over the last dimensions."""

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
