"""``torch_xla.utils.dlpack``: tensors of the device as capsules of DLPack, over the memory of the host."""

from __future__ import annotations

from typing import Any

import torch
import torch.utils.dlpack

from tt_xla.frontends.torch.device import chips as _chips


def to_dlpack(xla_tensor: torch.Tensor) -> Any:
    """Returns a capsule over a copy of a tensor on the CPU."""
    return torch.utils.dlpack.to_dlpack(xla_tensor.detach().cpu())


def from_dlpack(ext_tensor: Any) -> torch.Tensor:
    """Returns a tensor on the device with the contents of a capsule, or of an object with ``__dlpack__``.

    Raises:
        ValueError: the object is not on the CPU.
    """
    if hasattr(ext_tensor, "__dlpack_device__") and ext_tensor.__dlpack_device__()[0] != 1:
        raise ValueError("from_dlpack takes what is on the CPU. Move the tensor there first.")
    return torch.utils.dlpack.from_dlpack(ext_tensor).to(_chips.device(_chips.current()))
