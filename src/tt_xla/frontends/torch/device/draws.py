"""Random numbers, which the host draws when an op is recorded: results of a recorded op on what was drawn.

So they are computed by a program, as torch_xla's are. Numbers beside which other ops run need none: they are inputs of
the program of these, and the first step of a model that was initialised on the device has the program of every step.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device import metrics
from tt_xla.frontends.torch.device.buffers import Buffer, aten
from tt_xla.frontends.torch.device.recording import emit
from tt_xla.frontends.torch.device.signatures import Signature
from tt_xla.frontends.torch.device.values import Node, Value

LARGE = 1 << 22
"""Bytes from which new contents are no recorded op: they would be held twice, or before anybody writes to them."""
_DTYPES = {torch.bfloat16, torch.float32, torch.int32}
"""Dtypes that a program copies as they are."""
_OP = aten.lift_fresh_copy.default


def drawn(signature: Signature, host: torch.Tensor) -> Value:
    """Returns the value of drawn numbers.

    Args:
        signature: the random op.
        host: contiguous CPU tensor of the numbers.
    """
    with metrics.transferring(host.nbytes, to_device=True):
        value = Value.of(host)
    if host.nbytes >= LARGE or host.dtype not in _DTYPES:
        return value
    metrics.count(signature.counter)
    session.current.pressure.draws += 1
    return emit(_OP, [value], [], host.shape)


def without_draws(pending: Sequence[Buffer]) -> Sequence[Buffer]:
    """Gives drawn numbers their bytes, unless recorded ops compute nothing else.

    Args:
        pending: buffers that recorded ops compute.

    Returns:
        Those that are left for programs.
    """
    session.current.pressure.draws = 0
    others = [buffer for buffer in pending if not _is_draw(buffer.value.node)]
    if not others:
        return pending
    for buffer in pending:
        node = buffer.value.node
        if node is not None and _is_draw(node):
            assert node.inputs[0].data is not None
            buffer.value.set_computed(node.inputs[0].data)
    return others


def _is_draw(node: Node | None) -> bool:
    return node is not None and node.kind.op is _OP
