"""Optimisers and random numbers."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, opt_operand_def

from tt_xla.ir.abstract import LikeInput, ShapedOp
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, F32, UI32, defaulted, prop_def


class AdamW(ShapedOp, ABC):
    """One step of AdamW: decayed weights, moving means of the gradient and its square, and their greatest value."""

    param = operand_def(TensorType)
    grad = operand_def(TensorType)
    exp_avg = operand_def(TensorType)
    exp_avg_sq = operand_def(TensorType)
    max_exp_avg_sq = opt_operand_def(TensorType)
    lr = prop_def(F32)
    beta1 = prop_def(F32)
    beta2 = prop_def(F32)
    beta1_pow = prop_def(F32)
    beta2_pow = prop_def(F32)
    epsilon = prop_def(F32)
    weight_decay = prop_def(F32)
    stochastic_rounding = defaulted(BOOL, False)

    def check_states(self) -> None:
        for name in ("grad", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"):
            self.expect(name, shape(self.param))


class Dropout(LikeInput, ABC):
    """Elements set to 0 with probability ``prob``, the others times ``scale``."""

    prob = defaulted(F32, 0.0)
    scale = defaulted(F32, 1.0)
    seed = defaulted(UI32, 0)
    use_per_device_seed = defaulted(BOOL, True)

    def result_shape(self) -> tuple[int, ...]:
        self.need(0 <= self.prob <= 1, f"prob {self.prob} is no probability")
        return shape(self.input)
