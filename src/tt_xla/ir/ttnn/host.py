"""Ops that run on the host."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from tt_xla.ir import abstract as shared
from tt_xla.ir.ttnn.attributes import layout_of
from tt_xla.ir.ttnn.base import TTNNOp


@irdl_op_definition
class HostCallOp(TTNNOp, shared.HostCall):
    """Runs a part of the program on the host, on tensors in system memory."""

    name = "ttnn.host_call"

    def verify_(self) -> None:
        super().verify_()
        _check_layouts(self)


@irdl_op_definition
class HostCallbackOp(TTNNOp, shared.HostCallback):
    """Calls back a Python function, on tensors in system memory."""

    name = "ttnn.host_callback"

    def verify_(self) -> None:
        super().verify_()
        _check_layouts(self)


def _check_layouts(op: TTNNOp) -> None:
    """Checks that operands and results are row-major tensors in system memory."""
    for value in (*op.operands, *op.results):
        if layout_of(value).on_device or layout_of(value).tiled:
            op.fail(f"expected row-major tensors in system memory, got {value.type}")


OPS = (HostCallOp, HostCallbackOp)
