"""``torch_xla.runtime``, which scripts import as ``xr``."""

from __future__ import annotations

import os
from typing import Any

from tt_xla.frontends.torch.xla_api import finder as _finder

_KINDS = ("TT",)


def set_device_type(pjrt_device: str) -> None:
    """Selects the device; ``PJRT_DEVICE=TT`` does the same. There is no other here.

    Raises:
        ValueError: the device is not TT.
    """
    if pjrt_device.upper() not in _KINDS:
        raise ValueError(f"set_device_type({pjrt_device!r}): this torch_xla has the device 'TT' and no other.")
    os.environ["PJRT_DEVICE"] = pjrt_device.upper()


def device_type() -> str:
    return "TT"


def global_runtime_device_count() -> int:
    return 1


def addressable_runtime_device_count() -> int:
    return 1


def local_device_count() -> int:
    return 1


def addressable_device_count() -> int:
    return 1


def global_device_count() -> int:
    return 1


def process_count() -> int:
    return 1


def process_index() -> int:
    return 0


def world_size() -> int:
    return 1


def global_ordinal() -> int:
    return 0


def local_ordinal() -> int:
    return 0


def initialize_cache(path: str, readonly: bool = False) -> None:
    """Makes the folder that compiled programs may be kept in."""
    if not readonly:
        os.makedirs(path, exist_ok=True)


def clear_computation_cache() -> None:
    """Forgets every compiled program; models compile again at their next call."""
    from tt_xla.frontends.torch.backend import clear_programs

    clear_programs()


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
