"""The backend ``tt`` of ``torch.distributed``: each process is a rank, with a chip of the emulated board."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch.distributed as dist

from tt_xla.frontends.torch.device.chips import DEVICE_TYPE


def register() -> None:
    """Registers the backend, which has the name of the device; its module is imported with the first process group."""
    if dist.is_available():
        dist.Backend.register_backend(DEVICE_TYPE, _process_group, devices=[DEVICE_TYPE])


def _process_group(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    from tt_xla.frontends.torch.distributed.process_group import ProcessGroupTT

    return ProcessGroupTT(store, rank, size, timeout)


__all__ = ["register"]
