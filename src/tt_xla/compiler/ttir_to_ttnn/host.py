"""Lowerings of ops that run on the host."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, host_layout, lowers
from tt_xla.ir.base import shape
from tt_xla.ir.ttir import host as source
from tt_xla.ir.ttnn import host as target
from tt_xla.ir.ttnn.attributes import laid_out

_TARGETS: dict[type, type[target.HostCallOp | target.HostCallbackOp]] = {
    source.HostCallOp: target.HostCallOp,
    source.HostCallbackOp: target.HostCallbackOp,
}


@lowers(source.HostCallOp, source.HostCallbackOp)
def host_call(lowering: Lowering, op: source.HostCallOp | source.HostCallbackOp) -> Sequence[SSAValue]:
    """Lowers a host call or callback, on row-major tensors in system memory."""
    call = _TARGETS[type(op)].make(
        [[lowering.host(value) for value in op.operands]],
        [laid_out(shape(value), host_layout(value)) for value in op.results],
        lowering.location,
        **op.values(),
    )
    lowering.block.add_op(call)
    return call.results
