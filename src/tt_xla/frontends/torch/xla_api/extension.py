"""``torch_xla._XLAC``: the functions of the extension module that scripts call directly."""

from __future__ import annotations

import torch
import torch_xla

from tt_xla.frontends.torch.device import metrics as _metrics
from tt_xla.frontends.torch.device import synchronize
from tt_xla.frontends.torch.device.mode import MODE as _MODE
from tt_xla.frontends.torch.private.dispatcher import storage_identity as _storage_identity


def _get_xla_sharding_spec(tensor: torch.Tensor) -> str:
    """Returns the sharding of a tensor in XLA's notation, or an empty string for a tensor without one."""
    from torch_xla.distributed.spmd import sharding_of

    return sharding_of(tensor)


def _xla_get_default_device() -> str:
    return "TT:0"


def _xla_computation_cache_is_initialized() -> bool:
    """Returns whether ``xr.initialize_cache`` was called."""
    from tt_xla.frontends.torch import program_cache

    return program_cache.current() is not None


def _xla_sync_multi(
    tensors: list[torch.Tensor], devices: list[str], wait: bool = True, sync_xla_data: bool = True
) -> None:
    """Runs all recorded ops, those of ``tensors`` among them."""
    synchronize()


def _xla_step_marker(device: str, devices: list[str], wait: bool = True, reset_scope: bool = True) -> None:
    """Runs all recorded ops."""
    synchronize()


def _xla_warm_up_cache(tensors: list[torch.Tensor], devices: list[str]) -> None:
    """Compiles all recorded ops, and runs them, which is the only way to compile them here."""
    synchronize()


def _xla_device_kind(device: str) -> str:
    """Returns the architecture of the chip."""
    from tt_xla.runtime import get_device

    return get_device().target.arch


def _init_computation_client() -> None:
    """Opens the device, which otherwise opens at its first use."""
    from tt_xla.runtime import get_device

    get_device()


def _xla_get_tensor_id(tensor: torch.Tensor) -> int:
    """Returns a number that tensors have in common exactly when they share memory.

    Libraries look for tied parameters by it before they save a model.
    """
    return _storage_identity(tensor)


def _xla_real_devices() -> list[str]:
    """Returns the names of all chips."""
    return torch_xla.real_devices()


def _xla_get_devices() -> list[str]:
    """Returns the names of the chips behind the torch devices."""
    return [f"TT:{device.index}" for device in torch_xla.devices()]


def _xla_num_devices() -> int:
    """Returns the number of torch devices."""
    return len(torch_xla.devices())


def _xla_num_runtime_devices() -> int:
    """Returns the number of chips."""
    return torch_xla.device_count()


def _xla_increment_counter(name: str, count: int) -> None:
    """Adds to a counter of ``torch_xla.debug.metrics``."""
    _metrics.count(name, count)


def _get_use_eager_mode() -> bool:
    """Returns whether each op runs at once."""
    return _MODE.eager


def _set_use_eager_mode(enable: bool) -> None:
    """Switches between running each op at once and recording ops."""
    _MODE.eager = enable


def _xla_optimization_barrier_(tensors: list[torch.Tensor]) -> None:
    """Same as ``xm.optimization_barrier_``."""
    synchronize()
