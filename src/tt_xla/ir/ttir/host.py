"""What runs on the host."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from tt_xla.ir import abstract as shared


@irdl_op_definition
class HostCallOp(shared.HostCall):
    """A part of the program that the chip has no ops for, run by the host."""

    name = "ttir.host_call"


@irdl_op_definition
class HostCallbackOp(shared.HostCallback):
    """A Python function that the program calls back."""

    name = "ttir.host_callback"


OPS = (HostCallOp, HostCallbackOp)
