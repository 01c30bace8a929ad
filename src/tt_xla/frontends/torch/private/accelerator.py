"""``torch.accelerator`` and ``torch.nn.parallel``, which ask PyTorch's C++ core about devices.

The core believes that a device written in Python has one device only, which is always the current one, and its copies
between devices exist in builds for CUDA alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.parallel import comm

_OF_MEMORY = {
    **{name: name for name in ("empty_cache", "memory_allocated", "memory_reserved", "memory_stats")},
    **{name: name for name in ("max_memory_allocated", "max_memory_reserved")},
    **{name: name for name in ("reset_accumulated_memory_stats", "reset_peak_memory_stats")},
    "get_memory_info": "mem_get_info",
}
"""Functions about memory, and their names in the device module. The core knows allocators in C++ alone."""

REPLACED = (
    *((torch.accelerator, name) for name in _OF_MEMORY),
    *((torch.accelerator, name) for name in ("device_count", "current_device_index", "set_device_index")),
    (torch.accelerator, "device_index"),
    (torch.accelerator, "synchronize"),
    *((comm, name) for name in ("broadcast", "broadcast_coalesced", "scatter", "gather", "reduce_add")),
)
"""Owner and name of each attribute that :func:`apply` replaces."""


def apply(device_type: str, module: Any) -> None:
    """Makes ``torch.accelerator`` and ``torch.nn.DataParallel`` use the device module.

    Args:
        device_type: name of the device, ``tt``.
        module: ``torch.tt``.
    """
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None or accelerator.type != device_type:
        return

    def set_device_index(device: Any, /) -> None:
        module.set_device(device)

    def synchronize(device: Any = None, /) -> None:
        module.synchronize(device)

    torch.accelerator.device_count = module.device_count
    torch.accelerator.current_device_index = module.current_device
    torch.accelerator.set_device_index = set_device_index
    torch.accelerator.device_index = module.device
    torch.accelerator.synchronize = synchronize
    for name in _OF_MEMORY:
        setattr(torch.accelerator, name, getattr(module, _OF_MEMORY[name]))
    _patch_copies(device_type)


def _patch_copies(device_type: str) -> None:
    """Makes the copies of ``torch.nn.DataParallel`` ordinary ones for tensors of the device and of the CPU."""
    broadcast, coalesced, scatter, gather = comm.broadcast, comm.broadcast_coalesced, comm.scatter, comm.gather
    reduce_add = comm.reduce_add

    def is_ours(tensor: torch.Tensor) -> bool:
        return tensor.device.type in (device_type, "cpu")

    def device_of(device: Any) -> torch.device:
        if device == -1:  # the CPU, in torch.nn.parallel
            return torch.device("cpu")
        return torch.device(device_type, device) if isinstance(device, int) else torch.device(device)

    def broadcasting(tensor: torch.Tensor, devices: Any = None, *, out: Any = None) -> Any:
        if not is_ours(tensor) or out is not None:
            return broadcast(tensor, devices, out=out)
        return tuple(tensor.to(device_of(device)) for device in devices)

    def broadcasting_all(tensors: Sequence[torch.Tensor], devices: Any, buffer_size: int = 10485760) -> Any:
        if not all(map(is_ours, tensors)):
            return coalesced(tensors, devices, buffer_size)
        return [[tensor.to(device_of(device)) for tensor in tensors] for device in devices]

    def scattering(
        tensor: torch.Tensor,
        devices: Any = None,
        chunk_sizes: Any = None,
        dim: int = 0,
        streams: Any = None,
        *,
        out: Any = None,
    ) -> Any:
        if not is_ours(tensor) or out is not None:
            return scatter(tensor, devices, chunk_sizes, dim, streams, out=out)
        parts = tensor.split(list(chunk_sizes), dim) if chunk_sizes is not None else tensor.chunk(len(devices), dim)
        return tuple(part.to(device_of(device)) for part, device in zip(parts, devices, strict=False))

    def gathering(tensors: Sequence[torch.Tensor], dim: int = 0, destination: Any = None, *, out: Any = None) -> Any:
        if not all(map(is_ours, tensors)) or out is not None:
            return gather(tensors, dim, destination, out=out)
        device = tensors[0].device if destination is None else device_of(destination)
        return torch.cat([tensor.to(device) for tensor in tensors], dim)

    def adding(tensors: Sequence[torch.Tensor], destination: Any = None) -> torch.Tensor:
        if not all(map(is_ours, tensors)):
            return reduce_add(tensors, destination)
        device = tensors[0].device if destination is None else device_of(destination)
        total = tensors[0].to(device)
        for tensor in tensors[1:]:
            total = total + tensor.to(device)
        return total

    comm.broadcast, comm.broadcast_coalesced = broadcasting, broadcasting_all
    comm.scatter, comm.gather, comm.reduce_add = scattering, gathering, adding


__all__ = ["REPLACED", "apply"]
