"""``torch._C``: dispatch keys, the dispatcher's tables, and tensors made without an op."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch

CPU_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
META_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)
_AUTOCAST_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)
DispatchKeySet = torch._C.DispatchKeySet

set_storage = torch.ops.aten.set_.source_Storage_storage_offset._handle.redispatch_boxed
"""``set_storage(keys, tensor, storage, offset, size, stride)`` without the Python layers of ``torch.ops``."""

tensor_from_dlpack = torch._C._from_dlpack
"""Makes a tensor from a DLPack capsule."""

below_autograd = torch._C._AutoDispatchBelowADInplaceOrView
"""Context manager within which results of view ops have no base that autograd knows."""

is_any_autocast_enabled = torch._C._is_any_autocast_enabled

all_op_names = torch._C._dispatch_get_all_op_names
"""Returns the qualified names (``aten::add.Tensor``) of all ops that the dispatcher knows."""


def accepts_numbers_as_tensors(name: str) -> bool:
    """Returns whether the dispatcher passes Python numbers to the op ``name`` where its schema says ``Tensor``."""
    return torch._C._should_allow_numbers_as_tensors(name)


_XLA_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.XLA)


def kernel_for_xla(op: Any) -> Any:
    """Returns the kernel that a library registered for torch_xla's tensors of one of its ops, or None."""
    if op.namespace == "aten" or not torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "XLA"):
        return None
    return functools.partial(op.redispatch, _XLA_KEYS)


def structured_op_names() -> set[str]:
    """Returns the aten ops whose generated kernel allocates a result and calls the out= variant, as ``add.Tensor``."""
    names = torch._C._dispatch_get_registrations_for_dispatch_key("CompositeExplicitAutogradNonFunctional")
    return {name.removeprefix("aten::") for name in names if name.startswith("aten::")}


def new_storage(address: int, device: torch.device, nbytes: int) -> torch.UntypedStorage:
    """Returns a storage of ``nbytes`` bytes on ``device`` at an address that PyTorch neither allocates nor frees."""
    return torch._C._construct_storage_from_data_pointer(address, device, nbytes)


_NO_ELEMENTS = [0]


def empty_on_first_chip(dtype: torch.dtype) -> torch.Tensor:
    """Returns a new tensor on ``tt:0`` without elements. PyTorch's function knows no other number."""
    return torch._C._acc.create_empty_tensor(_NO_ELEMENTS, dtype)


def storage_identity(tensor: torch.Tensor) -> int:
    """Returns a number that two tensors, real or fake, have in common exactly when they share a storage."""
    return tensor.untyped_storage()._cdata


def without_autocast() -> contextlib.AbstractContextManager[object]:
    """Returns a context manager within which ops on the device skip autocast."""
    return torch._C._ExcludeDispatchKeyGuard(_AUTOCAST_KEYS)


def let_higher_order_ops_pass_autocast() -> None:
    """Makes ``torch.cond`` and other operators that take functions run under ``torch.autocast`` for the device.

    PyTorch lists the dispatch keys that such operators ignore. The list has autocast of the CPU, CUDA and XPU, but not
    of devices written in Python.
    """
    key = torch._C.DispatchKey.AutocastPrivateUse1
    torch._ops._HIGHER_ORDER_OP_DEFAULT_FALLTHROUGH_DISPATCH_KEYS.append(key)  # for operators defined later
    for operator in torch._ops._higher_order_ops.values():
        operator.fallthrough(key)


@contextlib.contextmanager
def dispatching_to_modes() -> Iterator[None]:
    """Makes Python dispatch modes see every op in the block.

    PyTorch turns modes off around some ops, for example while a fake tensor computes with constants.
    """
    with torch._C._PreserveDispatchKeyGuard():
        for key in (torch._C.DispatchKey.Python, torch._C.DispatchKey.PythonTLSSnapshot):
            torch._C._dispatch_tls_set_dispatch_key_excluded(key, False)
        yield


@functools.cache
def backward_on_calling_thread() -> None:
    """Makes backward passes from now on run in the thread that calls them.

    PyTorch keeps a thread for each device, and believes that a device written in Python has one device only. A gradient
    on another one would be an internal error.
    """
    run = torch.autograd._engine_run_backward

    @functools.wraps(run)
    def run_backward(*args: Any, **kwargs: Any) -> Any:
        with torch.autograd.set_multithreading_enabled(False):
            return run(*args, **kwargs)

    torch.autograd._engine_run_backward = run_backward


_set_eval_frame = torch._C._dynamo.eval_frame.set_eval_frame


class outside_dynamo:
    """Context manager that keeps dynamo from compiling frames in the block.

    An op that compiled code runs is then traced once, by us.
    """

    def __enter__(self) -> None:
        self._prior = _set_eval_frame(None)

    def __exit__(self, *_: object) -> None:
        _set_eval_frame(self._prior)
