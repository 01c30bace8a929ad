"""``torch_xla.core.xla_model``, which scripts import as ``xm``."""

from __future__ import annotations

import os
from typing import Any

import torch
import torch_xla

from tt_xla.frontends.torch.xla_api import finder as _finder


def xla_device(n: int | None = None, devkind: str | None = None) -> torch.device:
    """The ``tt`` device, the only one this package has."""
    return torch_xla.device(n)


def get_xla_supported_devices(devkind: str | None = None) -> list[str]:
    return ["tt:0"] if devkind in (None, "TT") else []


def xla_device_hw(device: torch.device | str) -> str:
    return str(torch.device(device).type).upper()


def mark_step(wait: bool = False, reset_scope: bool = True) -> None:
    torch_xla.sync(wait, reset_scope)


def wait_device_ops(devices: list[str] | None = None) -> None:
    """Results are complete when a call returns."""


def optimizer_step(
    optimizer: torch.optim.Optimizer, barrier: bool = False, optimizer_args: dict[str, Any] | None = None
) -> Any:
    """One step; with one device there are no gradients to bring together."""
    return optimizer.step(**(optimizer_args or {}))


def get_ordinal() -> int:
    return 0


def is_master_ordinal(local: bool = True) -> bool:
    return True


def xrt_world_size() -> int:
    return 1


def set_rng_state(seed: int, device: str | None = None) -> None:
    torch.manual_seed(seed)


def save(
    data: Any, file_or_path: str | os.PathLike[str], master_only: bool = True, global_master: bool = False
) -> None:
    """Saves with all tensors on the CPU."""
    torch.save(torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), data), file_or_path)


def master_print(*args: Any, **options: Any) -> None:
    print(*args, **options)


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
