"""DLPack for arrays on ``tt``: other libraries read them where they are, which is in the host's memory.

A plugin has no way to tell jaxlib which device of DLPack its own is, so that two methods of ``jax.Array`` are wrapped.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

CPU = (1, 0)
"""``kDLCPU`` and the number of the device."""


def allow_dlpack(platform: str) -> None:
    """Makes ``np.from_dlpack``, ``torch.from_dlpack`` and the like take arrays on a platform, as arrays of the CPU."""
    from jax._src.array import ArrayImpl

    array: Any = ArrayImpl
    if hasattr(array.__dlpack__, "knows_tt"):
        return
    export, device = array.__dlpack__, array.__dlpack_device__

    @functools.wraps(export)
    def dlpack(self: Any, **options: Any) -> Any:
        if self.platform() != platform or len(self.sharding.device_set) != 1:
            return export(self, **options)
        wanted = options.get("dl_device")
        if wanted is not None and (int(wanted[0]), int(wanted[1])) != CPU:
            raise BufferError(
                f"An array on '{platform}' can be read on the CPU, {CPU}, not on DLPack's device {wanted}."
            )
        tensor = _tensor(self)
        return (tensor.clone() if options.get("copy") else tensor).__dlpack__()

    @functools.wraps(device)
    def dlpack_device(self: Any) -> Any:
        return CPU if self.platform() == platform else device(self)

    dlpack.knows_tt = True  # type: ignore[attr-defined]
    array.__dlpack__ = dlpack
    array.__dlpack_device__ = dlpack_device


def _tensor(array: Any) -> Any:
    """A tensor over an array's memory, which lives as long as the tensor does."""
    import numpy as np
    import torch

    dtype = getattr(torch, array.dtype.name, None)
    if not isinstance(dtype, torch.dtype):
        raise BufferError(f"DLPack has no element type for {array.dtype.name} here; convert the array first.")
    seen = np.asarray(array)
    if not seen.size:
        return torch.empty(seen.shape, dtype=dtype)
    memory = (ctypes.c_char * seen.nbytes).from_address(seen.ctypes.data)
    memory.owner = seen
    return torch.frombuffer(memory, dtype=dtype).view(seen.shape)
