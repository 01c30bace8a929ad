"""Registers ``torch.device("tt")`` with PyTorch. ``import torch`` calls this, so it must be cheap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tt_xla.frontends.torch import cells, distributed, libraries
from tt_xla.frontends.torch.device import autocast, chips, dispatch, generators, kernels, placements
from tt_xla.frontends.torch.device.buffers import storage_of_host
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.losses import LOSS_KERNELS
from tt_xla.frontends.torch.device.module import DeviceModule
from tt_xla.frontends.torch.device.native import NATIVE
from tt_xla.frontends.torch.device.signatures import Signature, overload_named, signature_of
from tt_xla.frontends.torch.private import accelerator, patches, storages
from tt_xla.frontends.torch.private.device_guard import make_guard, make_hooks
from tt_xla.frontends.torch.private.dispatcher import structured_op_names
from tt_xla.frontends.torch.private.functions import setup_python_device

_LIBRARIES: list[torch.library.Library] = []
"""The libraries that hold the kernels. A library that is garbage-collected removes its kernels."""

_RECORDED_WHOLE = (
    "_safe_softmax",
    "_native_batch_norm_legit_functional",
    "arange.start_step",
    "eye",
    "eye.m",
    "full",
    "full_like",
    "native_group_norm",
    "native_layer_norm",
    "new_full",
    "new_ones",
    "new_zeros",
    "ones",
    "ones_like",
    "repeat",
    "roll",
    "stack",
    "zeros",
)
"""Ops that are recorded as one op. PyTorch would otherwise decompose them in C++."""


def register() -> None:
    """Registers the device with torch. Calls after the first do nothing."""
    if _LIBRARIES:
        return
    module = DeviceModule()
    setup_python_device(DEVICE_TYPE, backend_module=module, hook=make_hooks(), device_guard=make_guard())
    ops = torch.library.Library("aten", "IMPL")
    everything_else = torch.library.Library("_", "IMPL")
    marks = torch.library.Library("tt_xla", "IMPL")
    _LIBRARIES.extend((ops, everything_else, marks))
    marks.impl("mark_tensor", dispatch.mark, "PrivateUse1")
    own = kernels.KERNELS | cells.CELL_KERNELS | LOSS_KERNELS
    own |= {name: _recorder(name) for name in _recorded()}
    for name, kernel in own.items():
        ops.impl(name, kernel, "PrivateUse1")
    NATIVE.offer(own, dispatch.fallback)
    for name, kernel in kernels.HOST_KERNELS.items():
        ops.impl(name, kernel, "CPU")
    for key in ("Conjugate", "Negative"):  # PyTorch would resolve such views by copies; _copy_from does it itself
        ops.impl("_copy_from", torch.library.fallthrough_kernel, key)
    everything_else.fallback(dispatch.fallback, "PrivateUse1")
    everything_else.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    autocast.register(ops)
    accelerator.apply(DEVICE_TYPE, module)
    patches.apply(DEVICE_TYPE)
    storages.apply(DEVICE_TYPE, storage_of_host, placements.copy_of, chips.chip_of, received_storage)
    generators.register()
    libraries.register()
    distributed.register()


def received_storage(host: torch.Tensor, chip: int) -> torch.UntypedStorage:
    """Returns a storage that another process has sent: its bytes in shared memory, and the number of its chip."""
    register()
    return storage_of_host(host, chip)


def _recorded() -> list[str]:
    """Returns ops whose generated kernels would allocate a result and write to it, and :data:`_RECORDED_WHOLE`."""
    return sorted((structured_op_names() | set(_RECORDED_WHOLE)) - kernels.KERNELS.keys() - LOSS_KERNELS.keys())


def _recorder(name: str) -> Callable[..., Any]:
    """Returns a kernel that records the op ``name``. Its signature is derived at the first call."""
    signature: Signature | None = None

    def recorded(*args: Any, **kwargs: Any) -> Any:
        nonlocal signature
        if signature is None:
            signature = signature_of(overload_named(name))
        return dispatch.run(signature, args, kwargs)

    return recorded
