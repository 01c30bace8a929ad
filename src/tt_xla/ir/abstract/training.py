"""Optimisers and dropout."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, opt_operand_def

from tt_xla.ir.abstract import LikeInput, ShapedOp
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, F32, UI32, defaulted, prop_def


class AdamW(ShapedOp, ABC):
    """Takes one step of AdamW.

    The states are moving means of the gradient and of its square, and the greatest value of the latter.
    """

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
        """Checks that gradient and states have the parameter's shape.

        Raises:
            ValueError: one has not.
        """
        for name in ("grad", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"):
            self.expect_shape(name, shape(self.param))


class Dropout(LikeInput, ABC):
    """Sets elements to 0 with probability ``prob`` and multiplies the others by ``scale``."""

    prob = defaulted(F32, 0.0)
    scale = defaulted(F32, 1.0)
    seed = defaulted(UI32, 0)
    use_per_device_seed = defaulted(BOOL, True)

    def result_shape(self) -> tuple[int, ...]:
        self.require(0 <= self.prob <= 1, f"prob is {self.prob}, expected 0 to 1")
        return shape(self.input)
