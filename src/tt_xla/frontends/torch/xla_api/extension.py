"""``torch_xla._XLAC``: the functions of the extension module that scripts call themselves."""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.frontends.torch.device import synchronize
from tt_xla.frontends.torch.xla_api import finder as _finder


def _get_xla_sharding_spec(tensor: torch.Tensor) -> str:
    """The sharding in XLA's notation; empty for a tensor that was not marked."""
    from torch_xla.distributed.spmd import sharding_of

    return sharding_of(tensor)


def _xla_get_default_device() -> str:
    return "TT:0"


def _xla_computation_cache_is_initialized() -> bool:
    """Whether ``xr.initialize_cache`` was called."""
    from tt_xla.frontends.torch import program_cache

    return program_cache.current() is not None


def _xla_sync_multi(
    tensors: list[torch.Tensor], devices: list[str], wait: bool = True, sync_xla_data: bool = True
) -> None:
    """Runs what is pending; these tensors are a part of it."""
    synchronize()


def _xla_step_marker(device: str, devices: list[str], wait: bool = True, reset_scope: bool = True) -> None:
    """Runs what is pending."""
    synchronize()


def _xla_warm_up_cache(tensors: list[torch.Tensor], devices: list[str]) -> None:
    """Compiles what is pending; here that is to run it."""
    synchronize()


def _xla_device_kind(device: str) -> str:
    """The architecture of the chip."""
    from tt_xla.runtime import get_device

    return get_device().target.arch


def _init_computation_client() -> None:
    """Opens the device, which is opened at its first use otherwise."""
    from tt_xla.runtime import get_device

    get_device()


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
