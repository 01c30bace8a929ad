"""``torch._C``: dispatch keys, the dispatcher's tables, and kernels called without the layers above them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch

from tt_xla.frontends.torch.private.names import names_of

with names_of("dispatcher"):
    from torch._C import DispatchKey, DispatchKeySet
    from torch._C._dynamo.eval_frame import set_eval_frame
    from torch._ops import _higher_order_ops

    _preserve_keys = torch._C._PreserveDispatchKeyGuard
    _exclude_key = torch._C._dispatch_tls_set_dispatch_key_excluded
    _registrations = torch._C._dispatch_get_registrations_for_dispatch_key
    _run_backward = torch.autograd._engine_run_backward
    _backward_pass = torch._C._current_graph_task_id

CPU_KEYS = DispatchKeySet(DispatchKey.CPU)
META_KEYS = DispatchKeySet(DispatchKey.Meta)

set_storage = torch.ops.aten.set_.source_Storage_storage_offset._handle.redispatch_boxed
"""``set_storage(keys, tensor, storage, offset, size, stride)`` without the Python layers of ``torch.ops``."""

view_as_dtype = torch.ops.aten.view.dtype._handle.redispatch_boxed
"""``view_as_dtype(keys, tensor, dtype)`` without the Python layers of ``torch.ops``."""


_XLA_KEYS = DispatchKeySet(DispatchKey.XLA)


def kernel_for_xla(op: Any) -> Any:
    """Returns the kernel that a library registered for torch_xla's tensors of one of its ops, or None."""
    if op.namespace == "aten" or not op.has_kernel_for_dispatch_key(DispatchKey.XLA):
        return None
    return functools.partial(op.redispatch, _XLA_KEYS)


def all_op_names() -> list[str]:
    """Returns the qualified names (``aten::add.Tensor``) of all ops that the dispatcher knows."""
    return _registrations()


def structured_op_names() -> set[str]:
    """Returns the aten ops whose generated kernel allocates a result and calls the out= variant, as ``add.Tensor``."""
    names = _registrations("CompositeExplicitAutogradNonFunctional")
    return {name.removeprefix("aten::") for name in names if name.startswith("aten::")}


def storage_identity(tensor: torch.Tensor) -> int:
    """Returns a number that two tensors, real or fake, have in common exactly when they share a storage."""
    return tensor.untyped_storage()._cdata


def let_higher_order_ops_pass_autocast() -> None:
    """Makes ``torch.cond`` and other operators that take functions run under ``torch.autocast`` for the device.

    Such operators ignore autocast of the CPU, CUDA and XPU, but not of devices written in Python. Some are defined only
    when they are used, so each context of autocast calls this.
    """
    for operator in _higher_order_ops.values():
        operator.fallthrough(DispatchKey.AutocastPrivateUse1)


@contextlib.contextmanager
def dispatching_to_modes() -> Iterator[None]:
    """Makes Python dispatch modes see every op in the block.

    PyTorch turns modes off around some ops, for example while a fake tensor computes with constants.
    """
    with _preserve_keys():
        for key in (DispatchKey.Python, DispatchKey.PythonTLSSnapshot):
            _exclude_key(key, False)
        yield


@functools.cache
def backward_on_calling_thread() -> None:
    """Makes backward passes from now on run in the thread that calls them.

    PyTorch keeps a thread for each device, and believes that a device written in Python has one device only. A gradient
    on another one would be an internal error.
    """
    run = _run_backward

    @functools.wraps(run)
    def run_backward(*args: Any, **kwargs: Any) -> Any:
        with torch.autograd.set_multithreading_enabled(False):
            return run(*args, **kwargs)

    torch.autograd._engine_run_backward = run_backward


def is_in_backward() -> bool:
    """Returns whether this thread runs a backward pass."""
    return _backward_pass() >= 0


class outside_dynamo:
    """Context manager that keeps dynamo from compiling frames in the block.

    An op that compiled code runs is then traced once, by us.
    """

    def __enter__(self) -> None:
        self._prior = set_eval_frame(None)

    def __exit__(self, *_: object) -> None:
        set_eval_frame(self._prior)
