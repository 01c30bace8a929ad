"""``torch_xla._XLAC``: the functions of the extension module that scripts call directly."""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.frontends.torch.device import synchronize
from tt_xla.frontends.torch.xla_api import finder as _finder


def _get_xla_sharding_spec(tensor: torch.Tensor) -> str:
    """Returns the sharding of a tensor in XLA's notation, or an empty string for a tensor without one."""
    from torch_xla.distributed.spmd import sharding_of

    return sharding_of(tensor)


def _get_xla_sharding_type(tensor: torch.Tensor) -> int | None:
    """Returns the number of the kind of a tensor's sharding (``xs.ShardingType``), or None without one."""
    from torch_xla.distributed.spmd import sharding_type_of

    return sharding_type_of(tensor)


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


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
