"""``torch_xla.runtime``, which scripts import as ``xr``."""

from __future__ import annotations

import sys
from typing import Any

from tt_xla.environment import set_variable as _set_variable
from tt_xla.frontends.torch.device import chips as _chips
from tt_xla.frontends.torch.device import placements as _placements
from tt_xla.frontends.torch.xla_api import finder as _finder
from tt_xla.ir.mesh import Mesh

_KINDS = ("TT",)


def set_device_type(pjrt_device: str) -> None:
    """Selects the device type, as ``PJRT_DEVICE=TT`` does. ``TT`` is the only one here.

    Raises:
        ValueError: the device type is not ``TT``.
    """
    if pjrt_device.upper() not in _KINDS:
        raise ValueError(f"set_device_type({pjrt_device!r}): the only device type of this torch_xla is 'TT'.")
    _set_variable("PJRT_DEVICE", pjrt_device.upper())


def device_type() -> str:
    return "TT"


def global_runtime_device_count() -> int:
    """Returns the number of chips of the selected system."""
    return _chips.chip_count()


def addressable_runtime_device_count() -> int:
    return global_runtime_device_count()


def local_device_count() -> int:
    return global_runtime_device_count()


def addressable_device_count() -> int:
    return global_runtime_device_count()


def global_device_count() -> int:
    return global_runtime_device_count()


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


def global_runtime_device_attributes() -> list[dict[str, Any]]:
    """Returns one dictionary per device: its name, its architecture, and the bytes of DRAM that tensors may use."""
    from tt_xla.runtime import get_device

    target = get_device().target
    return [
        {"name": f"TT:{number}", "device_arch": target.arch, "dram_bytes": target.dram_usable_bytes}
        for number in range(global_runtime_device_count())
    ]


def use_spmd(auto: bool = False) -> None:
    """Announces that tensors will be marked with shardings; all chips then act as one device."""
    _chips.STATE.acts_as_one = True
    count = global_runtime_device_count()
    if _placements.default_mesh() is None:
        _placements.set_default_mesh(Mesh((count,), ("axis_0",)), tuple(range(count)))


def is_spmd() -> bool:
    return _chips.STATE.acts_as_one


def use_virtual_device() -> bool:
    """Returns whether all chips act as one device."""
    return _chips.STATE.acts_as_one


def get_master_ip() -> str:
    return "localhost"


def initialize_cache(path: str, readonly: bool = False) -> None:
    """Opens a folder of compiled programs that several processes share.

    Args:
        path: the folder.
        readonly: whether to read programs without writing new ones.

    Raises:
        OutputError: the folder cannot be created.
    """
    from tt_xla.frontends.torch import program_cache

    program_cache.open_cache(path, readonly)


def clear_computation_cache() -> None:
    """Forgets every compiled program. Models compile again at their next call."""
    from tt_xla.frontends.torch.backend import clear_programs
    from tt_xla.frontends.torch.device import programs

    clear_programs()
    programs.forget()


def __getattr__(name: str) -> Any:
    if name == "runtime":  # scripts write xr.runtime.set_device_type, because the real module has itself by this name
        return sys.modules[__name__]
    raise _finder.missing(__name__, name)
