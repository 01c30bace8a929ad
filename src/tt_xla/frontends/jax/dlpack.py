"""DLPack export of arrays on platform ``tt``: other libraries read an array in the host memory where it stands."""

from __future__ import annotations

import ctypes
from typing import Any

CPU = (1, 0)
"""DLPack's device type ``kDLCPU`` and device number 0."""


def export(array: Any, platform: str, **options: Any) -> Any:
    """Returns a DLPack capsule over an array's memory, as ``__dlpack__`` does.

    Args:
        array: a ``jax.Array`` on one device of ``platform``.
        platform: the platform's name, for messages.
        options: keyword arguments of ``__dlpack__``; ``dl_device`` and ``copy`` are honoured.

    Raises:
        BufferError: another device than the CPU was asked for, or DLPack has no such element type.
    """
    device = options.get("dl_device")
    if device is not None and (int(device[0]), int(device[1])) != CPU:
        raise BufferError(
            f"An array on '{platform}' can be exported to DLPack's device {CPU}, the CPU, not to {device}."
        )
    tensor = _tensor(array)
    return (tensor.clone() if options.get("copy") else tensor).__dlpack__()


def _tensor(array: Any) -> Any:
    """Returns a tensor over the memory of a ``jax.Array``. The tensor keeps the memory alive."""
    import numpy as np
    import torch

    dtype = getattr(torch, array.dtype.name, None)
    if not isinstance(dtype, torch.dtype):
        raise BufferError(f"DLPack cannot export element type {array.dtype.name}; convert the array first.")
    host_array = np.asarray(array)
    if not host_array.size:
        return torch.empty(host_array.shape, dtype=dtype)
    memory = (ctypes.c_char * host_array.nbytes).from_address(host_array.ctypes.data)
    memory.owner = host_array
    strides = [stride // host_array.itemsize for stride in host_array.strides]
    return torch.frombuffer(memory, dtype=dtype).as_strided(host_array.shape, strides)
