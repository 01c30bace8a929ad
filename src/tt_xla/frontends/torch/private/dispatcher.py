"""``torch._C``: dispatch keys, the dispatcher's tables, and tensors made without an op."""

from __future__ import annotations

import functools
from typing import Any

import torch

from tt_xla.frontends.torch.private.names import names_of

with names_of("dispatcher"):
    from torch._C import DispatchKey, DispatchKeySet
    from torch._C._dynamo.eval_frame import set_eval_frame
    from torch._ops import _HIGHER_ORDER_OP_DEFAULT_FALLTHROUGH_DISPATCH_KEYS, _higher_order_ops

    all_op_names = torch._C._dispatch_get_all_op_names
    """Returns the qualified names (``aten::add.Tensor``) of all ops that the dispatcher knows."""

    accepts_numbers_as_tensors = torch._C._should_allow_numbers_as_tensors
    """Returns whether the dispatcher passes Python numbers to an op where its schema says ``Tensor``, by its name."""

    new_storage = torch._C._construct_storage_from_data_pointer
    """``new_storage(address, device, nbytes)`` makes a storage whose memory PyTorch neither allocates nor frees."""

    _registrations = torch._C._dispatch_get_registrations_for_dispatch_key
    _create_empty_tensor = torch._C._acc.create_empty_tensor
    _run_backward = torch.autograd._engine_run_backward

CPU_KEYS = DispatchKeySet(DispatchKey.CPU)
META_KEYS = DispatchKeySet(DispatchKey.Meta)

set_storage = torch.ops.aten.set_.source_Storage_storage_offset._handle.redispatch_boxed
"""``set_storage(keys, tensor, storage, offset, size, stride)`` without the Python layers of ``torch.ops``."""


_XLA_KEYS = DispatchKeySet(DispatchKey.XLA)


def kernel_for_xla(op: Any) -> Any:
    """Returns the kernel that a library registered for torch_xla's tensors of one of its ops, or None."""
    if op.namespace == "aten" or not op.has_kernel_for_dispatch_key(DispatchKey.XLA):
        return None
    return functools.partial(op.redispatch, _XLA_KEYS)


def structured_op_names() -> set[str]:
    """Returns the aten ops whose generated kernel allocates a result and calls the out= variant, as ``add.Tensor``."""
    names = _registrations("CompositeExplicitAutogradNonFunctional")
    return {name.removeprefix("aten::") for name in names if name.startswith("aten::")}


_NO_ELEMENTS = [0]


def empty_on_first_chip(dtype: torch.dtype) -> torch.Tensor:
    """Returns a new tensor on ``tt:0`` without elements. PyTorch's function knows no other number."""
    return _create_empty_tensor(_NO_ELEMENTS, dtype)


def storage_identity(tensor: torch.Tensor) -> int:
    """Returns a number that two tensors, real or fake, have in common exactly when they share a storage."""
    return tensor.untyped_storage()._cdata


def let_higher_order_ops_pass_autocast() -> None:
    """Makes ``torch.cond`` and other operators that take functions run under ``torch.autocast`` for the device.

    PyTorch lists the dispatch keys that such operators ignore. The list has autocast of the CPU, CUDA and XPU, but not
    of devices written in Python.
    """
    key = DispatchKey.AutocastPrivateUse1
    _HIGHER_ORDER_OP_DEFAULT_FALLTHROUGH_DISPATCH_KEYS.append(key)  # for operators defined later
    for operator in _higher_order_ops.values():
        operator.fallthrough(key)


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


class outside_dynamo:
    """Context manager that keeps dynamo from compiling frames in the block.

    An op that compiled code runs is then traced once, by us.
    """

    def __enter__(self) -> None:
        self._prior = set_eval_frame(None)

    def __exit__(self, *_: object) -> None:
        set_eval_frame(self._prior)
