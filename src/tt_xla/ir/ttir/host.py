"""Ops that run on the host."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from tt_xla.ir import abstract as shared


@irdl_op_definition
class HostCallOp(shared.HostCall):
    """Runs a part of the program on the host, because the chip has no ops for it."""

    name = "ttir.host_call"


@irdl_op_definition
class HostCallbackOp(shared.HostCallback):
    """Calls back a Python function."""

    name = "ttir.host_callback"


OPS = (HostCallOp, HostCallbackOp)
