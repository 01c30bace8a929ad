"""Base classes of TTNN ops: every tensor has a layout, and ops of the matrix unit have a compute config."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import opt_prop_def

from tt_xla.ir.base import TTOp
from tt_xla.ir.ttnn.attributes import COMPUTE_CONFIG, TraceIdAttr, check_layout, layout_of


class TTNNOp(TTOp, ABC):
    """Mixed into each shared op; checks the layouts of operands and results after the op's own rules."""

    def verify_(self) -> None:
        super().verify_()
        for operand in self.operands:
            if isinstance(operand.type, TensorType) and not isinstance(operand.type.encoding, TraceIdAttr):
                layout_of(operand)
        for result in self.results:
            if isinstance(result.type, TensorType) and not isinstance(result.type.encoding, TraceIdAttr):
                check_layout(result)


class ConfigurableOp(TTNNOp, ABC):
    """An op whose call takes a compute config; without one TT-NN has its own default."""

    compute_config = opt_prop_def(COMPUTE_CONFIG)


class ComputeOp(ConfigurableOp, ABC):
    """An op of the matrix unit whose compute config the compiler sets."""
