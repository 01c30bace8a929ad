"""``torch_xla.runtime``, which scripts import as ``xr``."""

from __future__ import annotations

import sys
from typing import Any

import torch_xla

from tt_xla.environment import asks_for_spmd as _asks_for_spmd
from tt_xla.environment import set_variable as _set_variable
from tt_xla.frontends.torch import processes as _processes
from tt_xla.frontends.torch import replicas as _replicas
from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.device import chips as _chips
from tt_xla.frontends.torch.device import placements as _placements
from tt_xla.ir.mesh import Mesh
from tt_xla.log import logger as _logger

_OTHER_KINDS = ("CPU", "CUDA", "GPU", "NEURON", "TPU")


def set_device_type(pjrt_device: str) -> None:
    """Selects the device type, as ``PJRT_DEVICE=TT`` does. ``TT`` is the only one here.

    A script that selects another type of torch_xla's runs on ``TT`` too, and the log says so.

    Raises:
        ValueError: torch_xla has no such device type.
    """
    name = pjrt_device.upper()
    if name in _OTHER_KINDS:
        _logger().warning("set_device_type(%r): programs run on 'TT', the only device type here.", pjrt_device)
    elif name != "TT":
        raise ValueError(
            f"set_device_type({pjrt_device!r}): the only device type of this torch_xla is 'TT'. Scripts for "
            f"{', '.join(_OTHER_KINDS)} run on it, too."
        )
    _set_variable("PJRT_DEVICE", "TT")


def device_type() -> str:
    return "TT"


def global_runtime_device_count() -> int:
    """Returns the number of chips of the selected system, in all processes of torchrun together."""
    return _chips.chip_count() * process_count()


def addressable_runtime_device_count() -> int:
    """Returns the number of chips of this process."""
    return _chips.chip_count()


def global_device_count() -> int:
    """Returns the number of devices: that of the chips, or 1 in SPMD mode."""
    return 1 if is_spmd() else global_runtime_device_count()


def local_device_count() -> int:
    return addressable_device_count() * local_process_count()


def addressable_device_count() -> int:
    """Returns the number of devices of this process: that of its chips, or 1 in SPMD mode."""
    return 1 if is_spmd() else _chips.chip_count()


def local_process_count() -> int:
    return 1 if (own := _processes.joined()) is None else own.local_size


def host_index() -> int:
    return 0


def is_bf16_supported() -> bool:
    return True


def using_pjrt() -> bool:
    return True


def process_count() -> int:
    """Returns the number of processes of torchrun that share a process group of backend ``xla``; else 1."""
    return 1 if (own := _processes.joined()) is None else own.size


def process_index() -> int:
    return 0 if (own := _processes.joined()) is None else own.rank


def world_size() -> int:
    """Returns the number of replicas that ``xmp.spawn`` started; 1 outside of replicas."""
    return _replicas.size()


def global_ordinal() -> int:
    """Returns the number of this replica; 0 outside of replicas."""
    return _replicas.ordinal()


def local_ordinal() -> int:
    """Returns the number of this replica on this host, which is the only one unless torchrun started processes."""
    return _replicas.ordinal() if (own := _processes.joined()) is None else own.local_rank


def global_runtime_device_attributes() -> list[dict[str, Any]]:
    """Returns one dictionary per device: its name, its architecture, and the bytes of DRAM that tensors may use."""
    from tt_xla.runtime import get_device

    target = get_device().target
    return [
        {"name": f"TT:{number}", "device_arch": target.arch, "dram_bytes": target.dram_usable_bytes}
        for number in range(global_runtime_device_count())
    ]


def runtime_device_attributes(device: str) -> dict[str, Any]:
    """Returns the entry of :func:`global_runtime_device_attributes` for a device such as ``TT:0``.

    Raises:
        ValueError: there is no such device.
    """
    for attributes in global_runtime_device_attributes():
        if attributes["name"] == device.upper():
            return attributes
    raise ValueError(f"There is no device {device!r}; the devices are {torch_xla.real_devices()}.")


def use_spmd(auto: bool = False) -> None:
    """Announces that tensors will be marked with shardings; all chips then act as one device, also in child processes.

    Args:
        auto: whether the compiler splits arguments of recorded ops that nobody marked, as predicted to be fastest. The
            compile option ``auto_sharding`` does so for compiled functions.
    """
    _session.current.chips.chooses_shardings |= auto
    _set_variable("XLA_USE_SPMD", "1")
    _session.current.chips.acts_as_one = True
    count = global_runtime_device_count()
    if _placements.default_mesh() is None:
        _placements.set_default_mesh(Mesh((count,), ("axis_0",)), tuple(range(count)))


def is_spmd() -> bool:
    """Returns whether all chips act as one device: where ``XLA_USE_SPMD`` is 1, which :func:`use_spmd` sets.

    A script that removes the variable has a device for each chip again. Tensors that are split stay so, on the first.
    """
    if _asks_for_spmd() and not _session.current.chips.acts_as_one:
        use_spmd()
    _session.current.chips.acts_as_one = _asks_for_spmd()
    return _session.current.chips.acts_as_one


def use_virtual_device() -> bool:
    """Same as :func:`is_spmd`."""
    return is_spmd()


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


def get_num_cached_compilation_graph() -> int:
    """Returns the number of compiled programs that are kept."""
    from tt_xla.frontends.torch.backend import compiled_programs

    return len(compiled_programs())


runtime = sys.modules[__name__]
"""This module: scripts write ``xr.runtime.set_device_type``, because the real module has itself by this name."""
